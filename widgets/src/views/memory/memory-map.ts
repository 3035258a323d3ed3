// Where the elements of a layout lie in the picture of memory: one after another, in the order of their addresses.
//
// The digits of the layout say how memory is wrapped. Cells hold the fastest digits: one goes across, the next one goes down. The
// slower digits make tiles of these cells, two digits for each level, in reading order. F as the fastest digit, or a few channels, lie
// inside the cell as strips. Equal orders have equal digits, and so equal pictures.
//
// A picture has fewer cells than memory has elements. Then it is a scale model: a digit shows only some of its values, spread evenly.
// The Python twin is isoviz/figures/layouts/memory_map.py.

import type { ByName } from "#model/by-name.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import { type Arranged, arrangement, type Level, shorten, wrapped } from "./arrangement.ts";
import {
  chainsOf,
  clipped,
  coordinateOf,
  coordinatesBelow,
  type Digit,
  FIELDS,
  type ModelDimension,
  mergedDigits,
  modelCoordinate,
  modelDimension,
  type OrderDigit,
} from "./digits.ts";
import { fittingGaps, partAt, spanOf } from "./sides.ts";

/**
 * What is drawn: the whole allocation, with at most about `side` cells along a side (all of them where it is left out), or one block of
 * a path, with at most `limit` entries. All stops of the path show the same entries of the block.
 */
export type Part =
  | { readonly kind: "whole"; readonly side?: number }
  | {
      readonly kind: "block";
      readonly block: ByName<number>;
      readonly path: readonly Linearization[];
      readonly limit: number;
    };

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export class MemoryMap {
  readonly linear: Linearization;
  /** The order of the elements, fastest digit first. */
  readonly order: readonly OrderDigit[];
  /** The strips inside a cell; null where a cell is one element. */
  readonly inside: OrderDigit | null;
  /** The cells, then tiles of them, then tiles of these. */
  readonly levels: readonly Level[];
  readonly columns: number;
  readonly rows: number;
  /** Elements and padding. */
  readonly count: number;
  /** Whether some elements are left out. */
  readonly isModel: boolean;
  /** Whether this is a block of an array: where its entries end, others lie, not padding. */
  readonly isBlock: boolean;
  private readonly model: readonly ModelDimension[];
  private readonly fields: ModelDimension;

  constructor(
    linear: Linearization,
    model: readonly ModelDimension[],
    fields: ModelDimension,
    order: readonly OrderDigit[],
    shape: Arranged,
    isBlock: boolean,
  ) {
    this.linear = linear;
    this.model = model;
    this.fields = fields;
    this.order = order;
    this.inside = shape.inside;
    this.levels = shape.levels.length > 0 ? shape.levels : [{ across: null, down: null }];
    this.isBlock = isBlock;
    this.columns = this.levels.reduce((product, { across }) => product * (across?.extent ?? 1), 1);
    this.rows = this.levels.reduce((product, { down }) => product * (down?.extent ?? 1), 1);
    this.count = order.reduce((product, { extent }) => product * extent, 1);
    this.isModel = [...model, fields].some(({ digits }) => digits.some(({ shown, extent }) => shown < extent));
  }

  /** The coordinates of the model in the array, by dimension. */
  get sizes(): readonly number[] {
    return this.model.map(({ size }) => size);
  }

  /** The coordinates of the array that those of the model stand for, by dimension. */
  get wholes(): readonly number[] {
    return this.model.map(({ whole }) => whole);
  }

  /** Whether some places hold no element: padding, or cells behind the end. */
  get hasHoles(): boolean {
    const cells = this.columns * this.rows * (this.inside?.extent ?? 1);
    return cells > this.model.reduce((product, { size }) => product * size, this.fields.size);
  }

  /** The fields of the model. */
  get fieldCount(): number {
    return this.fields.padded;
  }

  /** The coordinate in the array of a coordinate of the model; null where there is none. */
  coordinate(dim: number, at: number): number | null {
    const found = this.model[dim];
    return found === undefined || at >= found.size ? null : coordinateOf(found.digits, at);
  }

  /** The field that a number of the model stands for. */
  field(at: number): number {
    return coordinateOf(this.fields.digits, at);
  }

  /** The coordinates of the model at a place in the order of memory, and behind them the field of the model. */
  modelAt(place: number): number[] {
    const found = new Array<number>(this.model.length + 1).fill(0);
    let rest = place;
    for (const { dim, extent, weight } of this.order) {
      const above = Math.floor(rest / extent);
      const slot = dim === FIELDS ? this.model.length : dim;
      found[slot] = (found[slot] ?? 0) + (rest - above * extent) * weight;
      rest = above;
    }
    return found;
  }

  /** The element at a place in the order of memory; null for padding and behind the end. */
  elementAt(place: number): Entry | null {
    if (!(place >= 0 && place < this.count)) return null;
    const found = this.modelAt(place);
    const index: number[] = [];
    for (let dim = 0; dim < this.model.length; dim += 1) {
      const at = this.coordinate(dim, found[dim] ?? 0);
      if (at === null) return null;
      index.push(at);
    }
    return { index, field: this.field(found[this.model.length] ?? 0) };
  }

  /** The place of an element; null where the picture leaves it out. */
  placeOf(index: readonly number[], field: number): number | null {
    const at = this.model.map(({ digits }, dim) => modelCoordinate(digits, index[dim] ?? 0));
    const own = modelCoordinate(this.fields.digits, field);
    let [place, weight] = [0, 1];
    for (const digit of this.order) {
      const value = digit.dim === FIELDS ? own : (at[digit.dim] ?? null);
      if (value === null) return null;
      place += (Math.floor(value / digit.weight) % digit.extent) * weight;
      weight *= digit.extent;
    }
    return at.includes(null) || own === null ? null : place;
  }

  /** The column, the row and the strip of a place. */
  cellOf(place: number): { column: number; row: number; strip: number } {
    let rest = place;
    const next = (extent: number): number => {
      const above = Math.floor(rest / extent);
      const value = rest - above * extent;
      rest = above;
      return value;
    };
    const strip = this.inside === null ? 0 : next(this.inside.extent);
    let [column, row, wide, high] = [0, 0, 1, 1];
    for (const { across, down } of this.levels) {
      if (across !== null) {
        column += next(across.extent) * wide;
        wide *= across.extent;
      }
      if (down !== null) {
        row += next(down.extent) * high;
        high *= down.extent;
      }
    }
    return { column, row, strip };
  }

  /** The place in a cell; null where the last row of a wrapped array has ended. */
  placeIn(column: number, row: number, strip = 0): number | null {
    let [place, weight] = [strip, this.inside?.extent ?? 1];
    let [left, top] = [column, row];
    for (const { across, down } of this.levels) {
      if (across !== null) {
        place += (left % across.extent) * weight;
        weight *= across.extent;
        left = Math.floor(left / across.extent);
      }
      if (down !== null) {
        place += (top % down.extent) * weight;
        weight *= down.extent;
        top = Math.floor(top / down.extent);
      }
    }
    return place < this.count ? place : null;
  }

  /** Where a place is drawn in a box. */
  rectOf(place: number, box: Rect): Rect {
    const { column, row, strip } = this.cellOf(place);
    const [gapAcross, gapDown] = gapsOf(this, box);
    const [left, right] = spanOf(acrossOf(this), gapAcross, box.width, column);
    const [top, bottom] = spanOf(downOf(this), gapDown, box.height, row);
    const strips = this.inside?.extent ?? 1;
    const wide = (right - left) / strips;
    return { x: box.x + left + strip * wide, y: box.y + top, width: wide, height: bottom - top };
  }

  /** The place at a point of a box; null beside the cells. */
  placeAt(x: number, y: number, box: Rect): number | null {
    const [gapAcross, gapDown] = gapsOf(this, box);
    const across = partAt(acrossOf(this), gapAcross, box.width, x - box.x);
    const down = partAt(downOf(this), gapDown, box.height, y - box.y);
    if (across === null || down === null) return null;
    const strips = this.inside?.extent ?? 1;
    return this.placeIn(across.cell, down.cell, Math.min(strips - 1, Math.floor(across.share * strips)));
  }
}

/** The picture of a layout, or of a block of it. */
export function memoryMap(linear: Linearization, part: Part): MemoryMap {
  return part.kind === "whole" ? wholeMap(linear, part.side) : blockMap(linear, part);
}

// ---- the whole allocation

function wholeMap(linear: Linearization, side: number | undefined): MemoryMap {
  const digits = mergedDigits(linear);
  const shape = arrangement(digits, (dim) => wholeExtent(linear, dim));
  const shown = new Map<Digit, number>(digits.map((digit) => [digit, digit.extent]));
  if (side !== undefined) shorten(shape, shown, side);
  const dimension = (dim: number, size: number): ModelDimension => {
    const own = digits.filter((digit) => digit.dim === dim).sort((one, other) => one.step - other.step);
    return modelDimension(
      own.map((digit) => ({ step: digit.step, extent: digit.extent, shown: shown.get(digit) ?? 1 })),
      size,
    );
  };
  const model = linear.dims.map(({ size }, dim) => dimension(dim, size));
  const order = digits.map((digit): OrderDigit => {
    const below = digits.filter(({ dim, step }) => dim === digit.dim && step < digit.step);
    const weight = below.reduce((product, each) => product * (shown.get(each) ?? 1), 1);
    return { dim: digit.dim, extent: shown.get(digit) ?? 1, weight };
  });
  return new MemoryMap(linear, model, dimension(FIELDS, linear.fields.length), order, wrapped(shape, digits, order), false);
}

function wholeExtent(linear: Linearization, dim: number): number {
  return dim === FIELDS ? linear.fields.length : (linear.dims[dim]?.size ?? 1);
}

// ---- one block

function blockMap(linear: Linearization, part: Extract<Part, { kind: "block" }>): MemoryMap {
  const extents = linear.dims.map(({ name, size }) => Math.max(1, Math.min(size, part.block.get(name) ?? size)));
  const chains = chainsOf(linear, part.path, part.limit, extents);
  const slots = [FIELDS, ...extents.keys()];
  const model = slots.map((dim) =>
    modelDimension(chains.get(dim) ?? [], dim === FIELDS ? linear.fields.length : (extents[dim] ?? 1)),
  );
  const [fields, ...dimensions] = model as [ModelDimension, ...ModelDimension[]];
  const inBlock = clipped(mergedDigits(linear), extents, linear.fields.length);
  const order = inBlock.map(({ dim, step, extent }): OrderDigit => {
    const chain = chains.get(dim) ?? [];
    const weight = coordinatesBelow(chain, step);
    const whole = dim === FIELDS ? linear.fields.length : (extents[dim] ?? 1);
    const end = coordinatesBelow(chain, step * extent < whole ? step * extent : Infinity);
    return { dim, extent: Math.ceil(end / weight), weight };
  });
  // A digit that shows one value only does not wrap anything.
  const kept = inBlock.filter((_, place) => (order[place]?.extent ?? 1) > 1);
  const shown = order.filter(({ extent }) => extent > 1);
  const shape = arrangement(kept, (dim) => (dim === FIELDS ? linear.fields.length : (extents[dim] ?? 1)));
  return new MemoryMap(linear, dimensions, fields, shown, wrapped(shape, kept, shown), true);
}

// ---- along a side of the box

/** How many parts stand along a side at each level, fastest first. */
export const acrossOf = (map: MemoryMap): number[] => map.levels.map(({ across }) => across?.extent ?? 1);
export const downOf = (map: MemoryMap): number[] => map.levels.map(({ down }) => down?.extent ?? 1);

/** The gap between tiles in a box, by level: wider at higher levels. There is none where tiles are too small for it. */
export function gapsOf(map: MemoryMap, box: Pick<Rect, "width" | "height">): [number[], number[]] {
  const wanted = Math.max(1, Math.min(6, Math.round(Math.min(box.width, box.height) / 48)));
  return [fittingGaps(acrossOf(map), box.width, wanted), fittingGaps(downOf(map), box.height, wanted)];
}
