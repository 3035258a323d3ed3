// The box of entries that move: a frame, and the rest behind a veil.
import type { IndexBox } from "#views/linearization/geometry/index-box.ts";
import type { GridModel } from "#views/linearization/geometry/model.ts";
import { type Geometry, type Panel, type Rect, rectOf, visible } from "#views/linearization/geometry/scene.ts";
import { type Ink, strokeTwice } from "./ink.ts";

/** How much of what does not move is covered. */
const VEIL = 0.72;

export function drawBox(
  context: CanvasRenderingContext2D,
  geometry: Geometry,
  box: IndexBox,
  room: { width: number; height: number },
  ink: Ink,
): void {
  if (box.whole && box.fields.every((moves) => moves)) return;
  const { model, view } = geometry;
  const pieces = piecesOf(model, box);
  context.save();
  for (const panel of geometry.panels) {
    const edge = {
      x: panel.x,
      y: panel.y,
      width: Math.min(panel.width, room.width - panel.x, (model.across.padded - view.left) * view.width),
      height: Math.min(panel.height, room.height - panel.y, (model.down.padded - view.top) * view.height),
    };
    context.save();
    context.beginPath();
    context.rect(panel.x - 2, panel.y - 2, panel.width + 4, panel.height + 4);
    context.clip();
    const moves = panel.fields.some((field) => box.fields[field] ?? true);
    const rects = moves ? pieces.map((piece) => span(geometry, panel, piece)) : [];
    const veil = new Path2D();
    veil.rect(edge.x, edge.y, edge.width, edge.height);
    for (const { x, y, width, height } of rects) veil.rect(x, y, width, height);
    context.fillStyle = ink.paper;
    context.globalAlpha = VEIL;
    context.fill(veil, "evenodd");
    if (rects.length > 0) drawFieldsThatStay(context, geometry, panel, box, rects);
    context.globalAlpha = 1;
    const frame = new Path2D();
    for (const { x, y, width, height } of rects) frame.rect(x, y, width, height);
    strokeTwice(context, frame, ink.accent, ink.paper, 2);
    context.restore();
  }
  context.restore();
}

interface Piece {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** The box in cells, the last ones included: one rectangle, or up to three where one dimension is wrapped into rows. */
export function piecesOf(model: GridModel, box: IndexBox): Piece[] {
  const { across, down, wrap, corner } = model;
  const elsewhere = corner.some(
    (at, dim) => dim !== across.place && dim !== down.place && (at < (box.first[dim] ?? 0) || at > (box.last[dim] ?? 0)),
  );
  if (elsewhere) return [];
  const [low, high] = [box.first[across.place] ?? 0, box.last[across.place] ?? 0];
  if (wrap === 0) {
    const rows = down.place < 0 ? [0, 0] : [box.first[down.place] ?? 0, box.last[down.place] ?? 0];
    return [{ left: low, right: high, top: rows[0] ?? 0, bottom: rows[1] ?? 0 }];
  }
  const [top, bottom] = [Math.floor(low / wrap), Math.floor(high / wrap)];
  if (top === bottom) return [{ left: low % wrap, right: high % wrap, top, bottom }];
  const found: Piece[] = [];
  const begins = low % wrap === 0 ? top : top + 1;
  const ends = high % wrap === wrap - 1 ? bottom : bottom - 1;
  if (begins > top) found.push({ left: low % wrap, right: wrap - 1, top, bottom: top });
  if (begins <= ends) found.push({ left: 0, right: wrap - 1, top: begins, bottom: ends });
  if (ends < bottom) found.push({ left: 0, right: high % wrap, top: bottom, bottom });
  return found;
}

function span(geometry: Geometry, panel: Panel, piece: Piece): Rect {
  const from = rectOf(geometry, panel, piece.left, piece.top, null);
  const to = rectOf(geometry, panel, piece.right, piece.bottom, null);
  return { x: from.x, y: from.y, width: to.x + to.width - from.x, height: to.y + to.height - from.y };
}

/** Fields that stay, where cells are split: a strip in every row. */
function drawFieldsThatStay(
  context: CanvasRenderingContext2D,
  geometry: Geometry,
  panel: Panel,
  box: IndexBox,
  rects: readonly Rect[],
): void {
  const stay = panel.fields.filter((field) => !(box.fields[field] ?? true));
  if (stay.length === 0) return;
  const seen = visible(geometry);
  context.save();
  const inside = new Path2D();
  for (const { x, y, width, height } of rects) inside.rect(x, y, width, height);
  context.clip(inside);
  for (const field of stay) {
    for (let row = seen.top; row < seen.bottom; row += 1) {
      const strip = rectOf(geometry, panel, seen.left, row, field);
      context.fillRect(panel.x, strip.y, panel.width, strip.height);
    }
  }
  context.restore();
}
