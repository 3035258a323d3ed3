// A small picture of a layout, coloured by offset. `Thumbnail` takes a layout as text and reads it on the array of the explorer, with a
// close look at a block of it; `Picture` takes it as a value.

import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { fitCanvas, useDark, useFrame, useRatio } from "#lib/hooks.ts";
import type { ByName } from "#model/by-name.ts";
import { layoutAtEnd, spacesOf } from "#model/ends.ts";
import { type Linearization, linearize } from "#model/layouts/linearization.ts";
import { useView } from "#model/view.ts";
import { cellPixels } from "#views/linearization/drawing/cells.ts";
import { colouring, inView, separables } from "#views/linearization/drawing/colouring.ts";
import { gridModel } from "#views/linearization/geometry/model.ts";
import { CloseUp, shownFields } from "./close-up.tsx";

interface ThumbnailProps {
  layout: string;
  size: number;
  /** The coordinates of one block, by dimension. */
  block: ByName<number>;
}

export function Thumbnail({ layout, size, block }: ThumbnailProps): JSX.Element {
  const { connection, snapshot } = useView();
  const { dims, fields } = spacesOf(connection.settings, snapshot);
  const key = JSON.stringify([dims, fields]);
  const linear = useMemo(() => linearize(layout, dims, fields).linear, [layout, key]);
  const [source, destination] = [
    layoutAtEnd(connection, snapshot, "source").linear,
    layoutAtEnd(connection, snapshot, "destination").linear,
  ];
  const shown = useMemo(
    () => (source === null || destination === null ? null : turnedDims(source, destination)),
    [source, destination],
  );
  return (
    <>
      <Picture linear={linear} size={size} shown={shown} />
      {linear !== null && <CloseUp linear={linear} dims={drawnDims(linear, shown)} block={block} />}
    </>
  );
}

interface PictureProps {
  linear: Linearization | null;
  size: number;
  bytes?: number;
  /** The two dimensions to draw, where it is known which tell most. */
  shown?: readonly [string, string] | null;
}

/** `bytes` is where the scale ends: that of the largest layout beside it, unless it is the layout's own. */
export function Picture({ linear, size, bytes, shown }: PictureProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const dark = useDark();
  const ratio = useRatio();
  useFrame(() => {
    const context = canvas.current === null ? null : fitCanvas(canvas.current, { width: size, height: size }, ratio);
    if (context) drawThumbnail(context, linear, dark, bytes, shown);
  }, [linear, size, dark, ratio, bytes, shown]);
  return <canvas ref={canvas} class="iv-lin-thumbnail" style={{ width: `${size}px`, height: `${size}px` }} aria-hidden="true" />;
}

/** Draws a layout over the whole canvas. Two dimensions are drawn, the others at their middle. */
export function drawThumbnail(
  context: CanvasRenderingContext2D,
  linear: Linearization | null,
  dark: boolean,
  bytes?: number,
  shown?: readonly [string, string] | null,
): void {
  const { width, height } = context.canvas;
  context.clearRect(0, 0, width, height);
  if (linear === null) return;
  const dims = drawnDims(linear, shown);
  const options = { colour: "offset", digit: null } as const;
  const middle = middles(linear);
  const others = [...middle].filter(([name]) => !dims.includes(name));
  const colours = inView(
    colouring(linear, { options, palette: [], chunks: null, dark, bytes: bytes ?? linear.nbytes }),
    new Map(others.map(([name, at]) => [name, [at, at + 1] as const])),
  );
  const model = gridModel(linear, dims, middle, { width: 1, height: 1 });
  const numbers = separables(model, colours);
  const fields = shownFields(linear);
  const gap = fields.length > 1 ? Math.max(1, Math.round(width / 40)) : 0;
  const wide = Math.floor((width - gap * (fields.length - 1)) / fields.length);
  const image = context.createImageData(wide, height);
  const out = new Uint32Array(image.data.buffer);
  const view = { left: 0, top: 0, width: wide / model.across.size, height: height / model.down.size };
  fields.forEach((field, place) => {
    cellPixels(out, wide, height, model, numbers, colours, { fields: [field] }, view, 1);
    context.putImageData(image, place * (wide + gap), 0);
  });
}

/** `shown` where the layout has these dimensions, else those of every thumbnail. */
function drawnDims(linear: Linearization, shown: readonly [string, string] | null | undefined): readonly string[] {
  const known = shown?.every((name) => linear.dims.some((dim) => dim.name === name)) === true;
  return shown && known ? shown : thumbnailDims(linear);
}

/** The first and the last of the longer dimensions, whatever the layout is, so that pictures beside each other compare. */
export function thumbnailDims(linear: Linearization): string[] {
  const wide = linear.dims.filter((dim) => dim.size > 1);
  const names = (wide.length > 1 ? wide : linear.dims).map((dim) => dim.name);
  return names.length < 2 ? names : [names[0] ?? "", names[names.length - 1] ?? ""];
}

/** The first two dimensions, in the order of one end, that the other end has in the other order; null where the order is the same. */
export function turnedDims(source: Linearization, destination: Linearization): [string, string] | null {
  const [before, after] = [orderOf(source), orderOf(destination)];
  for (const [place, slow] of before.entries())
    for (const fast of before.slice(0, place)) if (after.indexOf(slow) < after.indexOf(fast)) return [fast, slow];
  return null;
}

/** The longer dimensions in the order in which they begin to vary. */
function orderOf(linear: Linearization): string[] {
  const long = linear.dims.filter((dim) => dim.size > 1).map((dim) => dim.name);
  return [...new Set(linear.digits.map((digit) => digit.dim))].filter((dim) => long.includes(dim));
}

function middles(linear: Linearization): ByName<number> {
  return new Map(linear.dims.map(({ name, size }) => [name, Math.floor((size - 1) / 2)]));
}
