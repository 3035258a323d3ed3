// The dock: what is wide, in tabs. None is open at first. It shows Runs by itself when a run begins.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "#lib/icon.tsx";
import { Tabs } from "#lib/tabs.tsx";
import { type PaneProps, tabPanes } from "#model/pane.ts";
import { useView } from "#model/view.ts";
import { useWatch } from "#model/watch.ts";

const NOTHING: readonly string[] = [];
const IN_DOCK: PaneProps = { alone: false, sides: ["source", "destination"] };

interface DockProps {
  /** Whether the dock has the screen, but for the bar and the journey. */
  wide: boolean;
  widen: (wide: boolean) => void;
  chosen: string;
  choose: (tab: string) => void;
}

export function Dock({ wide, widen, chosen, choose }: DockProps): JSX.Element {
  const { snapshot } = useView();
  const { number, phase } = snapshot.panes.run.now;
  const seen = useRef(number);
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
  return (
    <section class="iv-card iv-dock" data-testid="dock" data-wide={wide} aria-label="Details">
      <Tabs label="Details" tabs={tabs} chosen={chosen} choose={choose} aside={size} />
    </section>
  );
}
