// The panes. Each is a file in `src/panes/` that registers itself here; the build takes every file of that folder.
import type { ComponentChildren } from "preact";
import type { Side } from "./settings.ts";

/** How a pane is shown. */
export interface PaneProps {
  /** In a widget of its own, where there is no journey around it. */
  readonly alone: boolean;
  /** The ends that a widget of its own is about. */
  readonly sides: readonly Side[];
}

export interface Pane {
  /** The name of its tab, and what the trait `pane` of a widget says that shows it alone. */
  readonly name: string;
  readonly title: string;
  /** Its place among the tabs of the dock, ascending from the left. Without one it has no tab. */
  readonly tab?: number;
  /** What the kernel computes only while its tab is shown: names as in `DEMANDS` of the kernel half. */
  readonly watch?: readonly string[];
  readonly render: (props: PaneProps) => ComponentChildren;
}

const panes = new Map<string, Pane>();

export function registerPane(pane: Pane): void {
  if (panes.has(pane.name)) throw new Error(`two panes are called ${pane.name}`);
  panes.set(pane.name, pane);
}

/** The pane of that name. */
export function paneOf(name: string): Pane | undefined {
  return panes.get(name);
}

/** The panes with a tab in the dock, from left to right. */
export function tabPanes(): Pane[] {
  return [...panes.values()].filter((pane) => pane.tab !== undefined).sort((one, other) => (one.tab ?? 0) - (other.tab ?? 0));
}

/** The names of all panes. */
export function paneNames(): string[] {
  return [...panes.keys()];
}
