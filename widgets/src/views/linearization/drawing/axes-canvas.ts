// The axes of the grid: indices along the upper and the left edge, in the colours of their dimensions.

import { formatCount } from "#model/units.ts";
import { type Geometry, type Panel, rectOf, visible } from "#views/linearization/geometry/scene.ts";
import type { Ink } from "./ink.ts";

/** Room for the indices above the grid. */
export const topRoom = (ink: Ink): number => ink.size + 5;

/** Room for the indices left of the grid. */
export function leftRoom(context: CanvasRenderingContext2D, geometry: Pick<Geometry, "model">, ink: Ink): number {
  const { down, wrap, linear } = geometry.model;
  if (down.place < 0) return 2;
  context.font = `600 ${ink.size}px ${ink.font}`;
  const last = wrap > 0 ? (linear.dims[down.place]?.size ?? 1) - 1 : down.padded - 1;
  const texts = [named(down.dim, 0), tight(down.dim, last)];
  return Math.ceil(Math.max(...texts.map((text) => context.measureText(text).width))) + 6;
}

function named(dim: string, at: number): string {
  return `${short(dim)} = ${formatCount(at)}`;
}

function tight(dim: string, at: number): string {
  return `${short(dim)} ${formatCount(at)}`;
}

function short(dim: string): string {
  return dim.length > 8 ? `${dim.slice(0, 7)}…` : dim;
}

export function drawAxes(
  context: CanvasRenderingContext2D,
  geometry: Geometry,
  ink: Ink,
  colourOf: (dim: string) => string,
  left: number,
): void {
  const { model, view, panels } = geometry;
  const [first] = panels;
  if (first === undefined) return;
  context.save();
  context.font = `600 ${ink.size}px ${ink.font}`;
  context.textBaseline = "middle";
  const seen = visible(geometry);
  if (panels.length === 1) along(context, geometry, first, colourOf(model.across.dim), ink);
  else {
    context.fillStyle = colourOf(model.across.dim);
    context.textAlign = "right";
    for (const panel of panels.filter((each) => each.y === first.y)) {
      const text = acrossTitle(context, geometry, panel);
      if (text !== "") context.fillText(text, panel.x + panel.width, panel.y - ink.size / 2 - 2);
    }
  }
  if (model.down.place >= 0) {
    context.fillStyle = colourOf(model.down.dim);
    context.textAlign = "right";
    for (const panel of panels.filter((each) => each.x === first.x)) {
      const rows = Math.min(seen.bottom, Math.ceil(view.top + panel.height / view.height));
      let free = -Infinity;
      for (const row of ticks(seen.top, rows, view.height, ink.size + 6)) {
        const rect = rectOf(geometry, panel, row, row, null);
        const y = Math.max(
          panel.y + ink.size / 2 + 1,
          Math.min(
            panel.y + panel.height - ink.size / 2,
            rect.y + (view.height >= 14 ? rect.height / 2 : row === seen.top ? ink.size / 2 + 1 : -2),
          ),
        );
        if (y < free) continue;
        free = y + ink.size + 2;
        const at = model.wrap > 0 ? row * model.wrap : row;
        const padding = model.wrap === 0 && row >= model.down.size;
        context.globalAlpha = padding ? 0.55 : 1;
        const texts =
          row === seen.top ? [named(model.down.dim, at), tight(model.down.dim, at), formatCount(at)] : [formatCount(at)];
        context.fillText(
          texts.find((text) => context.measureText(text).width <= left - 5) ?? formatCount(at),
          panel.x - 5,
          y,
          left,
        );
      }
    }
  }
  context.restore();
}

/** The room that the name of a field keeps at least beside the axis, in pixels. */
const NAME = 22;

/** What stands right above a panel about the dimension along it: with its last index where the name of the field leaves room. */
function acrossTitle(context: CanvasRenderingContext2D, geometry: Geometry, panel: Panel): string {
  const { model, panels } = geometry;
  const { dim } = model.across;
  const name = context.measureText(model.linear.fields[panel.fields[0] ?? 0]?.name ?? "").width;
  const fits = (text: string, beside: number): boolean => context.measureText(text).width <= panel.width - 24 - beside;
  const long = `${short(dim)} → ${formatCount(visible(geometry).right - 1)}`;
  if (fits(long, name)) return long;
  // The first name gives way to the axis, which is told once at least.
  return fits(`${short(dim)} →`, panel === panels[0] ? Math.min(name, NAME) : name) ? `${short(dim)} →` : "";
}

/** The pixels beside the name of a field, above its panel, that the axis takes. */
export function besideTitle(context: CanvasRenderingContext2D, geometry: Geometry, panel: Panel): number {
  const text = panel.y === geometry.panels[0]?.y ? acrossTitle(context, geometry, panel) : "";
  return text === "" ? 0 : context.measureText(text).width + 8;
}

function along(context: CanvasRenderingContext2D, geometry: Geometry, panel: Panel, colour: string, ink: Ink): void {
  const { model, view } = geometry;
  const seen = visible(geometry);
  context.fillStyle = colour;
  const widest = context.measureText(formatCount(model.across.padded)).width + 9;
  let free = -Infinity;
  for (const column of ticks(seen.left, seen.right, view.width, widest)) {
    const { x, width } = rectOf(geometry, panel, column, seen.top, null);
    const counted = formatCount(column);
    // In wrapped rows the index is what stands at the left plus what stands above.
    const text = model.wrap > 0 ? `+${counted}` : column === seen.left ? named(model.across.dim, column) : counted;
    const wide = context.measureText(text).width;
    const cells = view.width >= 14;
    // The index stands in the middle of its cell; the name of the dimension before it has the room left of the grid.
    const wanted = cells
      ? x + width / 2 + context.measureText(counted).width / 2 - wide
      : column === seen.left
        ? x
        : x + width - wide;
    const at = Math.max(cells ? 2 : panel.x, Math.min(panel.x + panel.width - wide, wanted));
    if (at < free) continue;
    context.globalAlpha = model.wrap === 0 && column >= model.across.size ? 0.55 : 1;
    context.textAlign = "left";
    context.fillText(text, at, panel.y - ink.size / 2 - 2);
    free = at + wide + 7;
  }
}

/** The cells that get an index: all where they are wide enough, else the first, the last and a few round ones. */
export function ticks(from: number, end: number, size: number, least: number): number[] {
  if (end - from <= 1) return end > from ? [from] : [];
  const every = Math.max(1, Math.ceil(least / size));
  if (every === 1) return Array.from({ length: end - from }, (_, i) => from + i);
  const wanted = Math.max(every * 2, (end - from) / 4);
  const power = 2 ** Math.ceil(Math.log2(wanted));
  const found = [from];
  for (let at = Math.ceil((from + every) / power) * power; at <= end - 1 - every; at += power) found.push(at);
  found.push(end - 1);
  return found;
}
