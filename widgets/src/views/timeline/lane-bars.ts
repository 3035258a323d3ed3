// A lane of a timeline on a canvas: every request with its chunk's colour and number, or, from afar, how busy the channel was.

import { above, lengthUpTo, type Segments } from "#model/trace/segments.ts";
import { textOn, toneOf, toneOfTransfer } from "#model/trace/tones.ts";
import type { TraceData } from "#model/trace/trace-data.ts";
import type { Span } from "./span.ts";

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Pixels that a request takes at least for requests to be drawn one by one. */
export const FINE = 2.5;
/** Pixels of a bar that has room for a number. */
const ROOM = 20;
/** Pixels at the bottom of a lane that show who waits. */
const WAITS = 7;
/** More requests in flight than these share the last line. */
const DEEPEST = 8;

/** The requests of a lane that are seen in a span, as places from `from` to `to`. */
export function seen(trace: TraceData, lane: number, span: Span): { from: number; to: number } {
  const { first = 0, count = 0 } = trace.lanes[lane] ?? {};
  return { from: above(trace.reach, span.from, first, first + count), to: above(trace.start, span.to, first, first + count) };
}

/** Whether the requests of a lane are drawn one by one in a span. */
export function isFine(trace: TraceData, lane: number, span: Span, width: number): boolean {
  const { from, to } = seen(trace, lane, span);
  return to - from <= width / FINE;
}

/** The line of a lane that each of its requests has where several are in flight at a time, and how many lines there are. */
export interface Lines {
  readonly depth: number;
  readonly line: Uint8Array;
}

const lines = new WeakMap<TraceData, (Lines | undefined)[]>();

export function linesOf(trace: TraceData, lane: number): Lines {
  let known = lines.get(trace);
  if (known === undefined) lines.set(trace, (known = []));
  return (known[lane] ??= newLines(trace, lane));
}

function newLines(trace: TraceData, lane: number): Lines {
  const { first = 0, count = 0 } = trace.lanes[lane] ?? {};
  const line = new Uint8Array(count);
  const free: number[] = [-Infinity];
  for (let i = 0; i < count; i += 1) {
    const start = trace.start[first + i]!;
    let place = free.findIndex((time) => time <= start);
    if (place < 0) place = Math.min(free.length, DEEPEST - 1);
    free[place] = Math.max(trace.end[first + i]!, place < free.length ? free[place]! : -Infinity);
    line[i] = place;
  }
  return { depth: free.length, line };
}

/** Where a request is drawn in the box of its lane. */
export function barOf(trace: TraceData, request: number, lane: number, span: Span, box: Box): Box {
  const { depth, line } = linesOf(trace, lane);
  const height = barsHeight(trace, box) / depth;
  const scale = box.width / (span.to - span.from);
  const left = Math.max(box.x, box.x + (trace.start[request]! - span.from) * scale);
  const right = Math.min(box.x + box.width, box.x + (trace.end[request]! - span.from) * scale);
  return { x: left, y: box.y + height * line[request - trace.lanes[lane]!.first]!, width: Math.max(0.75, right - left), height };
}

function barsHeight(trace: TraceData, box: Box): number {
  return trace.transfers.length > 1 ? box.height - WAITS : box.height;
}

/** Draws a lane. */
export function drawLane(
  pen: CanvasRenderingContext2D,
  trace: TraceData,
  lane: number,
  span: Span,
  box: Box,
  colour: (variable: string) => string,
): void {
  if (isFine(trace, lane, span, box.width)) drawRequests(pen, trace, lane, span, box, colour);
  else drawBusy(pen, trace, lane, span, box, colour);
  if (trace.transfers.length > 1) drawWaits(pen, trace, lane, span, box, colour);
}

function drawRequests(
  pen: CanvasRenderingContext2D,
  trace: TraceData,
  lane: number,
  span: Span,
  box: Box,
  colour: (variable: string) => string,
): void {
  const { from, to } = seen(trace, lane, span);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (let i = from; i < to; i += 1) {
    if (trace.end[i]! < span.from) continue;
    const { transfer } = trace.hops[trace.row[i]!]!;
    const tone = colour(toneOf(trace, transfer, trace.chunk[i]!));
    const bar = barOf(trace, i, lane, span, box);
    const gap = bar.width > 4 ? 1 : bar.width > 2.5 ? 0.5 : 0;
    pen.fillStyle = tone;
    pen.fillRect(bar.x, bar.y, bar.width - gap, bar.height - (bar.height < box.height - WAITS ? 1 : 0));
    if (bar.width >= ROOM && bar.height >= 13) {
      const number = String(trace.chunk[i]);
      if (number.length * 7.5 + 4 > bar.width) continue;
      pen.fillStyle = textOn(tone);
      pen.fillText(number, bar.x + bar.width / 2, bar.y + bar.height / 2 + 0.5);
    }
  }
  if (linesOf(trace, lane).depth === 1) numberChunks(pen, trace, span, box, colour, from, to);
}

/** Numbers of chunks whose requests are too narrow for them: one over all requests of a chunk that follow each other. */
function numberChunks(
  pen: CanvasRenderingContext2D,
  trace: TraceData,
  span: Span,
  box: Box,
  colour: (variable: string) => string,
  from: number,
  to: number,
): void {
  const scale = box.width / (span.to - span.from);
  for (let i = from; i < to; ) {
    const [row, chunk] = [trace.row[i]!, trace.chunk[i]!];
    let end = i + 1;
    while (end < to && trace.row[end] === row && trace.chunk[end] === chunk) end += 1;
    const hop = trace.hops[row]!;
    const left = Math.max(box.x, box.x + (trace.start[i]! - span.from) * scale);
    const right = Math.min(box.x + box.width, box.x + (trace.end[end - 1]! - span.from) * scale);
    const narrow = (trace.end[i]! - trace.start[i]!) * scale < ROOM;
    const number = String(chunk);
    if (hop.requests > 1 && narrow && right - left >= Math.max(ROOM, number.length * 7.5 + 8)) {
      const tone = colour(toneOf(trace, hop.transfer, chunk));
      const [middle, half] = [(left + right) / 2, number.length * 4 + 3];
      pen.fillStyle = tone;
      pen.fillRect(middle - half, box.y, 2 * half, barsHeight(trace, box));
      pen.fillStyle = textOn(tone);
      pen.fillText(number, middle, box.y + barsHeight(trace, box) / 2 + 0.5);
    }
    i = end;
  }
}

/** From afar: the part of each pixel for which the channel was busy, as a height; transfers stand on each other. */
function drawBusy(
  pen: CanvasRenderingContext2D,
  trace: TraceData,
  lane: number,
  span: Span,
  box: Box,
  colour: (variable: string) => string,
): void {
  const full = barsHeight(trace, box);
  const base = new Float64Array(Math.ceil(box.width));
  for (const { transfer, busy } of trace.tracks[lane] ?? []) {
    const shares = sharesOf(busy, span, base.length);
    pen.fillStyle = colour(toneOfTransfer(trace, transfer));
    pen.beginPath();
    for (let x = 0; x < base.length; x += 1) {
      const share = Math.min(1 - base[x]!, shares[x]!);
      if (share <= 0) continue;
      const height = Math.max(1, share * full);
      pen.rect(box.x + x, box.y + full * (1 - base[x]!) - height, 1, height);
      base[x]! += share;
    }
    pen.fill();
  }
}

/** For each of some pixels of a span, the part of it that segments cover. */
export function sharesOf(segments: Segments, span: Span, pixels: number): Float64Array {
  const found = new Float64Array(pixels);
  const step = (span.to - span.from) / pixels;
  let last = lengthUpTo(segments, span.from);
  for (let x = 0; x < pixels; x += 1) {
    const next = lengthUpTo(segments, span.from + (x + 1) * step);
    found[x] = (next - last) / step;
    last = next;
  }
  return found;
}

/** Who waits: hatched below the bars, in the colour of the transfer that waits. */
function drawWaits(
  pen: CanvasRenderingContext2D,
  trace: TraceData,
  lane: number,
  span: Span,
  box: Box,
  colour: (variable: string) => string,
): void {
  const pixels = Math.ceil(box.width);
  for (const { transfer, waiting } of trace.tracks[lane] ?? []) {
    if (waiting.from.length === 0) continue;
    const shares = sharesOf(waiting, span, pixels);
    pen.save();
    pen.beginPath();
    for (let x = 0; x < pixels; x += 1) if (shares[x]! > 0.25) pen.rect(box.x + x, box.y + box.height - WAITS + 1, 1, WAITS - 1);
    pen.clip();
    pen.strokeStyle = colour(toneOfTransfer(trace, transfer));
    pen.lineWidth = 1.4;
    pen.beginPath();
    for (let x = -WAITS; x < pixels; x += 5) {
      pen.moveTo(box.x + x, box.y + box.height);
      pen.lineTo(box.x + x + WAITS, box.y + box.height - WAITS);
    }
    pen.stroke();
    pen.restore();
  }
}
