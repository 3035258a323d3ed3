// Where the elements of a layout lie in the picture of memory: one after another, in the order of their addresses.
//
// The digits of the layout say how memory is wrapped. Cells hold the fastest digits: one goes across, the next one goes down. The
// slower digits make tiles of these cells, two digits for each level, in reading order. F as the fastest digit, or a few channels, lie
// inside the cell as strips. Equal orders have equal digits, and so equal pictures.
//
// A picture has fewer cells than memory has elements. Then it is a scale model: a digit shows only some of its values, spread evenly.
// The Python twin is isoviz/figures/layouts/memory_picture.py.

import type { ByName } from "#model/by-name.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";

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

/** The number of the dimension of F among the dimensions of a layout. */
export const FIELDS = -1;

/** A digit of a dimension (or of F) as it is drawn: `shown` of its `extent` values; one value is `step` coordinates further. */
interface ModelDigit {
  readonly step: number;
  readonly extent: number;
  readonly shown: number;
}

/**
 * A dimension of the model: its digits, fastest first, its coordinates with padding, those that are in what is drawn, and the
 * coordinates of the array that these stand for.
 */
interface ModelDimension {
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

/** Digits of a level: cells are level 0. A digit alone may be wrapped: `across` and `down` are two parts of it. */
export interface Level {
  readonly across: OrderDigit | null;
  readonly down: OrderDigit | null;
}

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A fastest digit that is a whole dimension of at most so many values lies inside the cell. */
const CHANNELS = 4;
/** A row of more cells than this that has nothing below it is wrapped to about a square. */
export const LONG = 64;
/** A side of the picture has one tile for so many cells, at most. */
const CELLS_OF_TILE = 24;

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
    shape: Pick<MemoryMap, "inside" | "levels">,
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

// ---- the digits of a layout

interface Digit {
  readonly dim: number;
  readonly extent: number;
  readonly step: number;
}

/** The digits of a layout, fastest first: those of one value are left out, and neighbours of one dimension are one digit. */
function mergedDigits(linear: Linearization): Digit[] {
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

/** Shortens digits until about `side` cells stand along a side, and few enough tiles that their gaps are seen. */
function shorten(shape: Shape, shown: Map<Digit, number>, side: number): void {
  const most = Math.max(2, Math.floor(side / CELLS_OF_TILE));
  const [cells, ...tiles] = shape.levels;
  if (cells === undefined) return;
  const across: Digit[] = [];
  const down: Digit[] = [];
  const both: Digit[] = [];
  const wraps = cells.down === null && cells.across.extent > LONG;
  let wide = wraps ? wrapWidth(cells.across.extent) : cells.across.extent;
  let high = wraps ? Math.ceil(cells.across.extent / wide) : (cells.down?.extent ?? 1);
  for (const level of tiles) {
    // A digit alone stands in a row, in a column, or in rows.
    const columns = level.down !== null ? level.across.extent : nearestToSquare(level.across.extent, wide, high);
    const rows = level.down !== null ? level.down.extent : level.across.extent / columns;
    const row = level.down !== null || rows === 1 ? across : columns === 1 ? down : both;
    row.push(level.across);
    if (level.down !== null) down.push(level.down);
    wide *= columns;
    high *= rows;
  }
  const extent = (digit: Digit): number => shown.get(digit) ?? 1;
  const product = (digits: readonly Digit[]): number => digits.reduce((all, digit) => all * extent(digit), 1);
  for (const axis of [
    [...across, ...both],
    [...down, ...both],
  ]) {
    let fair = 2;
    while (axis.length > 0 && (fair + 1) ** axis.length <= most) fair += 1;
    for (const digit of axis) shown.set(digit, Math.min(extent(digit), both.includes(digit) ? fair * fair : fair));
  }
  const squares = both.reduce((all, digit) => all * Math.ceil(Math.sqrt(extent(digit))), 1);
  const room = (axis: readonly Digit[]): number => Math.max(2, Math.floor(side / (product(axis) * squares)));
  shown.set(cells.across, Math.min(extent(cells.across), wraps ? room(across) * room(down) : room(across)));
  if (cells.down !== null) shown.set(cells.down, Math.min(extent(cells.down), room(down)));
}

// ---- one block

function blockMap(linear: Linearization, part: Extract<Part, { kind: "block" }>): MemoryMap {
  const extents = linear.dims.map(({ name, size }) => Math.max(1, Math.min(size, part.block.get(name) ?? size)));
  const chains = chainsOf(linear, part, extents);
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

/** The digits of a layout within a block: the slower ones have one value there. */
function clipped(digits: readonly Digit[], extents: readonly number[], fields: number): Digit[] {
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
function chainsOf(
  linear: Linearization,
  part: Extract<Part, { kind: "block" }>,
  extents: readonly number[],
): ReadonlyMap<number, readonly ModelDigit[]> {
  const layouts = [linear, ...part.path].map((each) => clipped(mergedDigits(each), extents, linear.fields.length));
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
  while (entries > part.limit) {
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
function coordinatesBelow(chain: readonly ModelDigit[], cut: number): number {
  let count = 1;
  for (const { step, extent, shown } of chain) {
    if (cut <= step) break;
    count *= cut >= step * extent ? shown : cut / step;
  }
  return count;
}

// ---- coordinates of the model

function modelDimension(digits: readonly ModelDigit[], whole: number): ModelDimension {
  const padded = digits.reduce((product, { shown }) => product * shown, 1);
  let [low, high] = [1, padded]; // coordinates grow with those of the model
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (coordinateOf(digits, middle - 1) < whole) low = middle;
    else high = middle - 1;
  }
  return { digits, padded, size: low, whole };
}

function coordinateOf(digits: readonly ModelDigit[], at: number): number {
  let [found, rest] = [0, at];
  for (const { step, extent, shown } of digits) {
    const above = Math.floor(rest / shown);
    found += Math.floor(((rest - above * shown) * extent) / shown) * step;
    rest = above;
  }
  return found;
}

/** The coordinate of the model that shows a coordinate; null where it is left out. */
function modelCoordinate(digits: readonly ModelDigit[], coordinate: number): number | null {
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

// ---- the arrangement

interface Shape {
  readonly inside: Digit | null;
  readonly levels: readonly { readonly across: Digit; readonly down: Digit | null }[];
}

/** Which digit goes across and which goes down, level by level. */
function arrangement(digits: readonly Digit[], whole: (dim: number) => number): Shape {
  const [first] = digits;
  const channels = (digit: Digit): boolean => digit.extent <= CHANNELS && digit.step === 1 && digit.extent === whole(digit.dim);
  const inside = first !== undefined && digits.length > 1 && (first.dim === FIELDS || channels(first)) ? first : null;
  const rest = inside === null ? digits : digits.slice(1);
  const levels: Shape["levels"][number][] = [];
  for (let at = 0; at < rest.length; at += 1) {
    const across = rest[at] as Digit;
    const next = rest[at + 1];
    // Whole fields are planes: tiles, whatever lies in them.
    const planes = next?.dim === FIELDS && at + 2 === rest.length;
    const down = next !== undefined && next.dim !== across.dim && !planes ? next : null;
    if (down !== null) at += 1;
    levels.push({ across, down });
  }
  return { inside, levels };
}

/** The levels as they are drawn. A digit that is alone on its level is wrapped into rows where that comes nearer to a square. */
function wrapped(shape: Shape, digits: readonly Digit[], order: readonly OrderDigit[]): Pick<MemoryMap, "inside" | "levels"> {
  const drawn = (digit: Digit): OrderDigit => order[digits.indexOf(digit)] as OrderDigit;
  let [wide, high] = [1, 1];
  const levels = shape.levels.map(({ across, down }, number): Level => {
    const own = drawn(across);
    const columns =
      down !== null
        ? own.extent
        : number > 0
          ? nearestToSquare(own.extent, wide, high)
          : own.extent > LONG
            ? wrapWidth(own.extent)
            : own.extent;
    const rows = Math.ceil(own.extent / columns);
    const level: Level =
      down !== null
        ? { across: own, down: drawn(down) }
        : {
            across: columns > 1 ? { ...own, extent: columns } : null,
            down: rows > 1 ? { ...own, extent: rows, weight: own.weight * columns } : null,
          };
    wide *= level.across?.extent ?? 1;
    high *= level.down?.extent ?? 1;
    return level;
  });
  return { inside: shape.inside === null ? null : drawn(shape.inside), levels };
}

/** The divisor of a number of tiles that, as the length of a row, makes the whole nearest to a square. */
function nearestToSquare(extent: number, wide: number, high: number): number {
  let [best, least] = [extent, Infinity];
  const look = (columns: number): void => {
    const [width, height] = [columns * wide, (extent / columns) * high];
    const ratio = width > height ? width / height : height / width;
    if (ratio < least || (ratio === least && columns > best)) [best, least] = [columns, ratio];
  };
  for (let divisor = 1; divisor * divisor <= extent && divisor <= 1 << 16; divisor += 1) {
    if (extent % divisor !== 0) continue;
    look(divisor);
    look(extent / divisor);
  }
  return best;
}

/** The length of a row of a 1-D array of many elements: a power of two, so that the array is about square. */
export function wrapWidth(extent: number): number {
  let width = 1;
  while (width * width < extent) width *= 2;
  return width;
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

/** At most this share of a side goes into gaps. */
const SHARE_OF_GAPS = 0.25;

function fittingGaps(counts: readonly number[], length: number, wanted: number): number[] {
  for (let unit = wanted; unit >= 1; unit -= 1) {
    let [tiles, total] = [1, 0];
    const gaps = counts.map(() => 0);
    for (let level = counts.length - 1; level >= 1; level -= 1) {
      const count = counts[level] ?? 1;
      gaps[level] = unit * level;
      total += tiles * (count - 1) * unit * level;
      tiles *= count;
    }
    if (total <= SHARE_OF_GAPS * length) return gaps;
  }
  return counts.map(() => 0);
}

/** Where a cell begins and ends along a side. */
function spanOf(counts: readonly number[], gaps: readonly number[], length: number, cell: number): [number, number] {
  let [start, end] = [0, length];
  let below = counts.reduce((product, count) => product * count, 1);
  let rest = cell;
  for (let level = counts.length - 1; level >= 0; level -= 1) {
    const [count, gap] = [counts[level] ?? 1, gaps[level] ?? 0];
    below /= count;
    const value = Math.floor(rest / below);
    rest -= value * below;
    [start, end] = pieceOf(start, end, count, gap, value);
  }
  return [start, end];
}

/** One of `count` pieces of a stretch with gaps between them, in whole pixels as far as there are enough of them. */
export function pieceOf(start: number, end: number, count: number, gap: number, piece: number): [number, number] {
  const pitch = (end - start + gap) / count;
  const edge = (at: number): number => (pitch < 2 ? start + at * pitch : start + Math.round(at * pitch));
  return [edge(piece), piece === count - 1 ? end : edge(piece + 1) - gap];
}

/** The cell at a point along a side, and how far into it the point lies; null in a gap and outside. */
function partAt(
  counts: readonly number[],
  gaps: readonly number[],
  length: number,
  point: number,
): { cell: number; share: number } | null {
  if (!(point >= 0 && point < length)) return null;
  let [start, end, cell] = [0, length, 0];
  for (let level = counts.length - 1; level >= 0; level -= 1) {
    const [count, gap] = [counts[level] ?? 1, gaps[level] ?? 0];
    const guess = Math.floor(((point - start) * count) / (end - start + gap));
    let found: [number, number] | null = null;
    for (const value of [guess, guess - 1, guess + 1]) {
      if (value < 0 || value >= count) continue;
      const piece = pieceOf(start, end, count, gap, value);
      if (point < piece[0] || point >= piece[1]) continue;
      found = piece;
      cell = cell * count + value;
      break;
    }
    if (found === null) return null;
    [start, end] = found;
  }
  return { cell, share: (point - start) / Math.max(1e-9, end - start) };
}
