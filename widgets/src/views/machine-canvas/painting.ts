// The lines of the drawing, painted: one canvas for those at rest, one above it for those that move or are pointed at.

import { counted } from "#model/units.ts";
import { along, border, boxAround, type Curve, type Point, type Rect } from "./geometry.ts";
import type { Bundle, Edge } from "./scene.ts";

/** How the drawing lies on the screen: `screen = scale × world + (x, y)`. */
export interface Placement {
  scale: number;
  x: number;
  y: number;
}

export interface Colours {
  readonly line: string;
  readonly ink: string;
  readonly accent: string;
  readonly slow: string;
  readonly turn: string;
  readonly paper: string;
  readonly muted: string;
}

/** What a line is besides a channel; the later of these are drawn above the earlier. */
export type Mark = "plain" | "candidate" | "path" | "selected";

export interface Lit {
  readonly edge: Edge;
  readonly mark: Exclude<Mark, "plain">;
  readonly colour: string;
}

export function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  const value = (name: string): string => style.getPropertyValue(name).trim();
  return {
    line: value("--iv-strong-line"),
    ink: value("--iv-ink"),
    accent: value("--iv-accent"),
    slow: value("--iv-slow"),
    turn: value("--iv-turn"),
    paper: value("--iv-paper"),
    muted: value("--iv-muted"),
  };
}

/** Makes a canvas as large as its element on this screen, and clears it. */
export function cleared(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const dense = window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * dense), Math.round(height * dense)];
  if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
  const context = canvas.getContext("2d");
  context?.setTransform(dense, 0, 0, dense, 0, 0);
  context?.clearRect(0, 0, width, height);
  return context;
}

export const FONT = "12px system-ui, sans-serif";

const onScreen = ({ x, y }: Point, at: Placement): Point => ({ x: at.scale * x + at.x, y: at.scale * y + at.y });

/** Whether a line may be seen: the box around its four points meets the screen. */
function visible(curve: Curve, at: Placement, width: number, height: number): boolean {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const point of [curve.from, curve.first, curve.second, curve.to]) {
    const { x, y } = onScreen(point, at);
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  return right >= 0 && bottom >= 0 && left <= width && top <= height;
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
export function paintEdges(
  context: CanvasRenderingContext2D,
  edges: Iterable<Edge>,
  at: Placement,
  width: number,
  height: number,
  colour: string,
  strength = 1,
): void {
  const lines = new Map<number, Path2D>();
  const heads = new Path2D();
  for (const edge of edges) {
    if (!visible(edge.curve, at, width, height)) continue;
    const rounded = Math.round(edge.width * 2) / 2;
    let path = lines.get(rounded);
    if (path === undefined) lines.set(rounded, (path = new Path2D()));
    trace(path, edge.curve, at);
    if (at.scale > 0.3) arrow(heads, edge.curve, at, edge.width);
  }
  context.strokeStyle = context.fillStyle = colour;
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
export function paintBundles(
  context: CanvasRenderingContext2D,
  bundles: readonly Bundle[],
  at: Placement,
  colours: Colours,
  numbered: boolean,
): void {
  const few = bundles.length <= MOST_NUMBERED || bundles.some(({ both }) => both);
  for (const bundle of bundles) {
    const strength = few ? 1 : Math.max(0.12, 60 / bundles.length);
    paintBundle(context, bundle, at, colours.line, few ? Math.min(6, bundle.width * 0.6) : 1, strength, few);
    const { curve, count } = bundle;
    const [from, to] = [onScreen(curve.from, at), onScreen(curve.to, at)];
    if (few && numbered && Math.hypot(to.x - from.x, to.y - from.y) > ROOM)
      label(context, counted(count, "channel"), onScreen(along(curve, 0.5), at), colours);
  }
}

/** The line of a bundle, with an arrow in each direction that it has channels in. */
export function paintBundle(
  context: CanvasRenderingContext2D,
  { curve, both }: Bundle,
  at: Placement,
  colour: string,
  width: number,
  strength = 1,
  heads = true,
): void {
  const [line, head] = [new Path2D(), new Path2D()];
  trace(line, curve, at);
  arrow(head, curve, at, 3, 0.7);
  if (both) arrow(head, { from: curve.to, first: curve.second, second: curve.first, to: curve.from }, at, 3, 0.7);
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = width;
  context.globalAlpha = strength;
  context.stroke(line);
  if (heads) context.fill(head);
  context.globalAlpha = 1;
}

/** A line that is lit: on the path, a candidate's, or the one that is selected. */
export function paintLit(
  context: CanvasRenderingContext2D,
  { edge, mark, colour }: Lit,
  curve: Curve,
  at: Placement,
  colours: Colours,
): void {
  const [line, head] = [new Path2D(), new Path2D()];
  trace(line, curve, at);
  arrow(head, curve, at, Math.max(edge.width, 3), 1);
  context.save();
  context.lineCap = "round";
  if (mark === "candidate") {
    context.globalAlpha = 0.7;
    context.setLineDash([6, 5]);
  } else {
    context.strokeStyle = colours.paper;
    context.lineWidth = edge.width + 5;
    context.stroke(line);
  }
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = Math.max(2.5, edge.width) + (mark === "selected" ? 1 : 0);
  context.stroke(line);
  context.setLineDash([]);
  context.fill(head);
  context.restore();
}

/** A short text on the drawing, readable above its lines. */
function label(context: CanvasRenderingContext2D, text: string, { x, y }: Point, colours: Colours): void {
  context.font = FONT;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const half = context.measureText(text).width / 2 + 5;
  context.fillStyle = colours.paper;
  context.globalAlpha = 0.92;
  context.beginPath();
  context.roundRect(x - half, y - 9, 2 * half, 18, 5);
  context.fill();
  context.globalAlpha = 1;
  context.fillStyle = colours.ink;
  context.fillText(text, x, y + 0.5);
}

/** The line that is being drawn from a memory to the pointer. */
export function paintRubber(context: CanvasRenderingContext2D, from: Rect, to: Point, at: Placement, colours: Colours): void {
  const start = onScreen(border(from, to), at);
  const end = onScreen(to, at);
  context.strokeStyle = colours.accent;
  context.lineWidth = 2.5;
  context.setLineDash([7, 5]);
  context.beginPath();
  context.moveTo(start.x, start.y);
  context.lineTo(end.x, end.y);
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = colours.accent;
  context.beginPath();
  context.arc(end.x, end.y, 4, 0, 7);
  context.fill();
}

/** A chunk under way on its hop: a bead, as far along as its share says. */
export function paintBead(
  context: CanvasRenderingContext2D,
  curve: Curve,
  share: number,
  at: Placement,
  fill: string,
  colours: Colours,
): void {
  const { x, y } = onScreen(along(curve, share), at);
  context.fillStyle = fill;
  context.strokeStyle = colours.paper;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x, y, 6.5, 0, 7);
  context.fill();
  context.stroke();
}

/** A text on a line (0 pixels aside) or beside it, on nothing that is taken, if there is such a place; it is taken then. */
export function labelBeside(
  context: CanvasRenderingContext2D,
  text: string,
  curve: Curve,
  at: Placement,
  taken: Rect[],
  screen: { width: number; height: number },
  colours: Colours,
  asides: readonly number[] = [15, 30, 48],
): void {
  context.font = FONT;
  const width = context.measureText(text).width + 12;
  const place = labelPlace(curve, at, width, taken, screen, asides);
  if (place === null) return;
  taken.push(boxAround(place, width, 18));
  label(context, text, place, colours);
}

/** Where the label of a line stands on the screen: beside the line, on no box and no other label; null where there is no such place. */
function labelPlace(
  curve: Curve,
  at: Placement,
  width: number,
  taken: readonly Rect[],
  screen: { width: number; height: number },
  asides: readonly number[],
): Point | null {
  for (const aside of asides) {
    for (const share of [0.5, 0.38, 0.62, 0.25, 0.75]) {
      const [here, next] = [onScreen(along(curve, share), at), onScreen(along(curve, share + 0.05), at)];
      // A flat line has its label above or below it, a steep one at its side.
      const flat = Math.abs(next.x - here.x) >= Math.abs(next.y - here.y);
      const shift = flat || aside === 0 ? { x: 0, y: aside } : { x: width / 2 + aside - 9, y: 0 };
      for (const side of [-1, 1]) {
        const place = { x: here.x + side * shift.x, y: here.y + side * shift.y };
        const inside = place.x > width / 2 && place.x < screen.width - width / 2 && place.y > 9 && place.y < screen.height - 9;
        if (inside && !taken.some((box) => meet(box, boxAround(place, width, 18)))) return place;
      }
    }
  }
  return null;
}

const meet = (one: Rect, other: Rect): boolean =>
  one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;

/** A rectangle of the drawing on the screen. */
export const boxOnScreen = (box: Rect, at: Placement): Rect => ({
  ...onScreen(box, at),
  width: at.scale * box.width,
  height: at.scale * box.height,
});
