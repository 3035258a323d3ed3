// How the drawing of networks lies on the screen, and what both of its layers need.
import type { Load, Track } from "#model/tracks.ts";
import type { Point, Rect } from "#views/machine-canvas/geometry.ts";
import type { Placement } from "#views/machine-canvas/painting.ts";

export const FONT = "12px system-ui, sans-serif";
export const SMALL = "11px system-ui, sans-serif";

export type Colour = (variable: string) => string;

export interface NetMarks {
  readonly tracks: readonly Track[];
  /** The track that is selected; the others step back. */
  readonly selected: number | null;
  /** Loads instead of colours of tracks; null: the tracks. */
  readonly loads: readonly Load[] | null;
  readonly source: string;
  readonly destination: string;
  /** The memory that is chosen, and the one that the pointer or the keyboard is on. */
  readonly chosen: string | null;
  readonly pointed: string | null;
  readonly beads: readonly { readonly hop: number; readonly share: number; readonly track: number }[];
}

export const NO_MARKS: NetMarks = {
  tracks: [],
  selected: null,
  loads: null,
  source: "",
  destination: "",
  chosen: null,
  pointed: null,
  beads: [],
};

export interface Sheet {
  readonly context: CanvasRenderingContext2D;
  readonly at: Placement;
  readonly width: number;
  readonly height: number;
  readonly colour: Colour;
}

export const onScreen = ({ x, y }: Point, at: Placement): Point => ({ x: at.scale * x + at.x, y: at.scale * y + at.y });

export const boxOnScreen = (box: Rect, at: Placement): Rect => ({
  ...onScreen(box, at),
  width: box.width * at.scale,
  height: box.height * at.scale,
});

export const meets = (box: Rect, { width, height }: Sheet): boolean =>
  box.x < width && box.y < height && box.x + box.width > 0 && box.y + box.height > 0;
