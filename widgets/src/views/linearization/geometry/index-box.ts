// The box of entries that move, in indices: chosen by two corners at the source, moved as a whole at the destination.
import type { Linearization } from "#model/layouts/linearization.ts";
import { indexAt } from "./model.ts";
import type { Geometry, Panel } from "./scene.ts";

/** First and last index of every dimension, and whether each field moves. `whole`: everything moves, and nothing is drawn. */
export interface IndexBox {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly fields: readonly boolean[];
  readonly whole: boolean;
}

/** The panel at a point of the canvas; beside all of them, the first one. */
export function panelAt(geometry: Geometry, point: { x: number; y: number }): Panel | null {
  const inside = geometry.panels.find(
    ({ x, y, width, height }) => point.x >= x && point.y >= y && point.x < x + width && point.y < y + height,
  );
  return inside ?? geometry.panels[0] ?? null;
}

/** The index of the cell of a panel at a point of the canvas, or of the nearest one. */
export function cellNear(geometry: Geometry, panel: Pick<Panel, "x" | "y">, point: { x: number; y: number }): readonly number[] {
  const { view, model } = geometry;
  const near = (at: number, count: number): number => Math.max(0, Math.min(count - 1, Math.floor(at)));
  const column = near(view.left + (point.x - panel.x) / view.width, model.across.size);
  const row = near(view.top + (point.y - panel.y) / view.height, model.down.size);
  const found = indexAt(model, column, row);
  if (found !== null) return found;
  // Behind the last entry of a dimension that is wrapped into rows.
  const last = [...model.corner];
  last[model.across.place] = (model.linear.dims[model.across.place]?.size ?? 1) - 1;
  return last;
}

/** The box between two corners, in the dimensions that are drawn; the others stay as they are. */
export function boxed(
  box: IndexBox,
  linear: Linearization,
  dims: readonly string[],
  from: readonly number[],
  to: readonly number[],
): IndexBox {
  const drawn = linear.dims.map(({ name }) => dims.includes(name));
  const first = box.first.map((at, dim) => (drawn[dim] ? Math.min(from[dim] ?? 0, to[dim] ?? 0) : at));
  const last = box.last.map((at, dim) => (drawn[dim] ? Math.max(from[dim] ?? 0, to[dim] ?? 0) : at));
  return { ...box, first, last, whole: false };
}

/** The box moved by as many indices as there are from one entry to another; it stays inside. */
export function dragged(box: IndexBox, linear: Linearization, from: readonly number[], to: readonly number[]): IndexBox {
  const by = linear.dims.map(({ size }, dim) => {
    const [low, high] = [box.first[dim] ?? 0, box.last[dim] ?? 0];
    return Math.max(-low, Math.min(size - 1 - high, (to[dim] ?? 0) - (from[dim] ?? 0)));
  });
  return { ...box, first: box.first.map((at, dim) => at + (by[dim] ?? 0)), last: box.last.map((at, dim) => at + (by[dim] ?? 0)) };
}
