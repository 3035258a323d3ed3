// What both ends of a transfer show of the array: zooming or moving one moves the other.
import type { RefObject } from "preact";
import type { GridModel } from "#views/linearization/geometry/model.ts";
import type { Room, Viewport } from "#views/linearization/geometry/viewport.ts";

/** What a grid shows, and which dimensions it draws. */
export interface Seen {
  readonly axes: string;
  readonly viewport: Viewport;
  readonly room: Room;
}

type Follow = (seen: Seen) => void;

/** What buttons outside of a grid can do with it. */
export interface Zoomer {
  zoom: (factor: number) => void;
  fit: () => void;
}

/** The grids that move together. */
export class Lens {
  private readonly grids = new Set<Follow>();
  private readonly zoomers = new Set<RefObject<Zoomer | null>>();
  private last: Seen | null = null;

  /** A grid has moved: all others follow. */
  show(from: Follow, seen: Seen): void {
    this.last = seen;
    for (const follow of this.grids) if (follow !== from) follow(seen);
  }

  /** A grid that follows from now on, beginning with what is seen; the result lets it go its own way. */
  readonly join = (follow: Follow): (() => void) => {
    this.grids.add(follow);
    if (this.last !== null) follow(this.last);
    return () => {
      this.grids.delete(follow);
      if (this.grids.size === 0) this.last = null;
    };
  };

  /** A grid that buttons zoom; the result takes it out. */
  readonly add = (zoomer: RefObject<Zoomer | null>): (() => void) => {
    this.zoomers.add(zoomer);
    return () => void this.zoomers.delete(zoomer);
  };

  /** Zooms every grid: of those that move together, one takes the others along. */
  zoom(factor: number, together: boolean): void {
    const grids = [...this.zoomers].flatMap(({ current }) => current ?? []);
    for (const grid of together ? grids.slice(0, 1) : grids) grid.zoom(factor);
  }

  /** Shows the whole of every grid. */
  fit(): void {
    for (const { current } of this.zoomers) current?.fit();
  }
}

/** Grids with equal names of this kind draw the same dimensions the same way. */
export function axesOf({ across, down, wrap }: GridModel): string {
  return `${across.dim} ${down.dim} ${wrap}`;
}
