// The canvases of a timeline: the axis, the rows with their labels, and what is marked on them.
import type { Segments } from "#model/trace/segments.ts";
import type { TraceData } from "#model/trace/trace-data.ts";
import { trackColour } from "#model/tracks.ts";
import { formatSeconds } from "#model/units.ts";
import { type Box, barOf, drawLane, isFine, sharesOf } from "./lane-bars.ts";
import { drawRing } from "./ring-bars.ts";
import type { Ends, Row } from "./rows.ts";
import { type Span, ticks, tickText } from "./span.ts";

/** Pixels to the right of the rows. */
export const MARGIN = 12;
export const AXIS = 26;

export interface Pens {
  readonly colour: (variable: string) => string;
  readonly font: string;
}

export interface Scene {
  readonly rows: readonly Row[];
  readonly span: Span;
  readonly width: number;
  readonly height: number;
  /** Pixels to the left of the rows, for their labels. */
  readonly gutter: number;
}

/** The pixels that labels need, as far as there is room for them. */
export function gutterOf(rows: readonly Row[]): number {
  const longest = Math.max(0, ...rows.filter((row) => row.kind !== "title").map((row) => row.label.length));
  return Math.max(104, Math.min(250, 20 + Math.ceil(7.6 * longest)));
}

const inner = (width: number, gutter: number): number => Math.max(1, width - gutter - MARGIN);

/** The box of a row's bars. */
export function boxOf(row: Row, { width, gutter }: Scene): Box {
  return { x: gutter, y: row.y, width: inner(width, gutter), height: row.height };
}

export function xOf(time: number, { span, width, gutter }: Scene): number {
  return gutter + ((time - span.from) / (span.to - span.from)) * inner(width, gutter);
}

export function timeAt(x: number, { span, width, gutter }: Scene): number {
  return span.from + ((x - gutter) / inner(width, gutter)) * (span.to - span.from);
}

/** Draws the axis: a label at round times, and where the selected moment is. */
export function drawAxis(pen: CanvasRenderingContext2D, scene: Scene, time: number | null, { colour, font }: Pens): void {
  const { span, width, gutter } = scene;
  pen.clearRect(0, 0, width, AXIS);
  pen.font = `12px ${font}`;
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  const { times, step } = ticks(span, (width - gutter) / 110);
  for (const each of times) {
    const x = xOf(each, scene);
    const text = tickText(each, step, span);
    const half = pen.measureText(text).width / 2;
    pen.fillStyle = colour("--iv-muted");
    if (x + half <= width) pen.fillText(text, Math.max(gutter + half, x), 9);
    pen.fillStyle = colour("--iv-strong-line");
    pen.fillRect(Math.round(x), AXIS - 7, 1, 7);
  }
  if (time === null || time < span.from || time > span.to) return;
  const x = xOf(time, scene);
  pen.fillStyle = colour("--iv-ink");
  pen.beginPath();
  pen.arc(x, AXIS - 7, 6, 0, 2 * Math.PI);
  pen.fill();
  pen.fillRect(x - 0.75, AXIS - 7, 1.5, 7);
}

/** Draws all rows. */
export function drawRows(
  pen: CanvasRenderingContext2D,
  scene: Scene,
  critical: ReadonlyMap<TraceData, readonly Segments[]>,
  { colour, font }: Pens,
): void {
  const { rows, span, width, height, gutter } = scene;
  pen.clearRect(0, 0, width, height);
  const { times } = ticks(span, (width - gutter) / 110);
  for (const row of rows) {
    const box = boxOf(row, scene);
    label(pen, row, box, colour, font);
    if (row.kind === "title") continue;
    pen.fillStyle = colour("--iv-ground");
    pen.fillRect(box.x, box.y, box.width, box.height);
    // A trace that ends before the others says where.
    const end = xOf(row.trace.seconds, scene);
    if (end < box.x + box.width) {
      pen.fillStyle = colour("--iv-paper");
      pen.fillRect(Math.max(box.x, end), box.y, box.x + box.width - Math.max(box.x, end), box.height);
      pen.fillStyle = colour("--iv-strong-line");
      if (end >= box.x) pen.fillRect(end, box.y, 1, box.height);
    }
    pen.fillStyle = colour("--iv-line");
    for (const each of times) pen.fillRect(Math.round(xOf(each, scene)), box.y, 1, box.height);
    pen.save();
    pen.beginPath();
    pen.rect(box.x, box.y, box.width, box.height);
    pen.clip();
    pen.font = `12px ${font}`;
    if (row.kind === "lane") {
      drawLane(pen, row.trace, row.number, span, box, colour);
      const path = critical.get(row.trace)?.[row.number];
      if (path !== undefined) drawCritical(pen, path, span, box, colour("--iv-slow"));
      if (row.ends !== null) drawDifference(pen, row.ends, scene, box, colour);
    } else drawRing(pen, row.trace, row.number, span, box, colour);
    pen.restore();
  }
}

function label(pen: CanvasRenderingContext2D, row: Row, box: Box, colour: (variable: string) => string, font: string): void {
  pen.textBaseline = "middle";
  if (row.kind === "title") {
    pen.textAlign = "left";
    pen.font = `600 13px ${font}`;
    pen.fillStyle = colour("--iv-ink");
    pen.fillText(row.label, 2, row.y + row.height / 2 + 2);
    const width = pen.measureText(row.label).width;
    pen.font = `13px ${font}`;
    pen.fillStyle = colour("--iv-muted");
    pen.fillText(row.detail, 12 + width, row.y + row.height / 2 + 2);
    return;
  }
  pen.textAlign = "right";
  pen.font = `12px ${font}`;
  pen.fillStyle = colour(row.kind === "lane" ? "--iv-ink" : "--iv-muted");
  pen.fillText(fitting(pen, row.label, box.x - 18), box.x - 8, row.y + row.height / 2 + 0.5);
  if (row.path === null) return;
  pen.fillStyle = colour(trackColour(row.path));
  pen.fillRect(0, row.y + 2, 5, row.height - 4);
}

/** A text that is cut to a width. */
function fitting(pen: CanvasRenderingContext2D, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}

function drawCritical(pen: CanvasRenderingContext2D, path: Segments, span: Span, box: Box, colour: string): void {
  const pixels = Math.ceil(box.width);
  const shares = sharesOf(path, span, pixels);
  pen.fillStyle = colour;
  pen.beginPath();
  for (let x = 0; x < pixels; x += 1) if (shares[x]! > 0.02) pen.rect(box.x + x, box.y + box.height - 4, 1, 4);
  pen.fill();
}

/** "+3.1 ms": how much later something ends; "−3.1 ms" where it is earlier. */
export function laterText({ own, against }: Ends): string {
  return `${own >= against ? "+" : "−"}${formatSeconds(Math.abs(own - against))}`;
}

/** Where a lane is over in the other trace, as a dashed line, and how far that is from where it is over in this one. */
function drawDifference(
  pen: CanvasRenderingContext2D,
  ends: Ends,
  scene: Scene,
  box: Box,
  colour: (variable: string) => string,
): void {
  const [there, own] = [xOf(ends.against, scene), xOf(ends.own, scene)];
  const middle = box.y + box.height / 2;
  const [low, high] = [Math.min(there, own), Math.max(there, own)];
  pen.lineWidth = 4;
  for (const ink of ["--iv-paper", "--iv-ink"]) {
    pen.strokeStyle = colour(ink);
    pen.beginPath();
    pen.moveTo(low, middle);
    pen.lineTo(high, middle);
    pen.stroke();
    pen.setLineDash(ink === "--iv-ink" ? [4, 3] : []);
    pen.beginPath();
    pen.moveTo(there, box.y);
    pen.lineTo(there, box.y + box.height);
    pen.stroke();
    pen.setLineDash([]);
    pen.lineWidth = 1.5;
  }
  const text = laterText(ends);
  const width = pen.measureText(text).width;
  const right = high + 6 + width <= box.x + box.width;
  const x = right ? high + 6 : low - 6 - width;
  pen.fillStyle = colour("--iv-paper");
  pen.fillRect(x - 3, box.y + 2, width + 6, box.height - 4);
  pen.fillStyle = colour("--iv-ink");
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  pen.fillText(text, x, middle + 0.5);
}

/** What is marked on the rows. */
export interface Marks {
  readonly time: number | null;
  readonly chunk: number | null;
  /** The request that is pointed at, in a row. */
  readonly pointed: { readonly row: Row; readonly request: number } | null;
  /** Requests that a step is about, in the first trace. */
  readonly requests: readonly number[];
}

/** Draws the marks, on a canvas of its own: they move more often than what is below. */
export function drawMarks(pen: CanvasRenderingContext2D, scene: Scene, marks: Marks, { colour }: Pens): void {
  const { rows, span, width, height, gutter } = scene;
  pen.clearRect(0, 0, width, height);
  pen.save();
  pen.beginPath();
  pen.rect(gutter, 0, inner(width, gutter) + 1, height);
  pen.clip();
  const outline = (box: Box, dashed = false): void => {
    const [x, y, w, h] = [box.x - 0.5, box.y + 0.5, Math.max(3, box.width), box.height - 1];
    pen.strokeStyle = colour("--iv-paper");
    pen.lineWidth = 4;
    pen.strokeRect(x, y, w, h);
    pen.setLineDash(dashed ? [4, 2] : []);
    pen.strokeStyle = colour("--iv-ink");
    pen.lineWidth = 2;
    pen.strokeRect(x, y, w, h);
    pen.setLineDash([]);
  };
  for (const row of rows) {
    const box = boxOf(row, scene);
    if (row.kind === "lane") {
      if (marks.chunk !== null) for (const found of boxesOf(row, marks.chunk, span, box)) outline(found);
      if (row.of === 0)
        for (const request of marks.requests)
          if (row.trace.hops[row.trace.row[request]!]!.lane === row.number)
            outline(barOf(row.trace, request, row.number, span, box), true);
    }
    if (marks.pointed?.row === row && isFine(row.trace, row.number, span, box.width))
      outline(barOf(row.trace, marks.pointed.request, row.number, span, box));
  }
  if (marks.time !== null) {
    pen.fillStyle = colour("--iv-ink");
    pen.fillRect(xOf(marks.time, scene) - 0.75, 0, 1.5, height);
  }
  pen.restore();
}

/** Where a chunk of the first transfer is in a lane. */
function boxesOf(row: Row, chunk: number, span: Span, box: Box): Box[] {
  const { trace } = row;
  const scale = box.width / (span.to - span.from);
  return trace.hops.flatMap((hop, number) => {
    if (hop.transfer !== 0 || hop.lane !== row.number) return [];
    const [begun, ended] = [trace.times[number]!.begun[chunk] ?? Infinity, trace.times[number]!.ended[chunk] ?? -Infinity];
    if (!(ended > begun) || ended < span.from || begun > span.to) return [];
    const [from, to] = [Math.max(span.from, begun), Math.min(span.to, ended)];
    const height = trace.transfers.length > 1 ? box.height - 7 : box.height;
    return [{ x: box.x + (from - span.from) * scale, y: box.y, width: (to - from) * scale, height }];
  });
}
