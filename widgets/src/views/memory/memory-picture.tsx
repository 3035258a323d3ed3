// Memory, byte after byte, coloured by what lies there: the picture of a layout on a canvas.

import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { fitCanvas, useDark, useFrame, useRatio } from "#lib/hooks.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { drawMemory } from "./draw-memory.ts";
import { type MemoryMap, memoryMap, type Part } from "./memory-map.ts";
import { useOwnColours } from "./own-colours.ts";
import { arrayOrder, byAddress, type PaintInputs, paintOf } from "./paint.ts";

export interface MemoryPictureProps extends Omit<PaintInputs, "dark" | "own"> {
  readonly linear: Linearization;
  readonly part: Part;
  /** Memory, coloured by what lies there, or the array, coloured by address. */
  readonly way?: "address" | "index";
  /** CSS pixels. */
  readonly width: number;
  readonly height: number;
  /** What it shows, for those who do not see it; left out where text beside it says so. */
  readonly label?: string;
}

export function MemoryPicture({
  linear,
  part,
  width,
  height,
  label,
  lying,
  ends,
  way = "address",
}: MemoryPictureProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const dark = useDark();
  const own = useOwnColours(linear);
  const ratio = useRatio();
  const key = part.kind === "whole" ? part.side : JSON.stringify([[...part.block], part.limit]);
  const path = part.kind === "whole" ? null : part.path;
  const drawn = useMemo(() => (way === "index" ? (arrayOrder(linear) ?? linear) : linear), [linear, way]);
  const map = useMemo(() => memoryMap(drawn, part), [drawn, part.kind, key, path]);
  const paint = useMemo(
    () => (way === "index" ? byAddress(map, linear, dark) : paintOf(map, { lying, own, ends, dark })),
    [map, linear, way, lying, own, ends, dark],
  );
  useFrame(() => {
    const context = canvas.current === null ? null : fitCanvas(canvas.current, { width, height }, ratio);
    if (context === null) return;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, context.canvas.width, context.canvas.height);
    drawMemory(context, map, paint, { x: 0, y: 0, width: context.canvas.width, height: context.canvas.height }, dark);
  }, [map, paint, width, height, ratio]);
  return (
    <canvas
      ref={canvas}
      class="iv-memory-picture"
      data-testid="memory-picture"
      style={{ width: `${width}px`, height: `${height}px` }}
      title={modelText(map) || undefined}
      {...(label === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": label })}
    />
  );
}

/** That a picture is a scale model, and of what; empty where every element is drawn. */
export function modelText(map: MemoryMap): string {
  if (!map.isModel) return "";
  const shown = map.sizes.flatMap((size, dim) => {
    const { name = "" } = map.linear.dims[dim] ?? {};
    const whole = map.wholes[dim] ?? size;
    return size < whole ? [`${size.toLocaleString("en")} of ${whole.toLocaleString("en")} along ${name}`] : [];
  });
  const fields = map.linear.fields.length;
  if (map.fieldCount < fields) shown.push(`${map.fieldCount} of ${fields} fields`);
  return `A scale model of memory: ${shown.join(", ")}`;
}
