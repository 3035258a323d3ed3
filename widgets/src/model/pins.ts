// What a person has pinned in a view: a plan, and a layout on each of the two cards. It stands beside every later one, until it is let go.
// Pins belong to the view: they are neither saved nor undone.
import { type Signal, signal } from "@preact/signals";
import type { Connection } from "./connection.ts";
import type { Side } from "./settings.ts";
import type { PlanPart } from "./types.ts";

export interface PinnedPlan {
  readonly plan: PlanPart;
  /** The transfer in words. */
  readonly title: string;
}

export interface PinnedLayout {
  /** The layout as text: it is read on the array as it is now. */
  readonly text: string;
  /** What had it: "Source", "Stop 2". */
  readonly title: string;
}

/** A component that reads one of them is drawn again when it changes. */
export type Pins = { readonly plan: Signal<PinnedPlan | null> } & Readonly<Record<Side, Signal<PinnedLayout | null>>>;

const kept = new WeakMap<Connection, Pins>();

export function pinsOf(connection: Connection): Pins {
  const known = kept.get(connection) ?? { plan: signal(null), source: signal(null), destination: signal(null) };
  kept.set(connection, known);
  return known;
}
