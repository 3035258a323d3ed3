// The grid of a layout: which dimension goes right, which goes down, and where the others stand. One dimension alone is wrapped
// into rows, like text. Numbers of cells stay sums over column and row, so that grids of any size can be drawn.
import type { ByName } from "#model/by-name.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import type { Term } from "./separable.ts";

/** A direction of the grid: a dimension with its size and its size with padding, or the rows of a wrapped dimension. */
export interface Axis {
  readonly dim: string;
  /** The place of the dimension in the index. */
  readonly place: number;
  readonly size: number;
  readonly padded: number;
  /** Where blocks begin: every so many cells. */
  readonly blocks: readonly number[];
}

export interface GridModel {
  readonly linear: Linearization;
  readonly across: Axis;
  readonly down: Axis;
  /** Cells in a row where one dimension is wrapped into rows, else 0. */
  readonly wrap: number;
  /** The index of the cell in the upper left corner: the coordinates of the dimensions that are not drawn. */
  readonly corner: readonly number[];
}

/** `width` and `height` of the room decide how one dimension is wrapped into rows, of whole blocks of `block` entries. */
export function gridModel(
  linear: Linearization,
  dims: readonly string[],
  fixed: ByName<number>,
  room: { width: number; height: number },
  block?: number,
): GridModel {
  const across = axisOf(linear, dims[0] ?? linear.dims[0]?.name ?? "");
  const corner = linear.dims.map((dim) => Math.max(0, Math.min(dim.size - 1, Math.round(fixed.get(dim.name) ?? 0))));
  corner[across.place] = 0;
  const second = dims[1];
  if (second !== undefined && second !== across.dim && linear.dims.some((dim) => dim.name === second)) {
    const down = axisOf(linear, second);
    corner[down.place] = 0;
    return { linear, across, down, wrap: 0, corner };
  }
  const wrap = rowLength(across, room, block ?? largestBlock(linear, across.dim));
  if (wrap >= across.padded) {
    return { linear, across, down: { dim: "", place: -1, size: 1, padded: 1, blocks: [] }, wrap: 0, corner };
  }
  const rows = Math.ceil(across.padded / wrap);
  return {
    linear,
    across: { ...across, size: wrap, padded: wrap, blocks: across.blocks.filter((block) => block < wrap) },
    down: { dim: across.dim, place: across.place, size: rows, padded: rows, blocks: [] },
    wrap,
    corner,
  };
}

function axisOf(linear: Linearization, dim: string): Axis {
  const place = linear.dims.findIndex((each) => each.name === dim);
  const size = linear.dims[place]?.size ?? 1;
  const digits = linear.digits.filter((digit) => digit.part !== "F" && digit.dim === dim);
  const padded = Math.max(size, ...digits.map((digit) => digit.step * digit.extent));
  const blocks = digits.map((digit) => digit.step).filter((step) => step > 1);
  return { dim, place, size, padded, blocks: blocks.sort((a, b) => a - b) };
}

/** Cells in a row: all where they fit as a strip; else whole blocks, or a power of two, so that rows compare. */
function rowLength(axis: Axis, room: { width: number; height: number }, block: number): number {
  if (axis.padded * 22 <= room.width || axis.padded <= 8) return axis.padded;
  const wanted = Math.sqrt((axis.padded * Math.max(1, room.width)) / Math.max(1, room.height));
  return block * 2 ** Math.max(0, Math.round(Math.log2(wanted / block)));
}

/** The entries of a block of the slowest digit of a dimension. */
export function largestBlock(linear: Linearization, dim: string): number {
  return axisOf(linear, dim).blocks.at(-1) ?? 1;
}

/** The entries that whole blocks of all layouts hold. */
export function commonBlock(layouts: readonly Linearization[], dim: string): number {
  return layouts.reduce((common, linear) => {
    const block = largestBlock(linear, dim);
    let [x, y] = [common, block];
    while (y !== 0) [x, y] = [y, x % y];
    return (common / x) * block;
  }, 1);
}

/** The index of a cell; null where it is padding or outside of the array. */
export function indexAt(model: GridModel, column: number, row: number): number[] | null {
  if (column < 0 || row < 0) return null;
  const index = [...model.corner];
  const { across, down, linear, wrap } = model;
  if (wrap > 0) {
    const at = row * wrap + column;
    if (column >= wrap || at >= (linear.dims[across.place]?.size ?? 0)) return null;
    index[across.place] = at;
    return index;
  }
  if (column >= across.size || row >= down.size) return null;
  index[across.place] = column;
  if (down.place >= 0) index[down.place] = row;
  return index;
}

/** Whether memory has room for a cell that belongs to no entry. */
export function isPadding(model: GridModel, column: number, row: number): boolean {
  if (model.wrap === 0) return column >= model.across.size || row >= model.down.size;
  const dim = model.linear.dims[model.across.place];
  const at = row * model.wrap + column;
  return at >= (dim?.size ?? 0) && at < paddedSize(model.linear, model.across.dim);
}

/** The size of a dimension with its padding. */
export function paddedSize(linear: Linearization, dim: string): number {
  return axisOf(linear, dim).padded;
}

/** The cell of an entry; null where it lies in another slice. */
export function cellOf(model: GridModel, index: readonly number[]): { column: number; row: number } | null {
  const { across, down, wrap } = model;
  const same = model.corner.every((at, place) => place === across.place || place === down.place || at === index[place]);
  if (!same) return null;
  const i = index[across.place] ?? 0;
  if (wrap > 0) return { column: i % wrap, row: Math.floor(i / wrap) };
  return { column: i, row: down.place < 0 ? 0 : (index[down.place] ?? 0) };
}

/** The element of a cell and a field. */
export function elementAt(model: GridModel, column: number, row: number, field: number): Entry | null {
  const index = indexAt(model, column, row);
  return index === null ? null : { index, field };
}

/** How many columns and rows a block takes; null where all of the array is meant. */
export function cellsOf(
  { across, down, wrap }: GridModel,
  block: ByName<number> | null,
): { columns: number; rows: number } | null {
  if (block === null) return null;
  const wide = block.get(across.dim) ?? across.padded;
  if (wrap > 0) return { columns: Math.min(wrap, wide), rows: Math.ceil(wide / wrap) };
  return { columns: Math.min(across.padded, wide), rows: Math.min(down.padded, block.get(down.dim) ?? down.padded) };
}

/** A sum over the coordinates of an entry, put down for one field of a grid. */
export interface Separable {
  readonly across: readonly Term[];
  readonly down: readonly Term[];
  readonly rest: number;
}

/** `terms` gives the digits of each dimension with their weights. */
export function separable(model: GridModel, base: number, terms: (dim: string) => readonly Term[]): Separable {
  const { across, down, wrap, linear } = model;
  let rest = base;
  linear.dims.forEach((dim, place) => {
    if (place === across.place || place === down.place) return;
    for (const { step, extent, weight } of terms(dim.name))
      rest += (Math.floor((model.corner[place] ?? 0) / step) % extent) * weight;
  });
  const right = terms(across.dim);
  if (wrap === 0) return { across: right, down: down.place < 0 ? [] : terms(down.dim), rest };
  // A row has whole blocks: the faster digits are the column's alone, and the slowest one grows by the same amount with each row.
  const below = right.map((term) => ({
    step: Math.max(1, Math.round(term.step / wrap)),
    extent: Math.max(1, Math.ceil((term.extent * term.step) / Math.max(term.step, wrap))),
    weight: term.step >= wrap ? term.weight : (term.weight * wrap) / term.step,
    low: term.step * term.extent <= wrap,
  }));
  return { across: right, down: below.filter((term) => !term.low), rest };
}
