// Draws the grid on a canvas: cells, gaps, blocks, padding, order line, request boxes, chunks and numbers. Only what is seen is
// drawn, and everything that is drawn comes from the arguments.
import type { CellValues } from "#model/array-values.ts";
import { type ChunkNumbers, chunkFinder } from "#model/layouts/chunks.ts";
import { positionOf } from "#model/layouts/order.ts";
import type { RequestBox } from "#model/layouts/requests.ts";
import { elementAt, isPadding, type Separable } from "#views/linearization/geometry/model.ts";
import { type Geometry, type Panel, type Rect, rectOf, visible } from "#views/linearization/geometry/scene.ts";
import { cssOf, fieldColour, inkOn } from "#views/memory/scales.ts";
import { besideTitle } from "./axes-canvas.ts";
import { cellPixels, hasPadding, paintedPixels } from "./cells.ts";
import { type Colouring, elementColour } from "./colouring.ts";
import { hatching, type Ink, strokeTwice } from "./ink.ts";
import { drawOrderLine, LEAST, lanesOf, segmentsIn, wholeCells } from "./order-line.ts";

export interface Scene extends Geometry {
  readonly colours: Colouring;
  /** The colour of each entry in the place of these; null where there is none. */
  readonly paint: ((index: readonly number[], field: number) => number) | null;
  readonly numbers: readonly Separable[];
  readonly ink: Ink;
  readonly shown: "offset" | "order" | "value" | "none";
  readonly values: CellValues | null;
  readonly order: boolean;
  readonly runs: RequestBox | null;
  readonly chunks: ChunkNumbers | null;
  readonly width: number;
  readonly height: number;
}

/** Pixels that the order line takes below a number. */
const LANE = 5;
/** The smallest side of a cell, in CSS pixels, at which gaps between cells are drawn. */
const GAPS = 5;

/** Pictures that are drawn again in the next frame keep their memory. */
export interface Store {
  image: ImageData | null;
}

/** Draws the grid; it says whether the order line has lanes of its own, beside numbers. */
export function drawGrid(context: CanvasRenderingContext2D, scene: Scene, store: Store): boolean {
  const { room, panels } = scene;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  for (const panel of panels) drawPixels(context, scene, panel, store);
  context.setTransform(room.ratio, 0, 0, room.ratio, 0, 0);
  const text = numbersFit(context, scene);
  for (const panel of panels) {
    context.save();
    context.beginPath();
    context.rect(panel.x, panel.y, panel.width, panel.height);
    context.clip();
    drawPadding(context, scene, panel);
    drawGaps(context, scene, panel);
    if (scene.chunks !== null) drawChunks(context, scene, panel, scene.chunks);
    if (scene.runs !== null) drawRuns(context, scene, panel, scene.runs);
    context.restore();
    if (panels.length > 1) drawTitle(context, scene, panel);
  }
  const parts = panels[0]?.fields.length ?? 1;
  // Where there is no lane beside the numbers, they alone tell the order.
  if (scene.order && text?.lanes !== false && scene.view.width >= LEAST && scene.view.height / parts >= LEAST) {
    context.save();
    context.beginPath();
    for (const panel of panels) context.rect(panel.x, panel.y, panel.width, panel.height);
    context.clip();
    drawOrderLine(context, segmentsIn(scene, scene.model.linear, text?.lanes === true), scene.ink);
    context.restore();
  }
  if (text !== null) drawNumbers(context, scene, text);
  return text?.lanes === true;
}

function drawPixels(context: CanvasRenderingContext2D, scene: Scene, panel: Panel, store: Store): void {
  const { ratio } = scene.room;
  const width = Math.max(1, Math.round(panel.width * ratio));
  const height = Math.max(1, Math.round(panel.height * ratio));
  if (store.image === null || store.image.width !== width || store.image.height !== height)
    store.image = context.createImageData(width, height);
  const out = new Uint32Array(store.image.data.buffer);
  if (scene.paint === null) cellPixels(out, width, height, scene.model, scene.numbers, scene.colours, panel, scene.view, ratio);
  else paintedPixels(out, width, height, scene.model, scene.paint, panel, scene.view, ratio);
  context.putImageData(store.image, Math.round(panel.x * ratio), Math.round(panel.y * ratio));
}

function drawPadding(context: CanvasRenderingContext2D, scene: Scene, panel: Panel): void {
  const { model } = scene;
  if (!hasPadding(model)) return;
  context.fillStyle = hatching(context, scene.ink.hatch, scene.room.ratio);
  const fill = (column: number, row: number, right: number, bottom: number): void => {
    const first = rectOf(scene, panel, column, row, null);
    const last = rectOf(scene, panel, right - 1, bottom - 1, null);
    context.fillRect(first.x, first.y, last.x + last.width - first.x, last.y + last.height - first.y);
  };
  const { across, down } = model;
  if (model.wrap > 0) {
    const seen = visible(scene);
    const size = model.linear.dims[across.place]?.size ?? 0;
    for (let row = Math.max(seen.top, Math.floor(size / model.wrap)); row < Math.min(seen.bottom, seen.top + 200); row += 1)
      for (let column = seen.left; column < Math.min(seen.right, seen.left + 400); column += 1)
        if (isPadding(model, column, row)) fill(column, row, column + 1, row + 1);
    return;
  }
  if (across.padded > across.size) fill(across.size, 0, across.padded, down.padded);
  if (down.padded > down.size) fill(0, down.size, across.size, down.padded);
}

function drawGaps(context: CanvasRenderingContext2D, scene: Scene, panel: Panel): void {
  const { view, model, room } = scene;
  const seen = visible(scene);
  const first = rectOf(scene, panel, seen.left, seen.top, null);
  const last = rectOf(scene, panel, seen.right - 1, seen.bottom - 1, null);
  const [right, bottom] = [last.x + last.width, last.y + last.height];
  context.fillStyle = scene.ink.paper;
  const thin = Math.min(view.width, view.height) >= 12 ? 1 : 1 / room.ratio;
  const cell = Math.min(view.width, view.height) >= GAPS;
  const lines = (
    blocks: readonly number[],
    from: number,
    to: number,
    size: number,
    draw: (at: number, wide: number) => void,
  ): void => {
    if (cell) for (let at = from; at <= to; at += 1) draw(at, thin);
    blocks.forEach((block, level) => {
      if (block * size < 8) return;
      const wide = cell ? thin + 1.5 + level : Math.max(1 / room.ratio, Math.min(1, (block * size) / 40));
      for (let at = Math.max(block, Math.ceil(from / block) * block); at <= to; at += block) draw(at, wide);
    });
  };
  lines(model.across.blocks, seen.left, seen.right, view.width, (at, wide) => {
    const x = rectOf(scene, panel, at, seen.top, null).x;
    if (at > 0) context.fillRect(x - wide / 2, first.y, wide, bottom - first.y);
  });
  lines(model.down.blocks, seen.top, seen.bottom, view.height, (at, wide) => {
    const y = rectOf(scene, panel, seen.left, at, null).y;
    if (at > 0) context.fillRect(first.x, y - wide / 2, right - first.x, wide);
  });
  const parts = panel.fields.length;
  if (parts === 1 || view.height / parts < 8) return;
  // The parts of a cell have a faint line between them and the colour of their field at the left edge.
  const bar = view.width >= 24 ? 3 : 2;
  for (let row = seen.top; row < seen.bottom; row += 1)
    panel.fields.forEach((field, part) => {
      const { y, height } = rectOf(scene, panel, seen.left, row, field);
      context.fillStyle = scene.ink.paper;
      context.globalAlpha = 0.6;
      if (part > 0) context.fillRect(first.x, y - 0.5 / room.ratio, right - first.x, 1 / room.ratio);
      context.globalAlpha = 1;
      context.fillStyle = fieldColour(field, model.linear.fields[field]?.name);
      for (let column = seen.left; column < seen.right; column += 1) {
        if (scene.colours.by === "field" || elementAt(model, column, row, field) === null) continue;
        const { x } = rectOf(scene, panel, column, row, field);
        context.fillRect(x + thin / 2, y + 1, bar, height - 2);
      }
    });
}

/** Boundaries of chunks, between cells of different chunks. */
function drawChunks(context: CanvasRenderingContext2D, scene: Scene, panel: Panel, chunks: ChunkNumbers): void {
  if (chunks.count < 2 || Math.min(scene.view.width, scene.view.height) < 4) return;
  const seen = visible(scene);
  if ((seen.right - seen.left) * (seen.bottom - seen.top) > 20000) return;
  const find = chunkFinder(chunks, scene.model.linear.dims);
  const field = panel.fields[0] ?? 0;
  const chunkAt = (column: number, row: number): number => {
    const element = elementAt(scene.model, column, row, field);
    return element === null ? -1 : find(element.index, field);
  };
  const path = new Path2D();
  for (let row = seen.top; row < seen.bottom; row += 1)
    for (let column = seen.left; column < seen.right; column += 1) {
      const own = chunkAt(column, row);
      if (own < 0) continue;
      const { x, y, width, height } = rectOf(scene, panel, column, row, null);
      const right = chunkAt(column + 1, row);
      const below = chunkAt(column, row + 1);
      if (right >= 0 && right !== own) segmentTo(path, x + width, y, x + width, y + height);
      if (below >= 0 && below !== own) segmentTo(path, x, y + height, x + width, y + height);
    }
  strokeTwice(context, path, scene.ink.ink, scene.ink.paper, 1.5);
}

function segmentTo(path: Path2D, x0: number, y0: number, x1: number, y1: number): void {
  path.moveTo(x0, y0);
  path.lineTo(x1, y1);
}

/** Boxes around the entries that one request moves, where these are neighbours. */
function drawRuns(context: CanvasRenderingContext2D, scene: Scene, panel: Panel, box: RequestBox): void {
  const { model, view } = scene;
  if (model.wrap > 0 || box.entries < 2) return;
  const of = (dim: string): number => ((box.steps.get(dim) ?? 1) === 1 ? (box.extents.get(dim) ?? 1) : 0);
  const across = Math.min(of(model.across.dim), model.across.size);
  const down = model.down.place < 0 ? 1 : Math.min(of(model.down.dim), model.down.size);
  if (across * down < 2 || across * view.width < 16 || down * view.height < 16) return;
  const seen = visible(scene);
  const path = new Path2D();
  for (let row = Math.floor(seen.top / down) * down; row < Math.min(seen.bottom, model.down.size); row += down)
    for (
      let column = Math.floor(seen.left / across) * across;
      column < Math.min(seen.right, model.across.size);
      column += across
    ) {
      const first = rectOf(scene, panel, column, row, null);
      const last = rectOf(
        scene,
        panel,
        Math.min(column + across, model.across.size) - 1,
        Math.min(row + down, model.down.size) - 1,
        null,
      );
      const inset = 1.5;
      path.roundRect(
        first.x + inset,
        first.y + inset,
        last.x + last.width - first.x - 2 * inset,
        last.y + last.height - first.y - 2 * inset,
        3,
      );
    }
  strokeTwice(context, path, scene.ink.run, scene.ink.dark ? "rgba(10,14,20,0.7)" : "rgba(255,255,255,0.85)", 1.5);
}

function drawTitle(context: CanvasRenderingContext2D, scene: Scene, panel: Panel): void {
  const field = panel.fields[0] ?? 0;
  context.fillStyle = fieldColour(field, scene.model.linear.fields[field]?.name);
  context.fillRect(panel.x, panel.y - 13, 10, 10);
  context.fillStyle = scene.ink.ink;
  context.font = `600 ${scene.ink.size}px ${scene.ink.font}`;
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.fillText(
    shortened(context, scene.model.linear.fields[field]?.name ?? "", panel.width - 16 - besideTitle(context, scene, panel)),
    panel.x + 15,
    panel.y - 4,
  );
}

/** How numbers stand in the cells; null where they do not fit. */
interface Numbers {
  readonly names: boolean;
  /** Whether the order line has room beside them. */
  readonly lanes: boolean;
  readonly left: number;
}

function numbersFit(context: CanvasRenderingContext2D, scene: Scene): Numbers | null {
  if (scene.shown === "none") return null;
  const { view, model, panels } = scene;
  const parts = panels[0]?.fields.length ?? 1;
  const height = view.height / parts;
  const line = scene.order && height >= LEAST && view.width >= LEAST;
  if (height < scene.ink.size + 1) return null;
  const seen = visible(scene);
  let widest = 0;
  for (const [column, row] of [
    [seen.left, seen.top],
    [seen.right - 1, seen.top],
    [seen.left, seen.bottom - 1],
    [seen.right - 1, seen.bottom - 1],
  ] as const)
    for (const field of [0, model.linear.fields.length - 1]) {
      const index = [...model.corner];
      index[model.across.place] = Math.min(
        column + (model.wrap > 0 ? row * model.wrap : 0),
        (model.linear.dims[model.across.place]?.size ?? 1) - 1,
      );
      if (model.wrap === 0 && model.down.place >= 0) index[model.down.place] = Math.min(row, model.down.size - 1);
      widest = Math.max(widest, numberOf(scene, index, field));
    }
  context.font = `${scene.ink.size}px ${scene.ink.font}`;
  const sample = scene.shown === "value" ? (scene.values?.longest ?? "") : "0".repeat(String(widest).length);
  const width = context.measureText(sample).width;
  const beside = parts > 1 ? 5 : 2;
  if (width + beside + 2 > view.width) return null;
  const lane = lanesOf(view.width, height).left + 5;
  const lanes = line && height >= scene.ink.size + LANE && width + lane + 3 <= view.width;
  const left = lanes ? lane : beside;
  const names = Math.max(0, ...model.linear.fields.map((field) => context.measureText(field.name).width));
  return { names: parts > 1 && width + left + names + 12 <= view.width, lanes, left };
}

function numberOf(scene: Scene, index: readonly number[], field: number): number {
  const { linear } = scene.model;
  return scene.shown === "order" ? positionOf(linear, index, field) : linear.offset(index, field);
}

/** What stands in the cell of an entry. */
function textOf(scene: Scene, index: readonly number[], field: number): string {
  return scene.shown === "value" ? (scene.values?.of(index, field) ?? "") : String(numberOf(scene, index, field));
}

function drawNumbers(context: CanvasRenderingContext2D, scene: Scene, how: Numbers): void {
  const seen = visible(scene);
  const { linear } = scene.model;
  const parts = scene.panels[0]?.fields.length ?? 1;
  const height = scene.view.height / parts;
  const above = Math.max(7, (height - lanesOf(scene.view.width, height).bottom - 1.5) / 2);
  const whole = wholeCells(scene);
  context.save();
  context.beginPath();
  for (const panel of scene.panels) context.rect(panel.x, panel.y, panel.width, panel.height);
  context.clip();
  context.font = `${scene.ink.size}px ${scene.ink.font}`;
  context.textBaseline = "middle";
  context.lineWidth = 3;
  context.lineJoin = "round";
  const write = (text: string, x: number, y: number): void => {
    if (scene.order) context.strokeText(text, x, y); // no line strikes a number through
    context.fillText(text, x, y);
  };
  for (const panel of scene.panels)
    for (let row = seen.top; row < seen.bottom; row += 1)
      for (let column = seen.left; column < seen.right; column += 1)
        for (const field of panel.fields) {
          const element = elementAt(scene.model, column, row, field);
          if (element === null) continue;
          const rect: Rect = rectOf(scene, panel, column, row, field);
          const colour = scene.paint?.(element.index, field) ?? elementColour(scene.colours, element.index, field);
          context.fillStyle = inkOn(colour);
          context.strokeStyle = cssOf(colour);
          const right = rect.x + rect.width - (how.lanes ? 4 : 2);
          const left = rect.x + how.left;
          const text = textOf(scene, element.index, field);
          // The line goes through the lowest part alone where it goes from cell to cell.
          const line = how.lanes && (!whole || field === panel.fields.at(-1));
          const y = rect.y + (line ? above : height / 2) + 0.5;
          if (how.names) {
            context.textAlign = "left";
            write(linear.fields[field]?.name ?? "", left, y);
            context.textAlign = "right";
            write(text, right, y);
          } else {
            context.textAlign = "center";
            write(text, (left + right) / 2, y);
          }
        }
  context.restore();
}

/** A text that fits into a width, with an ellipsis where it had to be cut. */
export function shortened(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let shown = text;
  while (shown.length > 1 && context.measureText(`${shown}…`).width > width) shown = shown.slice(0, -1);
  return `${shown}…`;
}
