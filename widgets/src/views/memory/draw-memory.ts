// The picture of memory as pixels. What a pixel shows is a sum over its column and its row, so that a picture of any size takes as
// long as it has pixels.

import { FIELDS, type OrderDigit } from "./digits.ts";
import { acrossOf, downOf, gapsOf, type MemoryMap, type Rect } from "./memory-map.ts";
import { neutral, type Paint, type Table, UNMIXED } from "./paint.ts";
import { pieceOf } from "./sides.ts";

/** Draws a map into a box of device pixels; what lies in gaps is transparent. */
export function drawMemory(context: CanvasRenderingContext2D, map: MemoryMap, paint: Paint, box: Rect, dark: boolean): void {
  const [width, height] = [Math.max(1, Math.round(box.width)), Math.max(1, Math.round(box.height))];
  const image = context.createImageData(width, height);
  memoryPixels(new Uint32Array(image.data.buffer), width, height, map, paint, dark);
  context.putImageData(image, Math.round(box.x), Math.round(box.y));
}

/** A side of the picture, pixel by pixel: what its cell adds to the coordinates, by dimension, and behind them to the field. */
interface Side {
  /** The number of the cell; -1 in a gap. */
  readonly cells: Int32Array;
  /** The strip in the cell; -1 where strips are narrower than pixels. */
  readonly strips: Int32Array;
  /** The coordinates that vary along this side, and their sums. */
  readonly sums: readonly { readonly slot: number; readonly sum: Float64Array }[];
}

/** From so many pixels on, colours are looked up even if there are more colours than pixels, up to a limit. */
const LARGE = 200_000;
const MOST_COLOURS = 1 << 22;
/** Strips narrower than this are mixed. */
const NARROW = 2;

export function memoryPixels(out: Uint32Array, width: number, height: number, map: MemoryMap, paint: Paint, dark: boolean): void {
  const dims = map.sizes.length;
  const strips = map.inside?.extent ?? 1;
  const [gapsAcross, gapsDown] = gapsOf(map, { width, height });
  const slot = ({ dim }: OrderDigit): number => (dim === FIELDS ? dims : dim);
  const across = sideOf(
    acrossOf(map),
    gapsAcross,
    width,
    map.levels.map((level) => level.across),
    slot,
    strips,
  );
  const down = sideOf(
    downOf(map),
    gapsDown,
    height,
    map.levels.map((level) => level.down),
    slot,
    1,
  );
  const inside = map.inside === null ? null : insideOf(map, map.inside, slot(map.inside));
  const sizes = [...map.sizes, Infinity];
  const holes = map.hasHoles;
  const [line, ground] = [dark ? 0xff6b5a4d : 0xffb8aea4, neutral(dark)];
  out.fill(0);
  const table = holes ? null : (paint.table?.(width * height >= LARGE ? MOST_COLOURS : width * height) ?? null);
  if (table !== null) return lookUp(out, width, height, across, down, inside, paint.adds, table);
  const at = new Float64Array(dims + 1);
  for (let y = 0; y < height; y += 1) {
    const row = down.cells[y] as number;
    if (row < 0) continue;
    const start = y * width;
    if (y > 0 && row === down.cells[y - 1] && !holes) {
      out.copyWithin(start, start - width, start);
      continue;
    }
    let [cell, strip, colour] = [-1, -2, 0];
    for (let x = 0; x < width; x += 1) {
      const column = across.cells[x] as number;
      if (column < 0) continue;
      if (column !== cell || across.strips[x] !== strip || holes) {
        cell = column;
        strip = across.strips[x] as number;
        at.fill(0);
        for (const { slot, sum } of across.sums) at[slot] = (at[slot] as number) + (sum[x] as number);
        for (const { slot, sum } of down.sums) at[slot] = (at[slot] as number) + (sum[y] as number);
        if (holes && (map.placeIn(column, row) === null || at.some((each, slot) => each >= (sizes[slot] as number)))) {
          colour = map.isBlock || map.placeIn(column, row) === null ? 0 : (x + y) % 6 === 0 ? line : ground;
        } else if (inside === null) colour = paint.element(at, at[dims] as number);
        else if (strip >= 0) {
          at[inside.slot] = strip * inside.weight;
          colour = strip < inside.real ? paint.element(at, at[dims] as number) : 0;
        } else colour = mixed(at, inside, paint, dims);
      }
      out[start + x] = colour;
    }
  }
}

/** The strips of a cell: the coordinate that they are, and those that hold an element. */
interface Inside {
  readonly slot: number;
  readonly weight: number;
  readonly real: number;
}

function insideOf(map: MemoryMap, { dim, extent, weight }: OrderDigit, slot: number): Inside {
  const size = dim === FIELDS ? map.fieldCount : (map.sizes[dim] ?? 1);
  return { slot, weight, real: Math.min(extent, Math.ceil(size / weight)) };
}

/** Draws a picture of many pixels: a pixel is the sum of what its column and its row add, and of what both tell together. */
function lookUp(
  out: Uint32Array,
  width: number,
  height: number,
  across: Side,
  down: Side,
  inside: Inside | null,
  adds: boolean,
  { colours, parts }: Table,
): void {
  const xs = new Float64Array(width);
  const ys = new Float64Array(height);
  const joint: { part: Float64Array; x: Float64Array; y: Float64Array }[] = [];
  parts.forEach((part, slot) => {
    const x = across.sums.find((each) => each.slot === slot)?.sum;
    const y = down.sums.find((each) => each.slot === slot)?.sum;
    if (x !== undefined && y !== undefined) joint.push({ part, x, y });
    else if (x !== undefined) for (let pixel = 0; pixel < width; pixel += 1) xs[pixel] = xs[pixel]! + part[x[pixel]!]!;
    else if (y !== undefined) for (let pixel = 0; pixel < height; pixel += 1) ys[pixel] = ys[pixel]! + part[y[pixel]!]!;
    else if (slot !== inside?.slot) for (let pixel = 0; pixel < width; pixel += 1) xs[pixel] = xs[pixel]! + part[0]!;
  });
  const strips = inside === null ? new Float64Array(1) : new Float64Array(inside.real);
  if (inside !== null)
    for (let strip = 0; strip < strips.length; strip += 1) strips[strip] = parts[inside.slot]![strip * inside.weight]!;
  const mixtures = new Uint32Array(across.strips.includes(-1) ? colours.length : 0);
  for (let y = 0; y < height; y += 1) {
    const row = down.cells[y]!;
    if (row < 0) continue;
    const start = y * width;
    if (y > 0 && row === down.cells[y - 1]) {
      out.copyWithin(start, start - width, start);
      continue;
    }
    const before = ys[y]! + 0.5;
    for (let x = 0; x < width; x += 1) {
      if (across.cells[x]! < 0) continue;
      let sum = xs[x]! + before;
      for (let number = 0; number < joint.length; number += 1) {
        const each = joint[number]!;
        sum += each.part[each.x[x]! + each.y[y]!]!;
      }
      const strip = across.strips[x]!;
      if (strip >= 0) {
        out[start + x] = strip < strips.length ? colours[(sum + strips[strip]!) | 0]! : 0;
        continue;
      }
      const place = sum | 0;
      out[start + x] = mixtures[place]! || (mixtures[place] = blend(colours, sum, strips, adds));
    }
  }
}

function blend(colours: Uint32Array, sum: number, strips: Float64Array, adds: boolean): number {
  let [red, green, blue] = [0, 0, 0];
  for (let strip = 0; strip < strips.length; strip += 1) {
    const colour = colours[(sum + strips[strip]!) | 0]!;
    if (adds && colour >>> 24 === UNMIXED) continue;
    red += colour & 255;
    green += (colour >> 8) & 255;
    blue += (colour >> 16) & 255;
  }
  if (!adds) {
    red = (red / strips.length) | 0;
    green = (green / strips.length) | 0;
    blue = (blue / strips.length) | 0;
  }
  return ((255 << 24) | (Math.min(255, blue) << 16) | (Math.min(255, green) << 8) | Math.min(255, red)) >>> 0;
}

/** The colour of a cell whose strips are narrower than pixels. */
function mixed(at: Float64Array, { slot, weight, real }: Inside, paint: Paint, dims: number): number {
  let [red, green, blue] = [0, 0, 0];
  for (let strip = 0; strip < real; strip += 1) {
    at[slot] = strip * weight;
    const colour = paint.element(at, at[dims] as number);
    if (paint.adds && colour >>> 24 === UNMIXED) continue;
    red += colour & 255;
    green += (colour >> 8) & 255;
    blue += (colour >> 16) & 255;
  }
  const parts = paint.adds ? 1 : real;
  const part = (sum: number): number => Math.min(255, Math.floor(sum / parts));
  return ((255 << 24) | (part(blue) << 16) | (part(green) << 8) | part(red)) >>> 0;
}

function sideOf(
  counts: readonly number[],
  gaps: readonly number[],
  length: number,
  digits: readonly (OrderDigit | null)[],
  slot: (digit: OrderDigit) => number,
  strips: number,
): Side {
  const cells = new Int32Array(length).fill(-1);
  const inCell = new Int32Array(length).fill(-1);
  const lay = (level: number, start: number, end: number, before: number): void => {
    const [count, gap] = [counts[level] ?? 1, gaps[level] ?? 0];
    if (level > 0 && (end - start + gap) / count >= 2) {
      for (let piece = 0; piece < count; piece += 1) {
        const [from, to] = pieceOf(start, end, count, gap, piece);
        lay(level - 1, from, to, before * count + piece);
      }
      return;
    }
    // Cells, or tiles that are narrower than pixels: a pixel shows what is at its middle.
    const below = counts.slice(0, level).reduce((product, each) => product * each, 1);
    const all = count * below;
    for (let pixel = Math.max(0, start); pixel < Math.min(length, end); pixel += 1) {
      const middle = ((pixel + 0.5 - start) * all) / (end - start);
      let cell = Math.min(all - 1, Math.floor(middle));
      let [from, to] = [0, 0];
      if ((end - start) / all >= 2) {
        for (const guess of [cell, cell - 1, cell + 1]) {
          if (guess < 0 || guess >= all) continue;
          [from, to] = pieceOf(start, end, all, 0, guess);
          if (pixel >= from && pixel < to) {
            cell = guess;
            break;
          }
        }
      }
      cells[pixel] = before * all + cell;
      if (to - from >= NARROW * strips)
        inCell[pixel] = Math.min(strips - 1, Math.floor(((pixel + 0.5 - from) * strips) / (to - from)));
    }
  };
  lay(counts.length - 1, 0, length, 0);
  const sums: { slot: number; sum: Float64Array }[] = [];
  let weight = 1;
  for (const digit of digits) {
    if (digit === null) continue;
    const place = slot(digit);
    let own = sums.find((each) => each.slot === place);
    if (own === undefined) sums.push((own = { slot: place, sum: new Float64Array(length) }));
    for (let pixel = 0; pixel < length; pixel += 1) {
      const cell = cells[pixel] as number;
      if (cell >= 0) own.sum[pixel] = (own.sum[pixel] as number) + (Math.floor(cell / weight) % digit.extent) * digit.weight;
    }
    weight *= digit.extent;
  }
  return { cells, strips: strips > 1 ? inCell : inCell.fill(0), sums };
}
