// Lines from the place of an entry in the array to its place in memory.
import type { JSX, RefObject } from "preact";
import { useRef } from "preact/hooks";
import { fitCanvas, useFrame, useRatio, useSize } from "#lib/hooks.ts";
import type { ByName } from "#model/by-name.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import { type Ink, strokeTwice } from "#views/linearization/drawing/ink.ts";
import type { Part } from "#views/memory/memory-map.ts";
import type { Places } from "./memory.tsx";

interface LinksProps {
  /** The element that both pictures stand in. */
  box: RefObject<HTMLDivElement | null>;
  array: Places;
  memory: Places;
  linear: Linearization;
  part: Part;
  hovered: Entry | null;
  selected: Entry | null;
  ink: Ink | null;
  /** It changes where the pictures do. */
  drawn: number;
  /** Where the dimensions stand that are not drawn. */
  seen: ByName<number>;
}

/** So many lines are drawn where no entry is pointed at: along a diagonal, so that the order is seen. */
const SAMPLES = 6;

export function Links({ box, array, memory, linear, part, hovered, selected, ink, drawn, seen }: LinksProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(box);
  const ratio = useRatio();
  useFrame(() => {
    const context = canvas.current === null || ink === null ? null : fitCanvas(canvas.current, size, ratio);
    if (!context || ink === null) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    const [one, other] = [...(box.current?.children ?? [])] as HTMLElement[];
    const middle = (places: Places, frame: HTMLElement | undefined, entry: Entry): [number, number] | null => {
      const rect = places.current?.(entry) ?? null;
      if (rect === null || frame === undefined) return null;
      const [x, y] = [rect.x + rect.width / 2, rect.y + rect.height / 2];
      const inside = x >= 0 && y >= 0 && x <= frame.offsetWidth && y <= frame.offsetHeight;
      return inside ? [frame.offsetLeft + x, frame.offsetTop + y] : null;
    };
    const line = (entry: Entry, colour: string, strong: boolean): void => {
      const [from, to] = [middle(array, one, entry), middle(memory, other, entry)];
      if (from === null || to === null) return;
      const path = new Path2D();
      const bend = (to[0] - from[0]) / 2;
      path.moveTo(...from);
      path.bezierCurveTo(from[0] + bend, from[1], to[0] - bend, to[1], ...to);
      context.globalAlpha = strong ? 1 : 0.6;
      strokeTwice(context, path, colour, ink.paper, strong ? 2 : 1);
    };
    if (hovered === null && selected === null) for (const entry of sampled(linear, part, seen)) line(entry, ink.muted, false);
    if (selected !== null) line(selected, ink.accent, true);
    if (hovered !== null) line(hovered, ink.ink, true);
    context.globalAlpha = 1;
    if (canvas.current !== null) canvas.current.dataset.drawn = hovered === null ? "" : hovered.index.join(",");
  }, [linear, part, hovered, selected, ink, size, ratio, drawn, seen]);
  return <canvas ref={canvas} class="iv-lin-links" aria-hidden="true" data-testid="linearization-links" />;
}

/** Entries along the diagonal of the slice that is drawn, or of its first block. */
export function sampled(linear: Linearization, part: Part, fixed: ByName<number>): Entry[] {
  return Array.from({ length: SAMPLES }, (_, sample) => ({
    index: linear.dims.map(({ name, size }) => {
      const extent = part.kind === "block" ? (part.block.get(name) ?? size) : size;
      return fixed.get(name) ?? Math.min(extent - 1, Math.floor(((sample + 0.5) / SAMPLES) * extent));
    }),
    field: 0,
  }));
}
