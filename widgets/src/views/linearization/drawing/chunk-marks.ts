// The selected chunk in a grid and on a tape, at any colouring: what else there is lies below a veil, and a line goes round the chunk.
// Chunks may be parts of blocks, in any dimension and in the fields, so each pixel asks which chunk it belongs to.
import type { ChunkNumbers } from "#model/layouts/chunks.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import { elementsIn } from "#views/linearization/geometry/order.ts";
import type { Geometry, Panel } from "#views/linearization/geometry/scene.ts";
import { valueAt } from "#views/linearization/geometry/separable.ts";
import { type Colouring, colouring, separables } from "./colouring.ts";
import type { Ink } from "./ink.ts";
import { type TapeGeometry, tapeRows, windowOf } from "./tape-canvas.ts";

/** A chunk of a layout: the blocks from `from` to before `to`, by the numbers of `blocks`. */
export interface ChosenChunk {
  readonly number: number;
  readonly chunks: ChunkNumbers;
  readonly blocks: Colouring;
  readonly from: number;
  readonly to: number;
}

/** How much of the colour is left below the veil. */
const VEIL = 0.62;
/** Width of the line round the chunk, in CSS pixels. */
const LINE = 2;
const SAMPLES = 9;

/** Null where there is no such chunk, or only one. */
export function chosenChunk(linear: Linearization, chunks: ChunkNumbers | null, number: number | null): ChosenChunk | null {
  if (chunks === null || number === null || chunks.count < 2 || number < 0 || number >= chunks.count) return null;
  const blocks = colouring(linear, { options: { colour: "chunk", digit: null }, palette: [], chunks, dark: false, bytes: 1 });
  const to = number === chunks.count - 1 ? Infinity : (number + 1) * chunks.perChunk;
  return { number, chunks, blocks, from: number * chunks.perChunk, to };
}

export function isInside({ blocks, from, to }: ChosenChunk, index: readonly number[], field: number): boolean {
  const block = blocks.value(index, field);
  return block >= from && block < to;
}

/** The first entry of the first block of a chunk. */
export function firstEntry({ chunks, blocks, from }: ChosenChunk): Entry {
  const { linear } = blocks;
  const index = linear.dims.map(() => 0);
  let [rest, field] = [from, 0];
  for (const { dim, extent, step } of chunks.digits) {
    const digit = rest % extent;
    rest = Math.floor(rest / extent);
    const place = linear.dims.findIndex(({ name }) => name === dim);
    if (place < 0) field = Math.min(linear.fields.length - 1, digit * Math.max(1, step));
    else index[place] = Math.min((linear.dims[place]?.size ?? 1) - 1, (index[place] ?? 0) + digit * step);
  }
  return { index, field };
}

/** What goes over the cells; null where no cell of the chunk is seen, in another slice for example. */
export function gridOverlay(
  geometry: Geometry,
  chunk: ChosenChunk,
  ink: Ink,
  size: { width: number; height: number },
): HTMLCanvasElement | null {
  const { ratio } = geometry.room;
  const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  const mask = new Uint8Array(width * height); // 0: no cell, 1: another chunk, 2: the chunk
  let found = false;
  for (const panel of geometry.panels) found = marked(mask, width, height, geometry, panel, chunk) || found;
  return found ? painted(mask, width, height, ink, Math.max(1, Math.round(LINE * ratio))) : null;
}

function marked(mask: Uint8Array, width: number, height: number, geometry: Geometry, panel: Panel, chunk: ChosenChunk): boolean {
  const { model, view, room } = geometry;
  const sums = separables(model, chunk.blocks);
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
    const wrapped = model.wrap > 0 ? chunk.blocks.weights(model.across.dim, panel.fields[part] ?? 0) : null;
    const base = chunk.blocks.base(panel.fields[part] ?? 0);
    for (let x = 0; x < columns.length; x += 1) {
      const column = columns[x] ?? -1;
      if (column < 0 || column >= model.across.size || (model.wrap > 0 && row * model.wrap + column >= size)) continue;
      const block = wrapped === null ? below + (values[x] ?? 0) : base + valueAt(wrapped, row * model.wrap + column);
      const inside = block >= chunk.from && block < chunk.to;
      mask[y * width + x0 + x] = inside ? 2 : 1;
      found ||= inside;
    }
  }
  return found;
}

/** The veil over what is not the chunk, and the line at the edge of the chunk. */
function painted(mask: Uint8Array, width: number, height: number, ink: Ink, line: number): HTMLCanvasElement | null {
  const [veil, edge] = [layer(width, height), layer(width, height)];
  if (veil === null || edge === null) return null;
  const [under, over] = [veil.createImageData(width, height), edge.createImageData(width, height)];
  for (let y = 0, place = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1, place += 1) {
      const kind = mask[place];
      if (kind === 1) under.data[4 * place + 3] = Math.round(255 * VEIL);
      else if (kind === 2) {
        const whole =
          x >= line &&
          mask[place - line] === 2 &&
          x + line < width &&
          mask[place + line] === 2 &&
          y >= line &&
          mask[place - line * width] === 2 &&
          y + line < height &&
          mask[place + line * width] === 2;
        if (!whole) over.data[4 * place + 3] = 255;
      }
    }
  for (const [pen, image, colour] of [
    [veil, under, ink.paper],
    [edge, over, ink.accent],
  ] as const) {
    pen.putImageData(image, 0, 0);
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

/** The chunk on the tape: a band in the strip, frames in the magnified part, a veil over the rest. A small chunk is a needle. */
export function drawTapeChunk(
  context: CanvasRenderingContext2D,
  tape: TapeGeometry,
  byField: boolean,
  chunk: ChosenChunk,
  ink: Ink,
): void {
  const { linear, width } = tape;
  const rows = tapeRows(linear.fields.length, byField, tape.size);
  const bytes = linear.nbytes / width;
  const index = linear.dims.map(() => 0);
  const inside = new Uint8Array(Math.ceil(width));
  for (let x = 0; x < inside.length; x += 1)
    for (let sample = 0; sample < SAMPLES && inside[x] === 0; sample += 1) {
      const field = linear.fieldAt(Math.min(linear.nbytes - 1, Math.floor((x + (sample + 0.5) / SAMPLES) * bytes)), index);
      if (field >= 0 && isInside(chunk, index, field)) inside[x] = 1;
    }
  const first = firstEntry(chunk);
  const needle = Math.floor(linear.offset(first.index, first.field) / bytes);
  if (needle < inside.length) inside[needle] = 1;
  const high = rows.strip + rows.band;
  for (let x = 0; x < inside.length; x += 1) {
    context.globalAlpha = inside[x] === 1 ? 1 : VEIL;
    context.fillStyle = inside[x] === 1 ? ink.accent : ink.paper;
    if (inside[x] === 0) context.fillRect(x, 0, 1, high);
    else for (const y of [0, high - LINE]) context.fillRect(x, y, 1, LINE);
  }
  const window = windowOf(tape);
  const top = high + rows.lens + rows.labels;
  for (const element of elementsIn(linear, window.first, window.last, 2048)) {
    const begin = linear.offset(element.index, element.field);
    const left = (begin - window.first) * window.scale;
    const wide = (linear.fields[element.field]?.size ?? 1) * window.scale;
    const own = isInside(chunk, element.index, element.field);
    context.globalAlpha = own ? 1 : VEIL;
    context.fillStyle = own ? ink.accent : ink.paper;
    if (!own) context.fillRect(left, top, wide, rows.window);
    else for (const y of [top - LINE / 2, top + rows.window - LINE]) context.fillRect(left, y, wide, LINE);
  }
  context.globalAlpha = 1;
}
