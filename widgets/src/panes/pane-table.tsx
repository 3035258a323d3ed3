// The table of panes: what each is called, what it needs, and how it is drawn.
//
// To add a pane on this side, write one file beside this one, and one entry here:
//
// 1. `panes/<name>-pane.tsx` exports a component without properties. It reads `useView().snapshot.panes.<name>`, sends commands
//    with `useView().connection.send`, and is made of what `components/` has: Card, Table, ErrorLine, MenuControl, …
// 2. The entry below. `needs` says whether there is anything to show: a pane without leaves no gap.
//
// The kernel's half is `isoviz/widgets/panes/pane_table.py`; the types of its parts are generated from there. A test holds the names of
// both tables equal.
import type { JSX } from "preact";
import type { Panes } from "../types.ts";
import { LayoutPane } from "./layout-pane.tsx";
import { MachinePane } from "./machine-pane.tsx";
import { PlanPane } from "./plan-pane.tsx";
import { RunPane } from "./run-pane.tsx";

export interface Pane {
  name: keyof Panes;
  title: string;
  /** Whether the controls stand beside the pane where it is shown alone. */
  controls: boolean;
  needs: (panes: Panes) => boolean;
  render: () => JSX.Element | null;
}

/** Panes in the order in which the whole explorer shows them. */
export const panes: readonly Pane[] = [
  { name: "run", title: "Run", controls: false, needs: ({ run }) => run.now.number > 0, render: RunPane },
  { name: "layout", title: "Layouts", controls: true, needs: () => true, render: LayoutPane },
  { name: "plan", title: "Plan", controls: true, needs: ({ plan }) => plan !== null, render: PlanPane },
  { name: "machine", title: "Machine", controls: true, needs: ({ machine }) => machine !== null, render: MachinePane },
];

/** The panes of a view: that of its name, or all. */
export function panesOf(name: string): readonly Pane[] {
  return name === "explorer" ? panes : panes.filter((pane) => pane.name === name);
}
