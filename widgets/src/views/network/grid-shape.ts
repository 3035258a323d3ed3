// A torus or mesh of any dimensions as slices side by side: two dimensions are a slice, the others place the slices.
import type { Point, Rect } from "#lib/geometry.ts";

/** Between neighbours in a slice. */
export const CELL = 16;
/** Between routers of an inner dimension that lie side by side in one place of a slice, and around such a place. */
const PAIR = 10;
const BETWEEN_PAIRS = 8;
/** Between slices, with room for the name of the lower one. */
const APART = 30;
/** Routers of a slice in one direction that are enough. */
const ENOUGH = 3;
/** Slices in one row make the drawing at most so many times as wide as high. */
const WIDEST = 3.4;
const WANTED = 1.8;

/** How far a line goes beyond the edge of a slice where its dimension wraps around. */
export const STUB = 11;

export const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** A plane of the grid: where it lies, and its fixed coordinates in words. */
export interface Slice {
  readonly box: Rect;
  readonly title: string;
  /** Its first router. */
  readonly first: number;
}

/** What all slices have alike: their routers, counted from the first one, at places from the corner, and the links between these. */
export interface Cells {
  readonly routers: readonly number[];
  readonly places: readonly Point[];
  /** Lines between neighbours, and short ones at the ends of dimensions that wrap around. */
  readonly lines: readonly (readonly [Point, Point])[];
}

/** Where the routers of a grid lie. The dimensions of `across` and `down` vary within a slice, the slowest first. */
export interface GridShape {
  readonly sizes: readonly number[];
  readonly wraps: readonly boolean[];
  readonly across: readonly number[];
  readonly down: readonly number[];
  /** The dimensions that place the slices. */
  readonly outer: readonly number[];
  readonly slices: readonly Slice[];
  readonly cells: Cells;
  readonly width: number;
  readonly height: number;
  readonly at: (router: number) => Point;
  readonly coordinates: (router: number) => number[];
}

interface Axis {
  /** The dimensions of a slice, and those that place it, the slowest first. */
  readonly inner: number[];
  readonly outer: number[];
}

export function gridShape(sizes: readonly number[], wraps: readonly boolean[]): GridShape {
  const [x, y] = axes(sizes);
  const pitch = new Float64Array(sizes.length);
  const width = laid(x.inner, sizes, pitch);
  const height = laid(y.inner, sizes, pitch);
  // The slices lie in rows and columns; where they would be one long row, it is folded.
  const columns = x.outer.reduce((count, dim) => count * sizes[dim]!, 1);
  const rows = y.outer.reduce((count, dim) => count * sizes[dim]!, 1);
  const ratio = (columns * (width + APART)) / (rows * (height + APART));
  const folds = ratio > WIDEST ? Math.min(columns, Math.max(1, Math.round(Math.sqrt(ratio / WANTED)))) : 1;
  const inRow = Math.ceil(columns / folds);
  const strides = sizes.map((_, dim) => sizes.slice(dim + 1).reduce((product, size) => product * size, 1));
  const coordinates = (router: number): number[] => sizes.map((size, dim) => Math.floor(router / strides[dim]!) % size);
  const number = (dims: readonly number[], places: readonly number[]): number =>
    dims.reduce((count, dim) => count * sizes[dim]! + places[dim]!, 0);
  const corner = (column: number, row: number): Point => ({
    x: (column % inRow) * (width + APART),
    y: (row + rows * Math.floor(column / inRow)) * (height + APART),
  });
  const within = (places: readonly number[]): Point => {
    const sum = (dims: readonly number[]): number => dims.reduce((offset, dim) => offset + pitch[dim]! * places[dim]!, 0);
    return { x: CELL / 2 + sum(x.inner), y: CELL / 2 + sum(y.inner) };
  };
  const at = (router: number): Point => {
    const places = coordinates(router);
    const [from, inside] = [corner(number(x.outer, places), number(y.outer, places)), within(places)];
    return { x: from.x + inside.x, y: from.y + inside.y };
  };
  const outer = [...x.outer, ...y.outer].sort((one, other) => one - other);
  const slices = varied(outer, sizes).map((places): Slice => {
    const place = corner(number(x.outer, places), number(y.outer, places));
    const title = outer.map((dim) => `${LETTERS[dim]}${places[dim]}`).join(" ");
    const first = outer.reduce((sum, dim) => sum + places[dim]! * strides[dim]!, 0);
    return { box: { ...place, width, height }, title, first };
  });
  const inner = [...x.inner, ...y.inner];
  const all = varied(inner, sizes);
  const cells: Cells = {
    routers: all.map((places) => inner.reduce((sum, dim) => sum + places[dim]! * strides[dim]!, 0)),
    places: all.map(within),
    lines: all.flatMap((places) => inner.flatMap((dim) => linesAhead(places, dim, sizes, wraps, x.inner, within))),
  };
  return {
    sizes,
    wraps,
    across: x.inner,
    down: y.inner,
    outer,
    slices,
    cells,
    width: inRow * (width + APART) - APART,
    height: rows * Math.ceil(columns / inRow) * (height + APART) - APART,
    at,
    coordinates,
  };
}

const moved = (places: readonly number[], dim: number, to: number): number[] =>
  places.map((place, each) => (each === dim ? to : place));

/** All coordinates in which only some dimensions vary, the last one fastest. */
function varied(dims: readonly number[], sizes: readonly number[]): number[][] {
  return dims.reduce<number[][]>(
    (found, dim) => found.flatMap((places) => Array.from({ length: sizes[dim]! }, (_, place) => moved(places, dim, place))),
    [sizes.map(() => 0)],
  );
}

/** The line to the next router of a dimension; at the end of one that wraps around, short lines beyond both edges. */
function linesAhead(
  places: readonly number[],
  dim: number,
  sizes: readonly number[],
  wraps: readonly boolean[],
  across: readonly number[],
  within: (places: readonly number[]) => Point,
): [Point, Point][] {
  const from = within(places);
  const ahead = places[dim]! + 1;
  if (ahead < sizes[dim]!) return [[from, within(moved(places, dim, ahead))]];
  if (wraps[dim] !== true || sizes[dim]! <= 2) return [];
  const first = within(moved(places, dim, 0));
  const [dx, dy] = across.includes(dim) ? [STUB, 0] : [0, STUB];
  return [
    [from, { x: from.x + dx, y: from.y + dy }],
    [first, { x: first.x - dx, y: first.y - dy }],
  ];
}

/** The dimensions of both axes: from the last one on, each goes to the shorter axis. */
function axes(sizes: readonly number[]): readonly [Axis, Axis] {
  const [x, y]: [number[], number[]] = [[], []];
  let [width, height] = [1, 1];
  for (let dim = sizes.length - 1; dim >= 0; dim -= 1) {
    if (width <= height) {
      x.unshift(dim);
      width *= sizes[dim]!;
    } else {
      y.unshift(dim);
      height *= sizes[dim]!;
    }
  }
  return [split(x, sizes), split(y, sizes)];
}

/** The fastest dimensions that make a slice long enough; the others place it. */
function split(dims: readonly number[], sizes: readonly number[]): Axis {
  let count = 1;
  let from = dims.length;
  while (from > 0 && count < ENOUGH) {
    from -= 1;
    count *= sizes[dims[from]!]!;
  }
  return { inner: dims.slice(from), outer: dims.slice(0, from) };
}

/** Sets the distances of neighbours in the dimensions of a slice; returns its length. */
function laid(dims: readonly number[], sizes: readonly number[], pitch: Float64Array): number {
  let length = 0;
  const fast = [...dims].reverse();
  fast.forEach((dim, place) => {
    const slowest = place === fast.length - 1;
    pitch[dim] = place > 0 ? length + BETWEEN_PAIRS : slowest ? CELL : PAIR;
    length = pitch[dim]! * (sizes[dim]! - 1) + (place > 0 ? length : slowest ? CELL : PAIR);
  });
  const first = fast[0];
  return Math.max(CELL, length + (fast.length > 1 && first !== undefined ? CELL - PAIR : 0));
}

/** The dimension in which a link leads to a neighbour, and whether it goes around: from one end of a dimension to the other. */
export function stepOf(shape: GridShape, from: number, to: number): { dim: number; around: boolean; way: 1 | -1 } {
  const [a, b] = [shape.coordinates(from), shape.coordinates(to)];
  const dim = Math.max(
    0,
    a.findIndex((place, at) => place !== b[at]),
  );
  const ahead = b[dim]! - a[dim]!;
  const around = shape.wraps[dim] === true && shape.sizes[dim]! > 2 && Math.abs(ahead) === shape.sizes[dim]! - 1;
  return { dim, around, way: ahead > 0 !== around ? 1 : -1 };
}
