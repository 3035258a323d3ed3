// Where the routers of a network lie, as its topology says: in panels that are alike, each with the same places.
import { grown, type Point, type Rect, union } from "#lib/geometry.ts";
import type { ShownNetwork } from "#model/types.ts";

/** Room around routers, at most. */
const ROOM = 13;

export interface Places {
  /** The routers of a panel from its corner, and the rectangle around them. */
  readonly points: readonly Point[];
  readonly panel: Rect;
  /** The rectangle of all panels. */
  readonly bounds: Rect;
  /** The links within panels, with their widths; those of the first panel where all are alike. */
  readonly links: readonly (readonly [from: number, to: number, width: number])[];
  readonly at: (router: number) => Point;
  readonly isAcross: (from: number, to: number) => boolean;
  /** The way in which a link leaves its panel to come in again at the other edge, of length 1; null where it does not. */
  readonly around: (from: number, to: number) => Point | null;
}

export function placesOf({ apart, axes, panels, points: shown, links: joined, routers }: ShownNetwork): Places {
  const points = unrolled(shown).map(([x = 0, y = 0]): Point => ({ x, y }));
  const panel = grown(union(points.map((point) => ({ ...point, width: 0, height: 0 })))!, Math.min(apart / 2, ROOM));
  const at = (router: number): Point => {
    const [point, corner] = [points[router % points.length]!, panels[Math.floor(router / points.length)]!];
    return { x: corner.x + point.x, y: corner.y + point.y };
  };
  return {
    points,
    panel,
    bounds: union(panels.map(({ x, y }) => ({ ...panel, x: x + panel.x, y: y + panel.y })))!,
    links: unrolled(joined).map(([from = 0, to = 0, width = 1]) => [from, to, width]),
    at,
    isAcross: (from, to) => Math.floor(from / points.length) !== Math.floor(to / points.length),
    around: (from, to) => {
      let stride = routers;
      for (const { size, wraps } of axes) {
        stride /= size;
        const ahead = (Math.floor(to / stride) % size) - (Math.floor(from / stride) % size);
        if (!wraps || size <= 2 || Math.abs(ahead) !== size - 1) continue;
        const [here, there] = [at(from), at(from + ahead * stride)];
        const length = Math.hypot(here.x - there.x, here.y - there.y);
        return length === 0 ? null : { x: (here.x - there.x) / length, y: (here.y - there.y) / length };
      }
      return null;
    },
  };
}

/** Rows of numbers from runs of [count, first row…, steps…]. */
export function unrolled(runs: readonly (readonly number[])[]): number[][] {
  return runs.flatMap(([count = 0, ...rest]) => {
    const wide = rest.length / 2;
    return Array.from({ length: count }, (_, each) =>
      rest.slice(0, wide).map((first, column) => first + each * rest[wide + column]!),
    );
  });
}

/** The address of a router: "A0 B0 C1 D0 E1" where it has coordinates, else its name. */
export function routerAddress({ axes, names, routers }: ShownNetwork, router: number): string {
  let stride = routers;
  const coordinates = axes.map(({ name, size }) => {
    stride /= size;
    return `${name}${Math.floor(router / stride) % size}`;
  });
  return coordinates.length > 0 ? coordinates.join(" ") : (names[router] ?? "");
}
