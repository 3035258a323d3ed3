// Marks on top of the grid: the entry under the pointer, the selected entry, what shares a cache line with it, the run that it moves
// with, and the way that memory has just taken. They have a canvas of their own: moving the pointer draws no cell again.
import type { Entry } from "#model/layouts/order.ts";
import { type RequestBox, requestOrigin } from "#model/layouts/requests.ts";
import { cellOf } from "#views/linearization/geometry/model.ts";
import { elementsIn, previousElement } from "#views/linearization/geometry/order.ts";
import { type Geometry, panelOf, placeOf, type Rect, rectOf } from "#views/linearization/geometry/scene.ts";
import { CACHE_LINE } from "#views/linearization/options.ts";
import { type Ink, strokeTwice } from "./ink.ts";
import { LEAST, linePlace, rounded, segment } from "./order-line.ts";

export interface Marks {
  readonly hovered: Entry | null;
  readonly selected: Entry | null;
  readonly runs: RequestBox | null;
  /** How many steps of the order line are drawn behind the selected entry. */
  readonly trail: number;
  readonly lanes: boolean;
  /** The entries that a warp loads, in place of what shares a cache line; null where that is not asked for. */
  readonly warp: readonly Entry[] | null;
  /** What goes over the cells for the selected chunk. */
  readonly chunk: HTMLCanvasElement | null;
}

/** Marks are at least so large, however small the cells are. */
const SMALLEST = 12;
/** From so many pixels of a cell on, the load of a warp is outlined: it has many cells. */
const LEAST_OF_WARP = 3;

export function drawMarks(context: CanvasRenderingContext2D, geometry: Geometry, marks: Marks, ink: Ink): void {
  const { ratio } = geometry.room;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  if (marks.chunk !== null) context.drawImage(marks.chunk, 0, 0);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.save();
  context.beginPath();
  for (const panel of geometry.panels) context.rect(panel.x - 3, panel.y - 3, panel.width + 6, panel.height + 6);
  context.clip();
  const about = marks.hovered ?? marks.selected;
  if (marks.warp !== null) drawTogether(context, geometry, marks.warp, ink, LEAST_OF_WARP);
  if (about !== null) {
    if (marks.warp === null) drawLine(context, geometry, about, ink);
    if (marks.runs !== null) drawRun(context, geometry, about, marks.runs, ink);
  }
  if (marks.trail > 0 && marks.selected !== null) drawTrail(context, geometry, marks.selected, marks, ink);
  if (marks.selected !== null) ring(context, geometry, marks.selected, ink.accent, ink.paper, 2.5);
  if (marks.hovered !== null) ring(context, geometry, marks.hovered, "#05080c", "#ffffff", 2);
  context.restore();
}

function ring(
  context: CanvasRenderingContext2D,
  geometry: Geometry,
  element: Entry,
  colour: string,
  rim: string,
  width: number,
): void {
  const cell = cellOf(geometry.model, element.index);
  if (cell === null) return;
  for (const panel of geometry.panels) {
    const own = panel.fields.includes(element.field);
    const rect = rectOf(geometry, panel, cell.column, cell.row, own ? element.field : null);
    const path = new Path2D();
    const [x, y, wide, high] = grown(rect);
    path.roundRect(x, y, wide, high, 2);
    context.globalAlpha = own ? 1 : 0.55;
    strokeTwice(context, path, colour, rim, own ? width : 1);
  }
  context.globalAlpha = 1;
}

function grown({ x, y, width, height }: Rect): [number, number, number, number] {
  const [wide, high] = [Math.max(width, SMALLEST), Math.max(height, SMALLEST)];
  return [x + (width - wide) / 2 + 0.5, y + (height - high) / 2 + 0.5, wide - 1, high - 1];
}

/** What lies in the same cache line. */
function drawLine(context: CanvasRenderingContext2D, geometry: Geometry, element: Entry, ink: Ink): void {
  const { linear } = geometry.model;
  const line = Math.floor(linear.offset(element.index, element.field) / CACHE_LINE) * CACHE_LINE;
  drawTogether(context, geometry, elementsIn(linear, line, line + CACHE_LINE, 64), ink);
}

/** A dashed outline of entries that are fetched together, if cells are at least so many pixels wide and high. */
function drawTogether(
  context: CanvasRenderingContext2D,
  geometry: Geometry,
  entries: readonly Entry[],
  ink: Ink,
  least = 6,
): void {
  if (Math.min(geometry.view.width, geometry.view.height) < least) return;
  const path = contour(entries.flatMap((entry) => placeOf(geometry, entry) ?? []));
  context.save();
  context.strokeStyle = ink.dark ? "#0b1016" : "#ffffff";
  context.lineWidth = 3;
  context.stroke(path);
  context.setLineDash([4, 3]);
  context.strokeStyle = ink.dark ? "#ffffff" : "#10161f";
  context.lineWidth = 1.5;
  context.stroke(path);
  context.restore();
}

/** The outline of rectangles that lie beside each other: edges that two of them share are left out. */
export function contour(rects: readonly Rect[]): Path2D {
  const edges = new Map<string, readonly [number, number, number, number] | null>();
  const add = (x0: number, y0: number, x1: number, y1: number): void => {
    const key = [x0, y0, x1, y1].map((each) => Math.round(each * 4)).join(" ");
    edges.set(key, edges.has(key) ? null : [x0, y0, x1, y1]);
  };
  for (const { x, y, width, height } of rects) {
    add(x, y, x + width, y);
    add(x, y + height, x + width, y + height);
    add(x, y, x, y + height);
    add(x + width, y, x + width, y + height);
  }
  const path = new Path2D();
  for (const edge of edges.values()) {
    if (edge === null) continue;
    path.moveTo(edge[0], edge[1]);
    path.lineTo(edge[2], edge[3]);
  }
  return path;
}

/** The box around the run of an entry. */
function drawRun(context: CanvasRenderingContext2D, geometry: Geometry, element: Entry, box: RequestBox, ink: Ink): void {
  const { model } = geometry;
  const { linear } = model;
  const panel = panelOf(geometry, element.field);
  if (panel === undefined || box.entries < 2 || model.wrap > 0) return;
  const origin = requestOrigin(box, linear, element.index);
  const end = linear.dims.map(({ name, size }, dim) =>
    Math.min(size - 1, (origin[dim] ?? 0) + ((box.extents.get(name) ?? 1) - 1) * (box.steps.get(name) ?? 1)),
  );
  const first = cellOf(model, within(origin, element, model.across.place, model.down.place));
  const last = cellOf(model, within(end, element, model.across.place, model.down.place));
  if (first === null || last === null) return;
  const from = rectOf(geometry, panel, first.column, first.row, null);
  const to = rectOf(geometry, panel, last.column, last.row, null);
  const path = new Path2D();
  path.roundRect(
    from.x - 0.5,
    from.y - 0.5,
    Math.max(4, to.x + to.width - from.x + 1),
    Math.max(4, to.y + to.height - from.y + 1),
    3,
  );
  strokeTwice(context, path, ink.run, ink.paper, 2);
}

/** An index with the coordinates of the element in all directions but those that are drawn. */
function within(index: readonly number[], element: Entry, across: number, down: number): number[] {
  return element.index.map((at, dim) => (dim === across || dim === down ? (index[dim] ?? at) : at));
}

function drawTrail(context: CanvasRenderingContext2D, geometry: Geometry, element: Entry, marks: Marks, ink: Ink): void {
  const parts = geometry.panels[0]?.fields.length ?? 1;
  if (geometry.view.width < LEAST || geometry.view.height / parts < LEAST) return;
  let to = element;
  for (let step = 0; step < marks.trail; step += 1) {
    const from = previousElement(geometry.model.linear, to);
    if (from === null) return;
    const [a, b] = [linePlace(geometry, from, marks.lanes), linePlace(geometry, to, marks.lanes)];
    if (a !== null && b !== null) {
      const path = new Path2D();
      rounded(path, segment(a, b, marks.lanes && a.panel === b.panel).points, 3);
      context.globalAlpha = 1 - step / (marks.trail + 1);
      strokeTwice(context, path, ink.accent, ink.paper, 2.5);
    }
    to = from;
  }
  context.globalAlpha = 1;
}
