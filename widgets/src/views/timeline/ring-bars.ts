// A buffer of a timeline on a canvas: each slot with the chunk that it holds, or, from afar, how many slots were in use.
import { fillOf, freedAt, meanLevel } from "#model/trace/chunks-at.ts";
import { above } from "#model/trace/segments.ts";
import { toneOf, toneOfTransfer } from "#model/trace/tones.ts";
import type { TraceData } from "#model/trace/trace-data.ts";
import { type Box, FINE } from "./lane-bars.ts";
import type { Span } from "./span.ts";

/** Slots that are drawn one by one. */
const MOST = 4;

/** The chunks that a buffer holds at some time of a span, from `from` to `to`. */
function held(trace: TraceData, ring: number, span: Span): { from: number; to: number } {
  const { begun } = trace.times[trace.rings[ring]!.row]!;
  const to = above(begun, span.to);
  let [low, high] = [0, to];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (freedAt(trace, ring, middle) <= span.from) low = middle + 1;
    else high = middle;
  }
  return { from: low, to };
}

/** Draws a buffer. */
export function drawRing(
  pen: CanvasRenderingContext2D,
  trace: TraceData,
  ring: number,
  span: Span,
  box: Box,
  colour: (variable: string) => string,
): void {
  const { slots, row } = trace.rings[ring]!;
  const { from, to } = held(trace, ring, span);
  if (slots <= MOST && to - from <= box.width / FINE) {
    const { transfer, requests } = trace.hops[row]!;
    const [write, read] = [trace.times[row]!, trace.times[row + 1]!];
    const scale = box.width / (span.to - span.from);
    const x = (time: number): number => box.x + Math.max(0, Math.min(box.width, (time - span.from) * scale));
    const height = box.height / slots;
    for (let chunk = from; chunk < to; chunk += 1) {
      const [begin, end] = [x(write.begun[chunk]!), x(freedAt(trace, ring, chunk))];
      const y = box.y + (chunk % slots) * height;
      pen.fillStyle = colour(toneOf(trace, transfer, chunk));
      // Pale while the chunk is being written or read, whole while it lies there.
      pen.globalAlpha = 0.45;
      pen.fillRect(begin, y, Math.max(0.75, end - begin - 0.5), height - 1);
      pen.globalAlpha = 1;
      const [full, taken] = [write.moved[chunk]! >= requests ? x(write.ended[chunk]!) : end, x(read.begun[chunk] ?? Infinity)];
      if (taken > full) pen.fillRect(full, y, Math.max(0.75, Math.min(taken, end) - full), height - 1);
    }
    return;
  }
  const fill = fillOf(trace, ring);
  const pixels = Math.ceil(box.width);
  const step = (span.to - span.from) / pixels;
  pen.fillStyle = colour(toneOfTransfer(trace, trace.hops[row]!.transfer));
  pen.globalAlpha = 0.7;
  pen.beginPath();
  for (let pixel = 0; pixel < pixels; pixel += 1) {
    const share = meanLevel(fill, span.from + pixel * step, span.from + (pixel + 1) * step) / slots;
    if (share > 1e-9) pen.rect(box.x + pixel, box.y + box.height * (1 - share), 1, box.height * share);
  }
  pen.fill();
  pen.globalAlpha = 1;
}
