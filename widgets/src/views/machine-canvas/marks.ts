// What the lines of the machine show besides the machine: paths, what is selected, and chunks on their way.
import type { Edge } from "./scene.ts";

/** A bead on the line of a channel: a chunk, with the variable of the style sheet that has its colour. */
export interface Bead {
  readonly channel: string;
  readonly share: number;
  readonly colour: string;
}

/** What the lines of the drawing say besides the machine. Colours are variables of the style sheet. */
export interface Marks {
  readonly path: ReadonlyMap<string, string>;
  readonly candidate: readonly string[];
  readonly selected: string | null;
  readonly pointed: string | null;
  /** The key of the bundle that the pointer is on. */
  readonly pointedBundle: string | null;
  /** The key of the bundle that is selected: its channels are drawn one by one. */
  readonly opened: string | null;
  /** All lines of this memory are drawn, also those that lie in one from node to node. */
  readonly around: string | null;
  readonly beads: readonly Bead[];
  /** What stands beside a line that is lit. */
  readonly said: (edge: Edge) => string;
}

export const UNMARKED: Marks = {
  path: new Map(),
  candidate: [],
  selected: null,
  pointed: null,
  pointedBundle: null,
  opened: null,
  around: null,
  beads: [],
  said: () => "",
};
