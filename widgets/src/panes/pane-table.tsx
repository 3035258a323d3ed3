// The table of views: what a widget shows, by the name in its trait `pane`.
//
// To add a view on this side, write a component that reads `useView()` and is made of what `components/` has, and add one entry here.
import type { JSX } from "preact";
import { useView } from "../components/view.ts";
import { Journey } from "../explorer/journey.tsx";
import { Screen } from "../explorer/screen.tsx";
import { LayoutEditor } from "../layout-editor/layout-editor.tsx";
import { LinearizationView } from "../linearization-view/linearization-view.tsx";
import { WhyPane } from "../plan-view/why-pane.tsx";
import { Progress } from "../runs/progress.tsx";
import { RunPane } from "../runs/run-pane.tsx";
import type { Side } from "../settings.ts";
import { TimelinePane } from "../timeline/timeline-pane.tsx";
import { TraceAlone } from "../timeline/trace-alone.tsx";
import { HopsPane } from "./hops-pane.tsx";
import { MachinePane } from "./machine-pane.tsx";

export interface Pane {
  title: string;
  /** Whether it has a bar of its own that says what is going on. */
  whole?: boolean;
  render: (side: "both" | Side) => JSX.Element;
}

const both = (side: "both" | Side): readonly Side[] => (side === "both" ? ["source", "destination"] : [side]);

export const panes: Record<string, Pane> = {
  explorer: { title: "Explorer", whole: true, render: () => <Screen /> },
  "layout-editor": {
    title: "Layout editor",
    render: (side) => (
      <div class="iv-sides">
        {both(side).map((each) => (
          <LayoutEditor key={each} side={each} />
        ))}
      </div>
    ),
  },
  linearization: {
    title: "Linearization",
    render: (side) => (
      <div class="iv-sides">
        {both(side).map((each) => (
          <LinearizationView key={each} side={each} />
        ))}
      </div>
    ),
  },
  plan: { title: "Plan", render: () => <PlanView /> },
  why: { title: "Why", render: () => <WhyView /> },
  run: { title: "Run", render: () => <RunView /> },
  machine: { title: "Machine", render: () => <MachinePane alone /> },
  timeline: { title: "Timeline", render: () => <TimelineView /> },
  trace: { title: "Timeline", render: () => <TraceAlone /> },
};

function PlanView(): JSX.Element {
  return (
    <>
      <Journey />
      <HopsPane />
    </>
  );
}

function TimelineView(): JSX.Element {
  return (
    <>
      <Journey />
      <TimelinePane />
    </>
  );
}

/** The plan with what explains it. */
function WhyView(): JSX.Element {
  return (
    <>
      <Journey />
      <WhyPane />
    </>
  );
}

function RunView(): JSX.Element {
  const { snapshot } = useView();
  const { phase } = snapshot.panes.run.now;
  return (
    <>
      {(phase === "running" || phase === "cancelling") && <Progress />}
      <RunPane />
    </>
  );
}
