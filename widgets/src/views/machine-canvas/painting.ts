// The lines of the drawing, painted: one canvas for those at rest, one above it for those that move or are pointed at.

import { boxOnScreen, freeBox, isOnSheet, onScreen, type Placement, paintText, type Sheet, textBox } from "#lib/board.ts";
import { along, around, border, boxAround, type Curve, type Point, type Rect } from "#lib/geometry.ts";
import { type Bundle, countWords, type Edge } from "./scene.ts";

/** What a line is besides a channel; the later of these are drawn above the earlier. */
export type Mark = "plain" | "candidate" | "path" | "selected";

export interface Lit {
  readonly edge: Edge;
  readonly mark: Exclude<Mark, "plain">;
  /** The variable of the style sheet that has its colour. */
  readonly stroke: string;
}

function trace(path: Path2D, curve: Curve, at: Placement): void {
  const [a, b, c, d] = [onScreen(curve.from, at), onScreen(curve.first, at), onScreen(curve.second, at), onScreen(curve.to, at)];
  path.moveTo(a.x, a.y);
  path.bezierCurveTo(b.x, b.y, c.x, c.y, d.x, d.y);
}

function arrow(path: Path2D, curve: Curve, at: Placement, width: number, least = 0.5): void {
  const tip = onScreen(curve.to, at);
  const behind = onScreen(along(curve, 0.9), at);
  const length = Math.hypot(tip.x - behind.x, tip.y - behind.y) || 1;
  const [ux, uy] = [(tip.x - behind.x) / length, (tip.y - behind.y) / length];
  // Of a short line, the head takes no more than its share.
  const size = Math.min(Math.min(4.5 + 1.5 * width, 13) * Math.min(1, Math.max(least, at.scale)), 4.5 * length);
  path.moveTo(tip.x, tip.y);
  path.lineTo(tip.x - ux * size - uy * size * 0.5, tip.y - uy * size + ux * size * 0.5);
  path.lineTo(tip.x - ux * size + uy * size * 0.5, tip.y - uy * size - ux * size * 0.5);
  path.closePath();
}

/** Lines at rest: those of one width are one stroke. `strength` is how opaque they are, from 0 to 1. */
export function paintEdges(sheet: Sheet, edges: Iterable<Edge>, stroke: string, strength = 1): void {
  const { context, at } = sheet;
  const lines = new Map<number, Path2D>();
  const heads = new Path2D();
  for (const edge of edges) {
    if (!isOnSheet(boxOnScreen(around(edge.curve), at), sheet)) continue;
    const rounded = Math.round(edge.width * 2) / 2;
    let path = lines.get(rounded);
    if (path === undefined) lines.set(rounded, (path = new Path2D()));
    trace(path, edge.curve, at);
    if (at.scale > 0.3) arrow(heads, edge.curve, at, edge.width);
  }
  context.strokeStyle = context.fillStyle = sheet.colour(stroke);
  context.globalAlpha = strength;
  const thin = Math.min(1, Math.max(0.45, at.scale));
  for (const [thick, path] of lines) {
    context.lineWidth = thick * thin;
    context.stroke(path);
  }
  context.fill(heads);
  context.globalAlpha = 1;
}

/** Bundles that are drawn with their arrows and numbers; of more, only the lines can be told apart. */
const MOST_NUMBERED = 30;

/** Pixels between two nodes that have room for a number. */
const ROOM = 110;

/** One line for all channels from node to node; with their number where there are few, unless the memories in the nodes are shown. */
export function paintBundles(sheet: Sheet, bundles: readonly Bundle[], numbered: boolean): void {
  const { at } = sheet;
  const few = bundles.length <= MOST_NUMBERED;
  for (const bundle of bundles) {
    const strength = few ? 1 : Math.max(0.12, 60 / bundles.length);
    paintBundle(sheet, bundle, "--iv-strong-line", few ? Math.min(6, bundle.width * 0.6) : 1, strength, few);
    const { curve } = bundle;
    const [from, to] = [onScreen(curve.from, at), onScreen(curve.to, at)];
    if (!few || !numbered || Math.hypot(to.x - from.x, to.y - from.y) <= ROOM) continue;
    const text = countWords(bundle);
    paintText(sheet, text, textBox(sheet, text, onScreen(along(curve, 0.5), at)));
  }
}

/** The line of a bundle, with an arrow in each direction that it has channels in. */
export function paintBundle(
  { context, at, colour }: Sheet,
  { curve, both }: Bundle,
  stroke: string,
  width: number,
  strength = 1,
  heads = true,
): void {
  const [line, head] = [new Path2D(), new Path2D()];
  trace(line, curve, at);
  arrow(head, curve, at, 3, 0.7);
  if (both) arrow(head, { from: curve.to, first: curve.second, second: curve.first, to: curve.from }, at, 3, 0.7);
  context.strokeStyle = context.fillStyle = colour(stroke);
  context.lineWidth = width;
  context.globalAlpha = strength;
  context.stroke(line);
  if (heads) context.fill(head);
  context.globalAlpha = 1;
}

/** A line that is lit: on the path, a candidate's, or the one that is selected. */
export function paintLit({ context, at, colour }: Sheet, { edge, mark, stroke }: Lit, curve: Curve): void {
  const [line, head] = [new Path2D(), new Path2D()];
  trace(line, curve, at);
  arrow(head, curve, at, Math.max(edge.width, 3), 1);
  context.save();
  context.lineCap = "round";
  if (mark === "candidate") {
    context.globalAlpha = 0.7;
    context.setLineDash([6, 5]);
  } else {
    context.strokeStyle = colour("--iv-paper");
    context.lineWidth = edge.width + 5;
    context.stroke(line);
  }
  context.strokeStyle = context.fillStyle = colour(stroke);
  context.lineWidth = Math.max(2.5, edge.width) + (mark === "selected" ? 1 : 0);
  context.stroke(line);
  context.setLineDash([]);
  context.fill(head);
  context.restore();
}

/** The line that is being drawn from a memory to the pointer. */
export function paintRubber({ context, at, colour }: Sheet, from: Rect, to: Point): void {
  const start = onScreen(border(from, to), at);
  const end = onScreen(to, at);
  context.strokeStyle = colour("--iv-accent");
  context.lineWidth = 2.5;
  context.setLineDash([7, 5]);
  context.beginPath();
  context.moveTo(start.x, start.y);
  context.lineTo(end.x, end.y);
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = colour("--iv-accent");
  context.beginPath();
  context.arc(end.x, end.y, 4, 0, 7);
  context.fill();
}

/** A chunk under way on its hop: a bead in the colour of a variable, as far along as its share says. */
export function paintBead({ context, at, colour }: Sheet, curve: Curve, share: number, fill: string): void {
  const { x, y } = onScreen(along(curve, share), at);
  context.fillStyle = colour(fill);
  context.strokeStyle = colour("--iv-paper");
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x, y, 6.5, 0, 7);
  context.fill();
  context.stroke();
}

/** A text on a line (0 pixels aside) or beside it, on nothing that is taken, if there is such a place; it is taken then. */
export function labelBeside(sheet: Sheet, text: string, curve: Curve, taken: Rect[], asides = [15, 30, 48]): void {
  const box = freeBox(sheet, placesBeside(sheet, text, curve, asides), taken);
  if (box !== null) paintText(sheet, text, box);
}

/** Where a text may stand along a line: above or below a flat one, at the sides of a steep one. */
function* placesBeside(sheet: Sheet, text: string, curve: Curve, asides: readonly number[]): Iterable<Rect> {
  const { width, height } = textBox(sheet, text, curve.from);
  for (const aside of asides) {
    for (const share of [0.5, 0.38, 0.62, 0.25, 0.75]) {
      const [here, next] = [onScreen(along(curve, share), sheet.at), onScreen(along(curve, share + 0.05), sheet.at)];
      const flat = Math.abs(next.x - here.x) >= Math.abs(next.y - here.y);
      const shift = flat || aside === 0 ? { x: 0, y: aside } : { x: width / 2 + aside - 9, y: 0 };
      for (const side of [-1, 1]) yield boxAround({ x: here.x + side * shift.x, y: here.y + side * shift.y }, width, height);
    }
  }
}
