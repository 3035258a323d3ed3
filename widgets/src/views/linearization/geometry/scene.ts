// Where cells lie on the canvas: panels, one for all fields or one for each, and cells that are split into fields. In CSS pixels.

import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import type { Named } from "#model/types.ts";
import { cellOf, elementAt, type GridModel } from "./model.ts";
import { LARGEST, type Room, type Viewport } from "./viewport.ts";

/** A picture of the grid. Cells are split into `fields`, from top to bottom. */
export interface Panel {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly fields: readonly number[];
}

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Room for the name of a field above its panel, and between panels. */
const TITLE = 17;
const GAP = 10;

/** More panels than these side by side would be too small. */
const MOST_PANELS = 4;

/**
 * The panels in a room. "auto" splits cells where each part is at least as high as a letter, else shows fields side by side, the
 * first ones where there are too many. Below `top`, there is room for one panel; several have titles there.
 */
export function panelsIn(
  linear: Linearization,
  model: GridModel,
  shown: string,
  width: number,
  height: number,
  top = 0,
): Panel[] {
  const fields = linear.fields.map((_, field) => field);
  const whole = { x: 0, y: top, width, height: height - top };
  if (fields.length === 1) return [{ ...whole, fields }];
  const only = shown.startsWith("only:") ? linear.fields.findIndex((field) => field.name === shown.slice(5)) : -1;
  if (only >= 0) return [{ ...whole, fields: [only] }];
  const rowHeight = Math.min(LARGEST, whole.height / model.down.padded);
  const fits = rowHeight / fields.length >= 11 && width / model.across.padded >= 16;
  if (shown === "cells" || (shown !== "panels" && fits)) return [{ ...whole, fields }];
  const count = Math.min(fields.length, MOST_PANELS);
  return arranged(count, model, width, height, Math.max(TITLE, top)).map((rect, place) => ({
    ...rect,
    fields: [fields[place] ?? 0],
  }));
}

/** Panels in a row, in a column or in two rows: as large as can be. */
function arranged(count: number, model: GridModel, width: number, height: number, title: number): Rect[] {
  const ways = [count, 1, Math.ceil(count / 2)].map((across) => {
    const down = Math.ceil(count / across);
    const own = {
      width: Math.floor((width - GAP * (across - 1)) / across),
      height: Math.floor((height - GAP * (down - 1)) / down) - title,
    };
    const wanted = model.across.padded / model.down.padded;
    const shape = own.width / Math.max(1, own.height) / Math.max(0.5, Math.min(2, wanted));
    return { across, ...own, worth: Math.min(own.width, own.height) * Math.min(shape, 1 / shape) };
  });
  const best = ways.reduce((one, other) => (other.worth > one.worth ? other : one));
  return Array.from({ length: count }, (_, place) => ({
    x: (place % best.across) * (best.width + GAP),
    y: Math.floor(place / best.across) * (best.height + GAP + title) + title,
    width: best.width,
    height: best.height,
  }));
}

export interface Geometry {
  readonly model: GridModel;
  readonly panels: readonly Panel[];
  readonly view: Viewport;
  readonly room: Room;
}

/** The panel that shows a field. */
export function panelOf(geometry: Geometry, field: number): Panel | undefined {
  return geometry.panels.find((panel) => panel.fields.includes(field));
}

/** The rectangle of a cell, of its part for `field` where cells are split. It may lie outside of what is seen. */
export function rectOf(geometry: Geometry, panel: Panel, column: number, row: number, field: number | null): Rect {
  const { view, room } = geometry;
  const edge = (at: number): number => Math.round(at * room.ratio) / room.ratio;
  const left = edge((column - view.left) * view.width);
  const right = edge((column + 1 - view.left) * view.width);
  const top = edge((row - view.top) * view.height);
  const bottom = edge((row + 1 - view.top) * view.height);
  const parts = panel.fields.length;
  const part = field === null ? -1 : panel.fields.indexOf(field);
  if (part < 0 || parts === 1) return { x: panel.x + left, y: panel.y + top, width: right - left, height: bottom - top };
  const y0 = edge(top + ((bottom - top) * part) / parts);
  const y1 = edge(top + ((bottom - top) * (part + 1)) / parts);
  return { x: panel.x + left, y: panel.y + y0, width: right - left, height: y1 - y0 };
}

/** What lies at a point of the canvas. `inside` is false in padding and beside the array. */
export function hit(geometry: Geometry, x: number, y: number): Entry | null {
  const { view, model } = geometry;
  const panel = geometry.panels.find((each) => x >= each.x && y >= each.y && x < each.x + each.width && y < each.y + each.height);
  if (panel === undefined) return null;
  const column = view.left + (x - panel.x) / view.width;
  const row = view.top + (y - panel.y) / view.height;
  const part = Math.min(panel.fields.length - 1, Math.floor((row - Math.floor(row)) * panel.fields.length));
  return elementAt(model, Math.floor(column), Math.floor(row), panel.fields[part] ?? 0);
}

/** The columns and rows that can be seen, whole or in part; `end` is the first one that cannot. */
export function visible(geometry: Geometry): { left: number; right: number; top: number; bottom: number } {
  const { view, room } = geometry;
  return {
    left: Math.max(0, Math.floor(view.left)),
    right: Math.min(room.columns, Math.ceil(view.left + room.width / view.width)),
    top: Math.max(0, Math.floor(view.top)),
    bottom: Math.min(room.rows, Math.ceil(view.top + room.height / view.height)),
  };
}

/** What is seen of an array: the coordinates of each dimension that is drawn, [from, to). */
export interface SeenPart {
  readonly ranges: Named<readonly [number, number]>;
  /** How many times as wide as high cells are. */
  readonly stretch: number;
  /** Whether fields stand side by side, with their names above. */
  readonly named: boolean;
  /** How many fields are not drawn. */
  readonly missing: number;
}

export function seenIn(geometry: Geometry): SeenPart {
  const { model, view } = geometry;
  const { left, right, top, bottom } = visible(geometry);
  const { across, down, wrap, linear } = model;
  const named = geometry.panels.length > 1;
  const missing = linear.fields.length - geometry.panels.reduce((sum, { fields }) => sum + fields.length, 0);
  const stretch = wrap > 0 || down.place < 0 ? 1 : view.width / view.height;
  if (wrap > 0) {
    const size = linear.dims[across.place]?.size ?? 1;
    return { ranges: [[across.dim, [Math.min(size - 1, top * wrap), Math.min(size, bottom * wrap)]]], stretch, named, missing };
  }
  const within = (from: number, to: number, size: number): [number, number] => [Math.min(from, size - 1), Math.min(to, size)];
  const ranges: SeenPart["ranges"] = [[across.dim, within(left, right, across.size)]];
  if (down.place >= 0) ranges.push([down.dim, within(top, bottom, down.size)]);
  return { ranges, stretch, named, missing };
}

/** The rectangle of an element; null where it is in another slice or its field is not shown. */
export function placeOf(geometry: Geometry, element: Entry): (Rect & { panel: Panel; column: number; row: number }) | null {
  const cell = cellOf(geometry.model, element.index);
  const panel = panelOf(geometry, element.field);
  if (cell === null || panel === undefined) return null;
  return { ...rectOf(geometry, panel, cell.column, cell.row, element.field), panel, ...cell };
}

/** The room of one panel. */
export function roomOf(model: GridModel, panel: Panel, ratio: number): Room {
  return { width: panel.width, height: panel.height, columns: model.across.padded, rows: model.down.padded, ratio };
}
