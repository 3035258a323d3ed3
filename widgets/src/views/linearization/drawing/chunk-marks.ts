// What is marked in a grid and on a tape, at any colouring: the selected chunk, or the bytes that a descriptor names. What else there
// is lies below a veil, and a line goes round what is marked. Chunks may be parts of blocks, in any dimension and in the fields, so
// each pixel asks whether it belongs to it.
import type { ChunkNumbers } from "#model/layouts/chunks.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import { cellOf } from "#views/linearization/geometry/model.ts";
import { elementAtOrAfter, elementsIn } from "#views/linearization/geometry/order.ts";
import { type Geometry, type Panel, rectOf } from "#views/linearization/geometry/scene.ts";
import { valueAt } from "#views/linearization/geometry/separable.ts";
import { cssOf, offsetScale, STEPS } from "#views/memory/scales.ts";
import { type Colouring, colouring, separables } from "./colouring.ts";
import type { Ink } from "./ink.ts";
import { rowsOf, type TapeGeometry, windowOf } from "./tape-canvas.ts";

/** What is marked of a layout: the elements whose numbers by `blocks` it has. */
export interface Marked {
  readonly blocks: Colouring;
  readonly has: (value: number) => boolean;
  /** Entries of it that are seen however small they are, the first one in front. */
  readonly entries: readonly Entry[];
  /** When what has a number moves, from 0 to 1: that is then its colour. Null where what is marked keeps its colours. */
  readonly when: ((value: number) => number) | null;
}

/** A chunk of a layout, by the numbers of its blocks. */
export interface ChosenChunk extends Marked {
  readonly number: number;
}

/** Stretches of memory: the first byte and the length of each. */
export interface Stretches {
  readonly starts: readonly number[];
  readonly lengths: readonly number[];
  /** When each moves, in thousandths of the way; only where that is to be seen. */
  readonly owners?: readonly number[];
}

/** How much of the colour is left below the veil. */
const VEIL = 0.62;
/** Width of the line round what is marked, in CSS pixels. */
const LINE = 2;
const SAMPLES = 9;
/** Cells of fewer pixels may be between two pixels: what is marked has dots as well. */
const SMALL = 2;

/** Null where there is no such chunk, or only one. */
export function chosenChunk(linear: Linearization, chunks: ChunkNumbers | null, number: number | null): ChosenChunk | null {
  if (chunks === null || number === null || chunks.count < 2 || number < 0 || number >= chunks.count) return null;
  const blocks = colouring(linear, { options: { colour: "chunk", digit: null }, palette: [], chunks, dark: false });
  const to = number === chunks.count - 1 ? Infinity : (number + 1) * chunks.perChunk;
  const from = number * chunks.perChunk;
  const has = (block: number): boolean => block >= from && block < to;
  return { number, blocks, has, entries: [firstEntry(linear, chunks, from)], when: null };
}

/** Some bytes of a layout; null where there are none. */
export function chosenBytes(linear: Linearization, bytes: Stretches | null): Marked | null {
  if (bytes === null || bytes.starts.length === 0) return null;
  const order = bytes.starts.map((_, place) => place).sort((a, b) => (bytes.starts[a] ?? 0) - (bytes.starts[b] ?? 0));
  const starts = Float64Array.from(order, (place) => bytes.starts[place] ?? 0);
  const ends = Float64Array.from(order, (place) => (bytes.starts[place] ?? 0) + (bytes.lengths[place] ?? 0));
  const pieceOf = (offset: number): number => {
    let [low, high] = [0, starts.length]; // the last one that begins at or before the offset
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return (starts[low] ?? Infinity) <= offset && offset < (ends[low] ?? 0) ? low : -1;
  };
  const blocks = colouring(linear, {
    options: { colour: "offset", digit: null },
    palette: [],
    chunks: null,
    dark: false,
  });
  const { owners } = bytes;
  const total = bytes.lengths.reduce((sum, length) => sum + length, 0);
  const whenOf = (begun: readonly number[], offset: number): number => {
    const piece = pieceOf(offset);
    const within = (offset - (starts[piece] ?? offset)) / total;
    return Math.min(1, (begun[order[piece] ?? 0] ?? 0) / 1000 + within);
  };
  return {
    blocks,
    has: (offset) => pieceOf(offset) >= 0,
    entries: bytes.starts.flatMap((start) => elementAtOrAfter(linear, start) ?? []),
    when: owners === undefined ? null : (offset) => whenOf(owners, offset),
  };
}

export function isInside({ blocks, has }: Marked, index: readonly number[], field: number): boolean {
  return has(blocks.value(index, field));
}

/** The first entry of a block. */
function firstEntry(linear: Linearization, chunks: ChunkNumbers, block: number): Entry {
  const index = linear.dims.map(() => 0);
  let [rest, field] = [block, 0];
  for (const { dim, extent, step } of chunks.digits) {
    const digit = rest % extent;
    rest = Math.floor(rest / extent);
    const place = linear.dims.findIndex(({ name }) => name === dim);
    if (place < 0) field = Math.min(linear.fields.length - 1, digit * Math.max(1, step));
    else index[place] = Math.min((linear.dims[place]?.size ?? 1) - 1, (index[place] ?? 0) + digit * step);
  }
  return { index, field };
}

/** What goes over the cells; null where nothing that is marked is seen, in another slice for example. */
export function gridOverlay(
  geometry: Geometry,
  marked: Marked,
  ink: Ink,
  size: { width: number; height: number },
): HTMLCanvasElement | null {
  const { ratio } = geometry.room;
  const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  const mask = new Uint16Array(width * height); // 0: no cell, 1: what is not marked, from 2 on: what is, and when it moves
  let found = false;
  for (const panel of geometry.panels) {
    found = maskOf(mask, width, height, geometry, panel, marked) || found;
    found = dots(mask, width, height, geometry, panel, marked) || found;
  }
  return found ? painted(mask, width, height, ink, marked.when === null ? Math.max(1, Math.round(LINE * ratio)) : 0) : null;
}

/** The entries that are seen however small they are: so many pixels to either side of the middle of each. */
function dots(mask: Uint16Array, width: number, height: number, geometry: Geometry, panel: Panel, marked: Marked): boolean {
  const { ratio } = geometry.room;
  if (Math.min(geometry.view.width, geometry.view.height) >= SMALL) return false;
  let found = false;
  for (const { index, field } of marked.entries) {
    const cell = cellOf(geometry.model, index);
    if (cell === null || !panel.fields.includes(field)) continue;
    const rect = rectOf(geometry, panel, cell.column, cell.row, field);
    const [left, top] = [Math.round((rect.x + rect.width / 2) * ratio), Math.round((rect.y + rect.height / 2) * ratio)];
    const inPanel =
      left >= panel.x * ratio &&
      left < (panel.x + panel.width) * ratio &&
      top >= panel.y * ratio &&
      top < (panel.y + panel.height) * ratio;
    if (!inPanel) continue;
    const own = inkOf(marked, marked.blocks.value(index, field));
    for (let y = Math.max(0, top - 1); y <= Math.min(height - 1, top + 1); y += 1)
      for (let x = Math.max(0, left - 1); x <= Math.min(width - 1, left + 1); x += 1) mask[y * width + x] = own;
    found = true;
  }
  return found;
}

/** What a mask holds of an element that is marked. */
const inkOf = ({ when }: Marked, value: number): number => 2 + (when === null ? 0 : Math.floor(when(value) * (STEPS - 1)));

function maskOf(mask: Uint16Array, width: number, height: number, geometry: Geometry, panel: Panel, marked: Marked): boolean {
  const { model, view, room } = geometry;
  const sums = separables(model, marked.blocks);
  const at = (pixel: number, from: number, cell: number, first: number): number =>
    first + ((pixel + 0.5) / room.ratio - from) / cell;
  const [x0, x1] = [
    Math.max(0, Math.round(panel.x * room.ratio)),
    Math.min(width, Math.round((panel.x + panel.width) * room.ratio)),
  ];
  const [y0, y1] = [
    Math.max(0, Math.round(panel.y * room.ratio)),
    Math.min(height, Math.round((panel.y + panel.height) * room.ratio)),
  ];
  const size = model.linear.dims[model.across.place]?.size ?? 0;
  const columns = Int32Array.from({ length: Math.max(0, x1 - x0) }, (_, x) =>
    Math.floor(at(x0 + x, panel.x, view.width, view.left)),
  );
  // One sum for each field that is shown: cells are split into fields from top to bottom.
  const right = panel.fields.map((field) => Float64Array.from(columns, (column) => valueAt(sums[field]?.across ?? [], column)));
  let found = false;
  for (let y = y0; y < y1; y += 1) {
    const place = at(y, panel.y, view.height, view.top);
    const row = Math.floor(place);
    if (row < 0 || row >= model.down.size) continue;
    const part = Math.min(panel.fields.length - 1, Math.floor((place - row) * panel.fields.length));
    const sum = sums[panel.fields[part] ?? 0];
    const below = (sum?.rest ?? 0) + valueAt(sum?.down ?? [], row);
    const values = right[part];
    if (values === undefined) continue;
    // Rows of one dimension need not hold whole blocks of chunks.
    const wrapped = model.wrap > 0 ? marked.blocks.weights(model.across.dim, panel.fields[part] ?? 0) : null;
    const base = marked.blocks.base(panel.fields[part] ?? 0);
    for (let x = 0; x < columns.length; x += 1) {
      const column = columns[x] ?? -1;
      if (column < 0 || column >= model.across.size || (model.wrap > 0 && row * model.wrap + column >= size)) continue;
      const block = wrapped === null ? below + (values[x] ?? 0) : base + valueAt(wrapped, row * model.wrap + column);
      const inside = marked.has(block);
      mask[y * width + x0 + x] = inside ? inkOf(marked, block) : 1;
      found ||= inside;
    }
  }
  return found;
}

/** The veil over what is not marked, and the line at the edge of what is; without a line (0), what is marked has its colour in time. */
function painted(mask: Uint16Array, width: number, height: number, ink: Ink, line: number): HTMLCanvasElement | null {
  const [veil, edge] = [layer(width, height), layer(width, height)];
  if (veil === null || edge === null) return null;
  const [under, over] = [veil.createImageData(width, height), edge.createImageData(width, height)];
  const timed = new Uint32Array(over.data.buffer);
  const scale = offsetScale(ink.dark);
  for (let y = 0, place = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1, place += 1) {
      const kind = mask[place] ?? 0;
      if (kind === 1) under.data[4 * place + 3] = Math.round(255 * VEIL);
      else if (kind > 1 && line === 0) timed[place] = scale[kind - 2] ?? 0;
      else if (kind > 1) {
        const whole =
          x >= line &&
          mask[place - line] === kind &&
          x + line < width &&
          mask[place + line] === kind &&
          y >= line &&
          mask[place - line * width] === kind &&
          y + line < height &&
          mask[place + line * width] === kind;
        if (!whole) over.data[4 * place + 3] = 255;
      }
    }
  for (const [pen, image, colour] of [
    [veil, under, ink.paper],
    [edge, over, line === 0 ? null : ink.accent],
  ] as const) {
    pen.putImageData(image, 0, 0);
    if (colour === null) continue;
    pen.globalCompositeOperation = "source-in";
    pen.fillStyle = colour;
    pen.fillRect(0, 0, width, height);
    pen.globalCompositeOperation = "source-over";
  }
  veil.drawImage(edge.canvas, 0, 0);
  return veil.canvas;
}

function layer(width: number, height: number): CanvasRenderingContext2D | null {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, width);
  canvas.height = Math.max(1, height);
  return canvas.getContext("2d");
}

/** What is marked on the tape: a band in the strip, frames in the magnified part, a veil over the rest. What is small is a needle. */
export function drawTapeMarked(
  context: CanvasRenderingContext2D,
  tape: TapeGeometry,
  byField: boolean,
  marked: Marked,
  ink: Ink,
): void {
  const { linear, width } = tape;
  const rows = rowsOf(tape, byField);
  const bytes = linear.nbytes / width;
  const index = linear.dims.map(() => 0);
  const inside = new Uint16Array(Math.ceil(width)); // 0: nothing that is marked, else as in a mask
  const inkAt = (at: readonly number[], field: number): number => inkOf(marked, marked.blocks.value(at, field));
  for (let x = 0; x < inside.length; x += 1)
    for (let sample = 0; sample < SAMPLES && inside[x] === 0; sample += 1) {
      const field = linear.fieldAt(Math.min(linear.nbytes - 1, Math.floor((x + (sample + 0.5) / SAMPLES) * bytes)), index);
      if (field >= 0 && isInside(marked, index, field)) inside[x] = inkAt(index, field);
    }
  for (const entry of marked.entries) {
    const needle = Math.floor(linear.offset(entry.index, entry.field) / bytes);
    if (needle < inside.length) inside[needle] ||= inkAt(entry.index, entry.field);
  }
  const high = rows.strip.high + rows.band.high;
  const above = rows.band.high > 0 ? Math.min(rows.strip.top, rows.band.top) : rows.strip.top;
  const scale = offsetScale(ink.dark);
  const colour = (kind: number): string => (marked.when === null ? ink.accent : cssOf(scale[kind - 2] ?? 0));
  for (let x = 0; x < inside.length; x += 1) {
    const kind = inside[x] ?? 0;
    context.globalAlpha = kind > 0 ? 1 : VEIL;
    context.fillStyle = kind > 0 ? colour(kind) : ink.paper;
    if (kind === 0 || marked.when !== null) context.fillRect(x, above, 1, high);
    else for (const y of [above, above + high - LINE]) context.fillRect(x, y, 1, LINE);
  }
  const window = windowOf(tape);
  const { top } = rows.window;
  for (const element of elementsIn(linear, window.first, window.last, 2048)) {
    const begin = linear.offset(element.index, element.field);
    const left = (begin - window.first) * window.scale;
    const wide = (linear.fields[element.field]?.size ?? 1) * window.scale;
    const own = isInside(marked, element.index, element.field);
    context.globalAlpha = own ? 1 : VEIL;
    context.fillStyle = own ? colour(inkAt(element.index, element.field)) : ink.paper;
    if (!own) context.fillRect(left, top, wide, rows.window.high);
    else for (const y of [top - LINE / 2, top + rows.window.high - LINE]) context.fillRect(left, y, wide, LINE);
  }
  context.globalAlpha = 1;
}
