// The cells as pixels. One number for each column of pixels and one for each row give the colour of every pixel, so that a grid of
// any size takes as long as there are pixels. A pixel that holds many cells shows their mean.
import { type GridModel, indexAt, isPadding, type Separable } from "#views/linearization/geometry/model.ts";
import type { Panel } from "#views/linearization/geometry/scene.ts";
import { meanOver, rangeOver } from "#views/linearization/geometry/separable.ts";
import type { Viewport } from "#views/linearization/geometry/viewport.ts";
import { type Colouring, colourOf } from "./colouring.ts";

/** For each pixel along a direction: its first cell, the part of the cell that it lies in, and the cells up to its end. */
interface Pixels {
  readonly first: Float64Array;
  readonly end: Float64Array;
  readonly part: Float64Array;
}

/** Device pixels along a direction, beginning at a cell with fractions; none behind the last cell. */
function pixels(count: number, from: number, size: number, cells: number): Pixels {
  const shown = Math.max(0, Math.min(count, Math.ceil((cells - from) * size - 1e-6)));
  const first = new Float64Array(shown);
  const end = new Float64Array(shown);
  const part = new Float64Array(shown);
  for (let pixel = 0; pixel < shown; pixel += 1) {
    if (size >= 1) {
      const centre = from + (pixel + 0.5) / size;
      first[pixel] = Math.min(cells - 1, Math.floor(centre));
      end[pixel] = (first[pixel] ?? 0) + 1;
      part[pixel] = centre - Math.floor(centre);
    } else {
      first[pixel] = Math.min(cells - 1, Math.floor(from + pixel / size));
      end[pixel] = Math.min(cells, Math.max((first[pixel] ?? 0) + 1, Math.floor(from + (pixel + 1) / size)));
    }
  }
  return { first, end, part };
}

interface Sums {
  readonly mean: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
}

function sums(along: Pixels, terms: Separable["across"], size: number, ranges: boolean): Sums {
  const count = along.first.length;
  const mean = new Float64Array(count);
  const low = ranges ? new Float64Array(count) : mean;
  const high = ranges ? new Float64Array(count) : mean;
  for (let pixel = 0; pixel < count; pixel += 1) {
    const from = along.first[pixel] ?? 0;
    // Padding takes no part in means.
    const to = Math.max(from + 1, Math.min(along.end[pixel] ?? 0, size));
    if (pixel > 0 && from === along.first[pixel - 1] && along.end[pixel] === along.end[pixel - 1]) {
      mean[pixel] = mean[pixel - 1] ?? 0;
      if (ranges) [low[pixel], high[pixel]] = [low[pixel - 1] ?? 0, high[pixel - 1] ?? 0];
      continue;
    }
    mean[pixel] = meanOver(terms, from, to);
    if (ranges) [low[pixel], high[pixel]] = rangeOver(terms, from, to);
  }
  return { mean, low, high };
}

/** The picture of a panel: `width` × `height` device pixels; padding and what lies beside the array is transparent. */
export function cellPixels(
  out: Uint32Array,
  width: number,
  height: number,
  model: GridModel,
  numbers: readonly Separable[],
  colours: Colouring,
  panel: Pick<Panel, "fields">,
  view: Viewport,
  ratio: number,
): void {
  out.fill(0);
  const ranges = colours.piece > 0 && colours.by !== "field";
  const across = pixels(width, view.left, view.width * ratio, model.across.size);
  const down = pixels(height, view.top, view.height * ratio, model.down.size);
  const parts = panel.fields.length;
  const inCells = view.height * ratio >= 1;
  // Rows of one dimension hold whole blocks of the layout, but not of the chunks: there is no sum over column and row.
  if (model.wrap > 0 && colours.by === "chunk") {
    for (let y = 0; y < down.first.length; y += 1) {
      const field = panel.fields[inCells ? Math.min(parts - 1, Math.floor((down.part[y] ?? 0) * parts)) : y % parts] ?? 0;
      const [terms, base, row] = [
        colours.weights(model.across.dim, field),
        colours.base(field),
        (down.first[y] ?? 0) * model.wrap,
      ];
      for (let x = 0; x < across.first.length; x += 1) {
        const [from, to] = [row + (across.first[x] ?? 0), row + (across.end[x] ?? 0)];
        const [low, high] = rangeOver(terms, from, to);
        out[y * width + x] = colourOf(colours, base + meanOver(terms, from, to), base + low, base + high);
      }
    }
    return clearOutside(out, width, model, across, down);
  }
  const byField = panel.fields.map((field) => {
    const own = numbers[field] ?? { across: [], down: [], rest: 0 };
    return {
      rest: own.rest,
      right: sums(across, own.across, model.across.size, ranges),
      below: sums(down, own.down, model.down.size, ranges),
    };
  });
  const { scale, from, top, piece } = colours;
  const last = scale.length - 1;
  const factor = last / top;
  const columns = across.first.length;
  for (let y = 0; y < down.first.length; y += 1) {
    const own = byField[inCells ? Math.min(parts - 1, Math.floor((down.part[y] ?? 0) * parts)) : y % parts];
    if (own === undefined) continue;
    const { right, below, rest } = own;
    const line = y * width;
    const shift = rest + (below.mean[y] ?? 0) - (piece === 0 ? from : 0);
    if (piece === 0) {
      for (let x = 0; x < columns; x += 1) {
        let place = ((right.mean[x] as number) + shift) * factor + 0.5;
        if (place > last) place = last;
        out[line + x] = scale[place | 0] as number;
      }
    } else {
      stepped(out, line, columns, colours, shift, rest + (below.low[y] ?? 0), rest + (below.high[y] ?? 0), right);
    }
  }
  if (model.wrap > 0) clearOutside(out, width, model, across, down);
}

function stepped(
  out: Uint32Array,
  line: number,
  columns: number,
  colours: Colouring,
  mean: number,
  low: number,
  high: number,
  right: Sums,
): void {
  const { scale, top, piece, others } = colours;
  const last = scale.length - 1;
  const wheel = colours.colours;
  const mixed = wheel === null || colours.by === "field" ? -1 : wheel.length - 1;
  const around = mixed > 0 ? mixed : (wheel?.length ?? 1);
  for (let x = 0; x < columns; x += 1) {
    const first = Math.floor((low + (right.low[x] as number)) / piece);
    const same = first === Math.floor((high + (right.high[x] as number)) / piece);
    if (wheel !== null) {
      out[line + x] = wheel[same || mixed < 0 ? first % around : mixed] as number;
      continue;
    }
    const value = same ? first * piece : mean + (right.mean[x] as number);
    const place = Math.max(0, Math.min(last, Math.round((value / top) * last)));
    out[line + x] = ((same && first % 2 === 1 ? others : scale) ?? scale)[place] as number;
  }
}

/** The same picture where every entry has a colour of its own: a pixel has the colour of the entry at its middle. */
export function paintedPixels(
  out: Uint32Array,
  width: number,
  height: number,
  model: GridModel,
  paint: (index: readonly number[], field: number) => number,
  panel: Pick<Panel, "fields">,
  view: Viewport,
  ratio: number,
): void {
  out.fill(0);
  const parts = panel.fields.length;
  const [wide, high] = [view.width * ratio, view.height * ratio];
  for (let y = 0; y < height; y += 1) {
    const row = view.top + (y + 0.5) / high;
    const part = high >= 1 ? Math.min(parts - 1, Math.floor((row - Math.floor(row)) * parts)) : y % parts;
    for (let x = 0; x < width; x += 1) {
      const index = indexAt(model, Math.floor(view.left + (x + 0.5) / wide), Math.floor(row));
      if (index !== null) out[y * width + x] = paint(index, panel.fields[part] ?? 0);
    }
  }
}

/** Takes the cells away that the last rows of a wrapped dimension do not have. */
function clearOutside(out: Uint32Array, width: number, model: GridModel, across: Pixels, down: Pixels): void {
  const size = model.linear.dims[model.across.place]?.size ?? 0;
  for (let y = down.first.length - 1; y >= 0; y -= 1) {
    const row = down.first[y] ?? 0;
    if ((row + 1) * model.wrap <= size) return;
    for (let x = 0; x < across.first.length; x += 1)
      if (row * model.wrap + (across.first[x] ?? 0) >= size) out[y * width + x] = 0;
  }
}

/** Whether a grid has padding in what it shows. */
export function hasPadding(model: GridModel): boolean {
  if (model.wrap > 0)
    return isPadding(model, model.linear.dims[model.across.place]?.size ?? 0, 0) || model.linear.payload < model.linear.nbytes;
  return model.across.padded > model.across.size || model.down.padded > model.down.size;
}
