// What the plan makes of the networks.
import type { Load, Track } from "#model/tracks.ts";

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
