// The dock: what is wide, in tabs. It shows Run by itself when a run begins.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "#lib/icon.tsx";
import { Tabs } from "#lib/tabs.tsx";
import { type PaneProps, tabPanes } from "#model/pane.ts";
import { useView } from "#model/view.ts";
import { useWatch } from "#model/watch.ts";
import { SavePicture } from "#views/controls/save-picture.tsx";

const NOTHING: readonly string[] = [];
const IN_DOCK: PaneProps = { alone: false, sides: ["source", "destination"] };

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
  const tabs = tabPanes().map((pane) => ({ ...pane, content: () => pane.render(IN_DOCK) }));
  const shown = tabs.find((tab) => tab.name === chosen);
  useWatch(shown?.watch ?? NOTHING);
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
  const tools = (
    <span class="iv-dock-tools">
      <SavePicture name={shown?.title ?? "Details"} of={() => box.current?.querySelector<HTMLElement>(".iv-tabpanel") ?? null} />
      {size}
    </span>
  );
  return (
    <section ref={box} class="iv-card iv-dock" data-testid="dock" data-wide={wide} aria-label="Details">
      <Tabs label="Details" tabs={tabs} chosen={chosen} choose={choose} aside={tools} />
    </section>
  );
}
