// The dock: what is wide, in tabs. It shows Run by itself when a run begins.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "#lib/icon.tsx";
import { type Tab, Tabs } from "#lib/tabs.tsx";
import { useView } from "#model/view.ts";
import { useWatch } from "#model/watch.ts";
import { HopsPane } from "#panes/hops.tsx";
import { MachinePane } from "#panes/machine.tsx";
import { NumbersPane } from "#panes/numbers.tsx";
import { RunPane } from "#panes/run.tsx";
import { TimelinePane } from "#panes/timeline.tsx";
import { WhyPane } from "#panes/why.tsx";
import { SavePicture } from "#views/controls/save-picture.tsx";

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
