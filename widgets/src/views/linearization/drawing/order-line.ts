// The order of memory as a line through the cells. Where numbers stand in the cells, it keeps to lanes beside them: along the left and
// the lower edge of a cell, and jumps go through the gaps between cells. Without numbers it goes from middle to middle.
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import { elementAt } from "#views/linearization/geometry/model.ts";
import { nextElement } from "#views/linearization/geometry/order.ts";
import { type Geometry, placeOf, type Rect, rectOf, visible } from "#views/linearization/geometry/scene.ts";
import { type Ink, strokeTwice } from "./ink.ts";

/** The lanes of a cell: pixels from its left and its lower edge. Numbers begin right of and end above them. */
export function lanesOf(width: number, height: number): { left: number; bottom: number } {
  return { left: width >= 60 ? 8 : 5, bottom: Math.max(4, Math.min(9, Math.floor((height - 14) / 2))) };
}

/** Cells (or their parts) smaller than this have no order line. */
export const LEAST = 10;

/** More segments than this are a grey web. */
const MOST = 6000;

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A piece of the line. Jumps lead to a cell that is no neighbour. */
export interface Segment {
  readonly points: readonly Point[];
  readonly jump: boolean;
}

type Place = NonNullable<ReturnType<typeof placeOf>>;

/** Whether all fields of an entry follow each other: then the line goes from cell to cell, not from field to field. */
export function wholeCells(geometry: Geometry): boolean {
  const { linear } = geometry.model;
  const fields = geometry.panels[0]?.fields.length ?? 1;
  return fields > 1 && fields === linear.fields.length && linear.digits.find((digit) => digit.extent > 1)?.part === "F";
}

/** The place that the line goes through for an element: its own, or its whole cell (in lanes, the lowest part of it). */
export function linePlace(geometry: Geometry, element: Entry, lanes: boolean): Place | null {
  const place = placeOf(geometry, element);
  if (place === null || !wholeCells(geometry)) return place;
  const last = lanes ? (place.panel.fields.at(-1) ?? 0) : null;
  return { ...place, ...rectOf(geometry, place.panel, place.column, place.row, last) };
}

/** Where the line passes through a cell. */
export function knot(rect: Rect, lanes: boolean): Point {
  if (!lanes) return { x: rect.x + rect.width / 2, y: rect.y + rect.height / 2 };
  const { left, bottom } = lanesOf(rect.width, rect.height);
  return { x: rect.x + left, y: rect.y + rect.height - bottom };
}

/** The way from a cell to another. */
export function segment(from: Place, to: Place, lanes: boolean): Segment {
  const [a, b] = [knot(from, lanes), knot(to, lanes)];
  const right = to.column - from.column;
  const down = to.row - from.row;
  const near = from.panel === to.panel && Math.abs(right) + Math.abs(down) <= 1;
  if (!lanes || (near && (right === 0 || a.y === b.y))) return { points: [a, b], jump: !near };
  if (from.panel === to.panel && right === 1 && down === 0) {
    return { points: [a, { x: to.x, y: a.y }, { x: to.x, y: b.y }, b], jump: false };
  }
  // Down (or up) the lane of the cell to the gap between the rows, along it to the gap before the column, and into the cell.
  const cell = from.y + from.height;
  const gap = down < 0 ? Math.min(from.y, cell) : cell;
  return { points: [a, { x: a.x, y: gap }, { x: to.x, y: gap }, { x: to.x, y: b.y }, b], jump: true };
}

/** The pieces of the line that begin in what is seen, and the piece that leads to each end of it. */
export function segmentsIn(geometry: Geometry, linear: Linearization, lanes: boolean): Segment[] {
  const seen = visible(geometry);
  const all = geometry.panels.flatMap((panel) => panel.fields);
  const fields = wholeCells(geometry) ? all.slice(-1) : all;
  if ((seen.right - seen.left) * (seen.bottom - seen.top) * fields.length > MOST) return [];
  const found: Segment[] = [];
  for (let row = seen.top; row < seen.bottom; row += 1)
    for (let column = seen.left; column < seen.right; column += 1)
      for (const field of fields) {
        const element = elementAt(geometry.model, column, row, field);
        const next = element === null ? null : nextShown(geometry, linear, element);
        const from = element === null ? null : linePlace(geometry, element, lanes);
        const to = next === null ? null : linePlace(geometry, next, lanes);
        if (from !== null && to !== null) found.push(segment(from, to, lanes && from.panel === to.panel));
      }
  return found;
}

/** The next element in memory, or, where one field is shown alone, the next one of that field. */
function nextShown(geometry: Geometry, linear: Linearization, element: Entry): Entry | null {
  const panel = geometry.panels.find((each) => each.fields.includes(element.field));
  if (panel === undefined || panel.fields.length === linear.fields.length) return nextElement(linear, element);
  let next = nextElement(linear, element);
  for (let tries = 0; next !== null && next.field !== element.field && tries < linear.fields.length; tries += 1)
    next = nextElement(linear, next);
  return next !== null && next.field === element.field ? next : null;
}

/** A path through points with round corners. */
export function rounded(path: Path2D, points: readonly Point[], radius: number): void {
  const [first] = points;
  if (first === undefined) return;
  path.moveTo(first.x, first.y);
  for (let at = 1; at < points.length - 1; at += 1) {
    const [corner, next] = [points[at], points[at + 1]];
    if (corner !== undefined && next !== undefined) path.arcTo(corner.x, corner.y, next.x, next.y, radius);
  }
  const end = points[points.length - 1];
  if (end !== undefined) path.lineTo(end.x, end.y);
}

export function drawOrderLine(context: CanvasRenderingContext2D, segments: readonly Segment[], ink: Ink): void {
  const steps = new Path2D();
  const jumps = new Path2D();
  for (const { points, jump } of segments) rounded(jump ? jumps : steps, points, 3);
  context.save();
  context.lineCap = "round";
  const [colour, rim] = ["#10161f", "rgba(255,255,255,0.72)"];
  context.globalAlpha = 0.75;
  context.setLineDash([3, 3.5]);
  context.strokeStyle = rim;
  context.lineWidth = 2.6;
  context.setLineDash([]);
  context.globalAlpha = 0.5;
  context.stroke(jumps);
  context.setLineDash([3, 3]);
  context.globalAlpha = 0.85;
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.stroke(jumps);
  context.setLineDash([]);
  context.globalAlpha = ink.dark ? 1 : 0.95;
  strokeTwice(context, steps, colour, rim, 1.5);
  context.restore();
}
