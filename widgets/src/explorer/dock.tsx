// The dock: what is wide, in tabs. It shows Run by itself when a run begins.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Tabs, type Tab } from "../components/tabs.tsx";
import { useView } from "../components/view.ts";
import { HopsPane } from "../panes/hops-pane.tsx";
import { MachinePane } from "../panes/machine-pane.tsx";
import { NumbersPane } from "../panes/numbers-pane.tsx";
import { RunPane } from "../panes/run-pane.tsx";

const tabs: readonly Tab[] = [
  { name: "hops", title: "Hops", content: () => <HopsPane /> },
  { name: "layouts", title: "Layouts in numbers", content: () => <NumbersPane /> },
  { name: "machine", title: "Machine", content: () => <MachinePane /> },
  { name: "run", title: "Runs", content: () => <RunPane /> },
];

export function Dock(): JSX.Element {
  const { snapshot } = useView();
  const [chosen, choose] = useState("hops");
  const { number, phase } = snapshot.panes.run.now;
  const seen = useRef(number);
  useEffect(() => {
    if (number !== seen.current && (phase === "running" || phase === "cancelling" || phase === "done" || phase === "failed")) choose("run");
    seen.current = number;
  }, [number, phase]);
  return (
    <section class="iv-card iv-dock" data-testid="dock" aria-label="Details">
      <Tabs label="Details" tabs={tabs} chosen={chosen} choose={choose} />
    </section>
  );
}
