// The order of the elements in memory, to be played: positions count elements, padding included.
import type { Linearization } from "./linearization.ts";

/** An element: a field at a point. */
export interface Entry {
  readonly index: readonly number[];
  readonly field: number;
}

/** How many elements the layout has room for, padding included. */
export function orderLength(linear: Linearization): number {
  return linear.digits.reduce((product, digit) => product * digit.extent, 1);
}

/** The element at a position in the order of memory; null for padding and for positions outside. */
export function entryAt(linear: Linearization, n: number): Entry | null {
  if (!(n >= 0 && n < orderLength(linear))) return null;
  const index = linear.dims.map(() => 0);
  let field = 0;
  let rest = n;
  for (const { part, dim, extent, step } of linear.digits) {
    const above = Math.floor(rest / extent);
    const value = rest - above * extent;
    if (part === "F") field = value;
    else {
      const place = linear.dimension(dim);
      index[place] = (index[place] ?? 0) + value * step;
    }
    rest = above;
  }
  return linear.dims.some(({ size }, place) => (index[place] ?? 0) >= size) ? null : { index, field };
}

/** The position of an element in the order of memory. */
export function positionOf(linear: Linearization, index: readonly number[], field: number): number {
  let [position, weight] = [0, 1];
  linear.digitsOf(index, field).forEach((value, place) => {
    position += value * weight;
    weight *= linear.digits[place]?.extent ?? 1;
  });
  return position;
}

/** The first position from `n` on that is no padding; null behind the last one. */
export function nextEntry(linear: Linearization, n: number): number | null {
  const length = orderLength(linear);
  const weights: number[] = [];
  let weight = 1;
  for (const digit of linear.digits) {
    weights.push(weight);
    weight *= digit.extent;
  }
  let at = Math.max(0, n);
  while (at < length) {
    const past = linear.dims.findIndex((_, dim) => coordinate(linear, weights, dim, at) >= (linear.dims[dim]?.size ?? 0));
    if (past < 0) return at;
    // While the faster digits of the dimension are 0, larger values of a digit are padding as well: skip them all.
    const own = [...linear.placesOf(past)].sort((one, other) => one - other);
    const place = own.find((digit) => valueAt(linear, weights, digit, at) > 0) ?? own[0] ?? 0;
    const turn = (weights[place] ?? 1) * (linear.digits[place]?.extent ?? 1);
    at = (Math.floor(at / turn) + 1) * turn;
  }
  return null;
}

function coordinate(linear: Linearization, weights: readonly number[], dim: number, at: number): number {
  return linear
    .placesOf(dim)
    .reduce((sum, place) => sum + valueAt(linear, weights, place, at) * (linear.digits[place]?.step ?? 0), 0);
}

function valueAt(linear: Linearization, weights: readonly number[], place: number, at: number): number {
  return Math.floor(at / (weights[place] ?? 1)) % (linear.digits[place]?.extent ?? 1);
}
