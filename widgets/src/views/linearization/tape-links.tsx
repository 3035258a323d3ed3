// Lines between two tapes: from the place of an entry in the memory above to its place in the memory below.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { fitCanvas, useFrame, useRatio, useSize } from "#lib/hooks.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { type Entry, orderLength } from "#model/layouts/order.ts";
import { type Ink, strokeTwice } from "#views/linearization/drawing/ink.ts";
import { placeInStrip } from "#views/linearization/drawing/tape-canvas.ts";
import { elementFrom } from "#views/linearization/geometry/order.ts";

interface TapeLinksProps {
  source: Linearization;
  destination: Linearization;
  ink: Ink | null;
  hovered: Entry | null;
  selected: Entry | null;
}

/** So many lines are drawn where no entry is pointed at. */
const SAMPLES = 24;

export function TapeLinks({ source, destination, ink, hovered, selected }: TapeLinksProps): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(frame);
  const ratio = useRatio();
  useFrame(() => {
    const context = canvas.current === null || ink === null ? null : fitCanvas(canvas.current, size, ratio);
    if (!context || ink === null) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    const line = (entry: Entry): Path2D => {
      const path = new Path2D();
      path.moveTo(placeInStrip({ linear: source, width: size.width }, entry), 0);
      path.lineTo(placeInStrip({ linear: destination, width: size.width }, entry), size.height);
      return path;
    };
    const pointed = hovered !== null || selected !== null;
    context.lineWidth = 1;
    context.strokeStyle = ink.line;
    if (!pointed) for (const entry of sampled(source)) context.stroke(line(entry));
    if (selected !== null) strokeTwice(context, line(selected), ink.accent, ink.paper, 2);
    if (hovered !== null) strokeTwice(context, line(hovered), ink.ink, ink.paper, 2);
  }, [source, destination, ink, hovered, selected, size, ratio]);
  return (
    <div class="iv-lin-tape-links" ref={frame} data-testid="tape-links">
      <canvas ref={canvas} aria-hidden="true" />
    </div>
  );
}

/** Entries at equal distances in memory, a little off, so that they do not all lie at the same place of a row. */
export function sampled(linear: Linearization): Entry[] {
  const length = orderLength(linear);
  const many = Math.min(SAMPLES, length);
  return Array.from({ length: many }, (_, sample) =>
    elementFrom(linear, Math.min(length - 1, Math.floor(((sample + ((sample * 0.618) % 1)) / many) * length))),
  ).flatMap((entry) => entry ?? []);
}
