// The whole explorer on one screen: the bar, the journey, both ends, the inspector of what is selected, the dock.
import type { JSX, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { later } from "#lib/later.tsx";
import { useId } from "#lib/use-id.ts";
import { usePlace } from "#model/selection.ts";
import { useView } from "#model/view.ts";
import { Journey } from "#views/journey/journey.tsx";
import { Bar } from "./bar.tsx";
import { Ends } from "./both-ends.tsx";
import { Dock } from "./dock.tsx";
import { Drawer } from "./drawer.tsx";
import { Tour, useTour } from "./tour.tsx";

const Inspector = later(() => import("#views/inspector/inspector.tsx").then((part) => part.Inspector));

export function Screen(): JSX.Element {
  const { connection } = useView();
  const [drawer, setDrawer] = useState(false);
  const [wide, setWide] = useState(false);
  const [tab, setTab] = useState("");
  const [{ hop, stop }] = usePlace();
  const id = useId();
  const selected = hop !== null || stop !== null;
  const box = useRef<HTMLDivElement>(null);
  const [step, go] = useTour();
  const clear = (): void => {
    setDrawer(false);
    setWide(false);
  };
  const close = (): void => {
    setDrawer(false);
    box.current?.querySelector<HTMLElement>(".iv-title")?.focus();
  };
  const lead = (control: string): void => {
    const [atEnd, byHand] = [/^(source|destination)-/.test(control), control.startsWith("by-hand")];
    if (atEnd) {
      setWide(false);
    }
    setDrawer(!atEnd && !byHand);
    if (byHand) setTab("why");
    // It may not be drawn yet.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        const found = box.current?.querySelector<HTMLElement>(".iv-body [aria-invalid=true]");
        found?.focus({ preventScroll: true });
        found?.scrollIntoView({ block: "center" });
      }),
    );
  };
  const openTab = (name: string): void => {
    setTab(name);
    requestAnimationFrame(() => {
      const found = box.current?.querySelector<HTMLElement>(`[data-testid=tab-${name}]`);
      found?.focus({ preventScroll: true });
      found?.scrollIntoView({ block: "nearest" });
      box.current?.querySelector(".iv-dock")?.scrollIntoView({ block: "nearest" });
    });
  };
  return (
    <div class="iv-screen" ref={box}>
      <LetGo screen={box} />
      <Bar
        drawer={`${id}-drawer`}
        drawerOpen={drawer}
        turnDrawer={() => setDrawer(!drawer)}
        lead={lead}
        openTab={openTab}
        beginTour={() => go(0)}
      >
        <Tour step={step} go={go} screen={box} clear={clear} />
      </Bar>
      <div class={`iv-body${drawer ? " iv-with-drawer" : ""}`} inert={connection.gone}>
        {drawer && <Drawer id={`${id}-drawer`} close={close} />}
        <div class={`iv-main${wide ? " iv-wide-dock" : ""}${selected ? " iv-with-inspector" : ""}`}>
          <Journey />
          {!wide && <Ends />}
          {!wide && selected && <Inspector />}
          <Dock wide={wide} widen={setWide} chosen={tab} choose={setTab} />
        </div>
      </div>
    </div>
  );
}

/** Escape lets the selected hop or stop go, where nothing that is open takes it first. */
function LetGo({ screen }: { screen: RefObject<HTMLElement | null> }): null {
  const [{ hop, stop }, select] = usePlace();
  const selected = hop !== null || stop !== null;
  useEffect(() => {
    const element = screen.current;
    if (!selected || element === null) return;
    const key = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && !event.defaultPrevented) select({ hop: null, stop: null });
    };
    element.addEventListener("keydown", key);
    return () => element.removeEventListener("keydown", key);
  }, [selected]);
  return null;
}
