// The dock: what is wide, in tabs. It shows Run by itself when a run begins.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../components/icon.tsx";
import { type Tab, Tabs } from "../components/tabs.tsx";
import { useView } from "../components/view.ts";
import { HopsPane } from "../panes/hops-pane.tsx";
import { MachinePane } from "../panes/machine-pane.tsx";
import { NumbersPane } from "../panes/numbers-pane.tsx";
import { SavePicture } from "../pictures/save-picture.tsx";
import { WhyPane } from "../plan-view/why-pane.tsx";
import { RunPane } from "../runs/run-pane.tsx";
import { TimelinePane } from "../timeline/timeline-pane.tsx";
import { useWatch } from "../watch.ts";

/** A tab of the dock. `watch` names the views whose contents the kernel computes only while the tab is shown. */
export interface DockTab extends Tab {
  watch?: readonly string[];
}

export const tabs: readonly DockTab[] = [
  { name: "hops", title: "Hops", content: () => <HopsPane /> },
  { name: "why", title: "Why", content: () => <WhyPane />, watch: ["why"] },
  { name: "timeline", title: "Timeline", content: () => <TimelinePane />, watch: ["timeline"] },
  { name: "machine", title: "Machine", watch: ["machine", "timeline"], content: () => <MachinePane /> },
  { name: "run", title: "Runs", content: () => <RunPane /> },
  { name: "layouts", title: "Layouts in numbers", content: () => <NumbersPane /> },
];

const NOTHING: readonly string[] = [];

/** `wide`: the dock has the screen, but for the bar and the journey. */
export function Dock({ wide, widen }: { wide: boolean; widen: (wide: boolean) => void }): JSX.Element {
  const { snapshot } = useView();
  const [chosen, choose] = useState("hops");
  const { number, phase } = snapshot.panes.run.now;
  const seen = useRef(number);
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    if (number !== seen.current && (phase === "running" || phase === "cancelling" || phase === "done" || phase === "failed"))
      choose("run");
    seen.current = number;
  }, [number, phase]);
  const watched = tabs.find((tab) => tab.name === chosen)?.watch ?? NOTHING;
  useWatch(watched);
  const size = (
    <button
      type="button"
      class="iv-button iv-icon-button"
      data-testid="dock-size"
      aria-pressed={wide}
      aria-label="Give the details the whole screen"
      title={wide ? "Show source and destination again" : "Give the details the whole screen"}
      onClick={() => widen(!wide)}
    >
      <Icon name={wide ? "shrink" : "expand"} />
    </button>
  );
  const named = tabs.find((tab) => tab.name === chosen);
  const tools = (
    <span class="iv-dock-tools">
      <SavePicture
        name={String(named?.title ?? "Details")}
        of={() => box.current?.querySelector<HTMLElement>(".iv-tabpanel") ?? null}
      />
      {size}
    </span>
  );
  return (
    <section ref={box} class="iv-card iv-dock" data-testid="dock" data-wide={wide} aria-label="Details">
      <Tabs label="Details" tabs={tabs} chosen={chosen} choose={choose} aside={tools} />
    </section>
  );
}
