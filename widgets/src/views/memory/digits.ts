// Digits of layouts, and which of their values a picture shows: the model of an array.

import type { Linearization } from "#model/layouts/linearization.ts";

/** The number of the dimension of F among the dimensions of a layout. */
export const FIELDS = -1;

/** A digit of a dimension (or of F) as it is drawn: `shown` of its `extent` values; one value is `step` coordinates further. */
export interface ModelDigit {
  readonly step: number;
  readonly extent: number;
  readonly shown: number;
}

/**
 * A dimension of the model: its digits, fastest first, its coordinates with padding, those that are in what is drawn, and the
 * coordinates of the array that these stand for.
 */
export interface ModelDimension {
  readonly digits: readonly ModelDigit[];
  readonly padded: number;
  readonly size: number;
  readonly whole: number;
}

/** A digit of the order of memory: its dimension, its values in the model, and the coordinates of the model that one value is. */
export interface OrderDigit {
  readonly dim: number;
  readonly extent: number;
  readonly weight: number;
}

export interface Digit {
  readonly dim: number;
  readonly extent: number;
  readonly step: number;
}

/** The digits of a layout, fastest first: those of one value are left out, and neighbours of one dimension are one digit. */
export function mergedDigits(linear: Linearization): Digit[] {
  const found: Digit[] = [];
  for (const { part, dim, extent, step } of linear.digits) {
    if (extent === 1) continue;
    const own = part === "F" ? { dim: FIELDS, extent, step: 1 } : { dim: linear.dimension(dim), extent, step };
    const last = found.at(-1);
    if (last !== undefined && last.dim === own.dim && last.step * last.extent === own.step)
      found[found.length - 1] = { ...last, extent: last.extent * extent };
    else found.push(own);
  }
  return found;
}

/** The digits of a layout within a block: the slower ones have one value there. */
export function clipped(digits: readonly Digit[], extents: readonly number[], fields: number): Digit[] {
  const found: Digit[] = [];
  for (const { dim, step, extent } of digits) {
    const whole = dim === FIELDS ? fields : (extents[dim] ?? 1);
    const within = Math.min(extent, Math.ceil(whole / step));
    if (within <= 1) continue;
    const last = found.at(-1);
    if (last !== undefined && last.dim === dim && last.step * last.extent === step)
      found[found.length - 1] = { ...last, extent: Math.min(last.extent * within, Math.ceil(whole / last.step)) };
    else found.push({ dim, step, extent: within });
  }
  return found;
}

/**
 * By dimension: the digits into which all layouts of the path cut the block, some of them shortened so that the block has at most
 * `limit` entries. Digits of layouts whose blocks do not nest are left in one piece.
 */
export function chainsOf(
  linear: Linearization,
  path: readonly Linearization[],
  limit: number,
  extents: readonly number[],
): ReadonlyMap<number, readonly ModelDigit[]> {
  const layouts = [linear, ...path].map((each) => clipped(mergedDigits(each), extents, linear.fields.length));
  const chains = new Map<number, { step: number; extent: number; shown: number; solid: boolean }[]>();
  for (const dim of [FIELDS, ...extents.keys()]) {
    const whole = dim === FIELDS ? linear.fields.length : (extents[dim] ?? 1);
    const own = layouts.flatMap((digits) => digits.filter((digit) => digit.dim === dim));
    const cuts = [...new Set(own.flatMap(({ step, extent }) => [step, step * extent]))].filter((cut) => cut > 1 && cut < whole);
    const nests = (cut: number): boolean => cuts.every((other) => other % cut === 0 || cut % other === 0);
    const steps = [1, ...cuts.filter(nests).sort((one, other) => one - other)];
    const chain = steps.map((step, place) => {
      const end = steps[place + 1];
      const extent = end === undefined ? Math.ceil(whole / step) : end / step;
      const solid = cuts.some((cut) => cut > step && cut < step * extent && !nests(cut));
      return { step, extent, shown: extent, solid };
    });
    chains.set(dim, chain);
  }
  const all = [...chains.values()].flat();
  let entries = all.reduce((product, { shown }) => product * shown, 1);
  while (entries > limit) {
    let longest: (typeof all)[number] | null = null;
    for (const digit of all) if (!digit.solid && digit.shown > 2 && digit.shown >= (longest?.shown ?? 0)) longest = digit;
    if (longest === null) break;
    const half = Math.max(2, Math.floor(longest.shown / 2));
    entries = (entries / longest.shown) * half;
    longest.shown = half;
  }
  return chains;
}

/** How many coordinates of the model lie below a cut. A cut within a digit is in one that shows all its values. */
export function coordinatesBelow(chain: readonly ModelDigit[], cut: number): number {
  let count = 1;
  for (const { step, extent, shown } of chain) {
    if (cut <= step) break;
    count *= cut >= step * extent ? shown : cut / step;
  }
  return count;
}

export function modelDimension(digits: readonly ModelDigit[], whole: number): ModelDimension {
  const padded = digits.reduce((product, { shown }) => product * shown, 1);
  let [low, high] = [1, padded]; // coordinates grow with those of the model
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (coordinateOf(digits, middle - 1) < whole) low = middle;
    else high = middle - 1;
  }
  return { digits, padded, size: low, whole };
}

export function coordinateOf(digits: readonly ModelDigit[], at: number): number {
  let [found, rest] = [0, at];
  for (const { step, extent, shown } of digits) {
    const above = Math.floor(rest / shown);
    found += Math.floor(((rest - above * shown) * extent) / shown) * step;
    rest = above;
  }
  return found;
}

/** The coordinate of the model that shows a coordinate; null where it is left out. */
export function modelCoordinate(digits: readonly ModelDigit[], coordinate: number): number | null {
  let [found, weight] = [0, 1];
  for (const { step, extent, shown } of digits) {
    const value = Math.floor(coordinate / step) % extent;
    const at = Math.ceil((value * shown) / extent);
    if (at >= shown || Math.floor((at * extent) / shown) !== value) return null;
    found += at * weight;
    weight *= shown;
  }
  return coordinateOf(digits, found) === coordinate ? found : null;
}
