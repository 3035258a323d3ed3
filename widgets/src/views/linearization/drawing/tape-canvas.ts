// The memory tape: all of memory as a strip, and below it a few cache lines of it, magnified.
//
// A pixel of the strip shows the mean of five samples of its bytes; where they differ in kind (fields, cache lines, chunks) it shows
// the mixture, and padding takes its share of the height. The band of fields is exact: it is divided by the share of each field.
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import { formatCount } from "#model/units.ts";
import { elementsIn, fieldShares } from "#views/linearization/geometry/order.ts";
import { CACHE_LINE } from "#views/linearization/options.ts";
import { cssOf, fieldColour, inkOn, packed, unpacked } from "#views/memory/scales.ts";
import { type Colouring, colourOf, elementColour } from "./colouring.ts";
import { shortened } from "./grid-canvas.ts";
import { hatching, type Ink, strokeTwice } from "./ink.ts";

const SAMPLES = 5;

export interface TapeGeometry {
  readonly linear: Linearization;
  readonly width: number;
  readonly ratio: number;
  /** The magnified part of memory. */
  readonly firstLine: number;
  readonly lines: number;
  /** The height of letters. */
  readonly size: number;
  /** Which side the strip is on; the magnified part is on the other one, without names of its lines where two tapes face each other. */
  readonly strip: StripSide;
}

/** "alone": the strip is above, and cache lines are named. Of two tapes that face each other, the strips are inside. */
export type StripSide = "alone" | "above" | "below";

/** A row: its upper edge and its height, in CSS pixels. */
export interface TapeRow {
  readonly top: number;
  readonly high: number;
}

export interface TapeRows {
  readonly strip: TapeRow;
  readonly band: TapeRow;
  readonly lens: TapeRow;
  readonly labels: TapeRow;
  readonly window: TapeRow;
  readonly all: number;
}

export function tapeRows(fields: number, byField: boolean, size = 12, side: StripSide = "alone"): TapeRows {
  const alone = side === "alone";
  const heights = {
    strip: alone ? size + 2 : size,
    band: fields > 1 && !byField ? (alone ? 9 : 6) : 0,
    lens: alone ? 9 : 6,
    labels: alone ? size + 4 : 0,
    window: alone ? size + 14 : size + 8,
  };
  const order = ["strip", "band", "lens", "labels", "window"] as const;
  let all = side === "below" ? 1 : 0;
  const rows = {} as Record<(typeof order)[number], TapeRow>;
  for (const name of side === "below" ? [...order].reverse() : order) {
    rows[name] = { top: all, high: heights[name] };
    all += heights[name];
  }
  return { ...rows, all: side === "below" ? all : all + (alone ? 2 : 1) };
}

/** The rows of a tape. */
export function rowsOf(tape: TapeGeometry, byField: boolean): TapeRows {
  return tapeRows(tape.linear.fields.length, byField, tape.size, tape.strip);
}

/** How many cache lines fit, with elements that can be told apart. */
export function linesThatFit(linear: Linearization, width: number): number {
  const least = Math.min(...linear.fields.map((field) => field.size));
  const inLine = Math.max(1, CACHE_LINE / least);
  const fit = Math.floor(width / Math.max(150, inLine * 14));
  return Math.max(1, Math.min(6, Math.max(2, fit), Math.ceil(linear.nbytes / CACHE_LINE)));
}

/** The first line of the window: moved as little as needed for a byte to be in it, and its neighbours with it. */
export function windowFrom(before: number, byte: number, lines: number, nbytes: number): number {
  const line = Math.floor(byte / CACHE_LINE);
  const last = Math.max(0, Math.ceil(nbytes / CACHE_LINE) - lines);
  if (line >= before && line < before + lines) return Math.max(0, Math.min(before, last));
  return Math.max(0, Math.min(last, line - Math.floor((lines - 1) / 2)));
}

/** `paint` gives the colour of each entry in the place of `colours`, where it is there. */
export function drawTape(
  context: CanvasRenderingContext2D,
  tape: TapeGeometry,
  colours: Colouring,
  paint: EntryPaint,
  ink: Ink,
): void {
  const { ratio } = tape;
  const rows = rowsOf(tape, colours.by === "field");
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  drawStrip(context, tape, colours, paint, rows, ink);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawBoundaries(context, tape, rows, ink);
  drawLens(context, tape, rows, ink);
  drawWindow(context, tape, colours, paint, rows, ink);
}

type EntryPaint = ((index: readonly number[], field: number) => number) | null;

function drawStrip(
  context: CanvasRenderingContext2D,
  tape: TapeGeometry,
  colours: Colouring,
  paint: EntryPaint,
  rows: TapeRows,
  ink: Ink,
): void {
  const { linear, width, ratio } = tape;
  const pixels = Math.round(width * ratio);
  const top = Math.round(rows.strip.top * ratio);
  const height = Math.round(rows.strip.high * ratio);
  const [bandTop, band] = [Math.round(rows.band.top * ratio), Math.round(rows.band.high * ratio)];
  const bytes = linear.nbytes / pixels;
  const index = linear.dims.map(() => 0);
  const padded = linear.payload < linear.nbytes;
  context.fillStyle = hatching(context, ink.hatch, ratio);
  if (padded) context.fillRect(0, top, pixels, height);
  // Stripes of fields that are finer than pixels are shown as what they are on the whole.
  const turn = linear.innerCount * linear.entryBytes;
  const shares = (from: number): number[] =>
    turn < 6 * ratio * bytes ? linear.fields.map((field) => field.size) : fieldShares(linear, from, from + bytes);
  for (let x = 0; x < pixels; x += 1) {
    const from = x * bytes;
    if (colours.by === "field") stack(context, linear, shares(from), x, top, height);
    else {
      let [low, high, sum, found] = [Infinity, -Infinity, 0, 0];
      const mixed: [number, number, number] = [0, 0, 0];
      const samples = colours.by === "offset" && paint === null && !padded ? 0 : SAMPLES;
      for (let sample = 0; sample < samples; sample += 1) {
        const byte = Math.floor(from + (bytes * (sample + 0.5)) / SAMPLES);
        const field = linear.fieldAt(byte, index);
        if (field < 0) continue;
        if (paint !== null) {
          unpacked(paint(index, field)).forEach((part, place) => {
            mixed[place] = (mixed[place] ?? 0) + part;
          });
          found += 1;
          continue;
        }
        const value = colours.by === "offset" ? byte : colours.value(index, field);
        [low, high, sum, found] = [Math.min(low, value), Math.max(high, value), sum + value, found + 1];
      }
      if (samples === 0) [low, high, sum, found] = [from, from + bytes, from + bytes / 2, 1];
      if (found === 0) continue;
      context.fillStyle = cssOf(
        paint === null
          ? colourOf(colours, sum / found, low, high)
          : packed([mixed[0] / found, mixed[1] / found, mixed[2] / found]),
      );
      context.fillRect(x, top, 1, samples === 0 ? height : Math.round((height * found) / samples));
    }
    if (band > 0) stack(context, linear, shares(from), x, bandTop + (tape.strip === "below" ? 0 : 1), band - 1);
  }
}

/** A column of pixels, divided by shares. */
function stack(
  context: CanvasRenderingContext2D,
  linear: Linearization,
  shares: readonly number[],
  x: number,
  y: number,
  height: number,
): void {
  const whole = shares.reduce((sum, share) => sum + share, 0);
  let before = 0;
  shares.forEach((share, field) => {
    if (share <= 0) return;
    const top = Math.round((height * before) / whole);
    before += share;
    context.fillStyle = fieldColour(field, linear.fields[field]?.name);
    context.fillRect(x, y + top, 1, Math.round((height * before) / whole) - top);
  });
}

/** Gaps between elements in the strip, where they are wide enough. */
function drawBoundaries(context: CanvasRenderingContext2D, tape: TapeGeometry, rows: TapeRows, ink: Ink): void {
  const { linear, width, ratio } = tape;
  const least = Math.min(...linear.fields.map((field) => field.size));
  const scale = width / linear.nbytes;
  if (least * scale < 4) return;
  context.fillStyle = ink.paper;
  for (const element of elementsIn(linear, 0, linear.nbytes, 1000)) {
    const x = Math.round(linear.offset(element.index, element.field) * scale * ratio) / ratio;
    if (x > 0)
      context.fillRect(x - 0.5 / ratio, Math.min(rows.strip.top, rows.band.top), 1 / ratio, rows.strip.high + rows.band.high);
  }
}

/** From the part of the strip to its magnified picture. */
function drawLens(context: CanvasRenderingContext2D, tape: TapeGeometry, rows: TapeRows, ink: Ink): void {
  const { from, to, end } = windowOf(tape);
  const { top, high } = rows.lens;
  const [near, far] = tape.strip === "below" ? [top + high, top] : [top + 1, top + high];
  context.beginPath();
  context.moveTo(from, near);
  context.lineTo(to, near);
  context.lineTo(end, far);
  context.lineTo(0, far);
  context.closePath();
  context.fillStyle = ink.line;
  context.globalAlpha = 0.35;
  context.fill();
  context.globalAlpha = 1;
}

/** Where the magnified part lies in the strip (`from`, `to`), where it ends below (`end`), and its scale. */
export function windowOf(tape: TapeGeometry): {
  from: number;
  to: number;
  end: number;
  scale: number;
  first: number;
  last: number;
} {
  const { linear, width, firstLine, lines } = tape;
  const first = firstLine * CACHE_LINE;
  const last = Math.min(linear.nbytes, first + lines * CACHE_LINE);
  const scale = width / (lines * CACHE_LINE);
  const from = (first / linear.nbytes) * width;
  return { from, to: Math.max(from + 1, (last / linear.nbytes) * width), end: (last - first) * scale, scale, first, last };
}

function drawWindow(
  context: CanvasRenderingContext2D,
  tape: TapeGeometry,
  colours: Colouring,
  paint: EntryPaint,
  rows: TapeRows,
  ink: Ink,
): void {
  const { linear, ratio, firstLine, lines } = tape;
  const { scale, first, last, end } = windowOf(tape);
  const { top, high } = rows.window;
  const several = linear.fields.length > 1;
  if (linear.payload < linear.nbytes) {
    context.fillStyle = hatching(context, ink.hatch, ratio);
    context.fillRect(0, top, end, high);
  }
  context.font = `${ink.size}px ${ink.font}`;
  context.textBaseline = "middle";
  context.textAlign = "center";
  const edge = (byte: number): number => Math.round((byte - first) * scale * ratio) / ratio;
  for (const element of elementsIn(linear, first, last, 2048)) {
    const begin = linear.offset(element.index, element.field);
    const size = linear.fields[element.field]?.size ?? 1;
    const [left, right] = [Math.max(0, edge(begin)), Math.min(end, edge(begin + size))];
    const colour = paint?.(element.index, element.field) ?? elementColour(colours, element.index, element.field);
    const gap = right - left > 4 ? 1 : 0;
    context.fillStyle = ink.paper; // no hatching between elements
    context.fillRect(left, top, right - left, high);
    context.fillStyle = cssOf(colour);
    context.fillRect(left, top, right - left - gap, high);
    if (several && colours.by !== "field") {
      context.fillStyle = fieldColour(element.field, linear.fields[element.field]?.name);
      context.fillRect(left, top + high - 5, right - left - gap, 5);
    }
    // Not the rounded width: of cells that are alike, all have a text or none.
    const text = windowText(context, linear, element, (Math.min(last, begin + size) - Math.max(first, begin)) * scale - 4);
    if (text === "") continue;
    context.fillStyle = inkOn(colour);
    context.fillText(text, (left + right - gap) / 2, top + (several && colours.by !== "field" ? (high - 5) / 2 : high / 2) + 1);
  }
  context.textAlign = "left";
  for (let line = firstLine; line < firstLine + lines; line += 1) {
    if (line * CACHE_LINE >= linear.nbytes) break;
    const x = edge(line * CACHE_LINE);
    context.fillStyle = ink.muted;
    const named = rows.labels.high > 0;
    const from = named ? rows.labels.top + 3 : top;
    context.fillRect(Math.max(0, x - 1), from, 1.5, top + high - from);
    if (named)
      context.fillText(
        shortened(context, `line ${formatCount(line)}`, CACHE_LINE * scale - 8),
        x + 5,
        rows.labels.top + rows.labels.high / 2 + 1,
      );
  }
}

/** What is written on a magnified element: field and index, or one of them, or nothing. */
function windowText(context: CanvasRenderingContext2D, linear: Linearization, element: Entry, width: number): string {
  if (width < 8) return "";
  const field = linear.fields.length > 1 ? (linear.fields[element.field]?.name ?? "") : "";
  const index = element.index.join(",");
  const both = field === "" ? index : `${field} ${index}`;
  return [both, field].find((text) => text !== "" && context.measureText(text).width <= width) ?? "";
}

/** Where an entry lies in the strip. */
export function placeInStrip({ linear, width }: Pick<TapeGeometry, "linear" | "width">, entry: Entry): number {
  const size = linear.fields[entry.field]?.size ?? 1;
  return ((linear.offset(entry.index, entry.field) + size / 2) / linear.nbytes) * width;
}

/** An entry that is marked, or bytes: where they begin, and how many. */
export type TapeMark = { readonly colour: string; readonly rim: string } & (
  | { readonly entry: Entry }
  | { readonly bytes: readonly [begin: number, size: number] }
);

/** Marks of entries: in the strip a needle, in the window a frame. `below` draws what they lie on. */
export function drawTapeMarks(
  context: CanvasRenderingContext2D,
  tape: TapeGeometry,
  byField: boolean,
  marks: readonly TapeMark[],
  below: ((context: CanvasRenderingContext2D) => void) | null = null,
): void {
  const { linear, width, ratio } = tape;
  const rows = rowsOf(tape, byField);
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  below?.(context);
  const { scale, first, last } = windowOf(tape);
  const { top } = rows.window;
  const above = Math.min(rows.strip.top, rows.band.high > 0 ? rows.band.top : rows.strip.top);
  for (const mark of marks) {
    const { colour, rim } = mark;
    const [begin, size] =
      "bytes" in mark
        ? mark.bytes
        : [linear.offset(mark.entry.index, mark.entry.field), linear.fields[mark.entry.field]?.size ?? 1];
    const path = new Path2D();
    const wide = Math.max(3, (size / linear.nbytes) * width);
    const left = Math.min(width - wide, Math.max(0, (begin / linear.nbytes) * width - (wide > 3 ? 0 : 1)));
    path.rect(left + 0.75, above + 0.75, Math.max(1.5, wide - 1.5), rows.strip.high + rows.band.high - 1.5);
    if (begin >= first && begin < last)
      path.rect((begin - first) * scale + 1, top + 1, Math.max(2, size * scale - 3), rows.window.high - 2);
    strokeTwice(context, path, colour, rim, 1.75);
  }
}

/** The byte at a point of the tape; null beside it. */
export function byteAt(tape: TapeGeometry, byField: boolean, x: number, y: number): number | null {
  const { linear, width } = tape;
  const rows = rowsOf(tape, byField);
  if (x < 0 || x >= width) return null;
  const middle = rows.lens.top + rows.lens.high / 2;
  if (tape.strip === "below" ? y > middle : y < middle)
    return Math.min(linear.nbytes - 1, Math.floor((x / width) * linear.nbytes));
  const { first, last, scale } = windowOf(tape);
  const byte = first + Math.floor(x / scale);
  return byte < last ? byte : null;
}
