// The table of views: what a widget shows, by the name in its trait `pane`.
//
// To add a view on this side, write a component that reads `useView()` and is made of what `components/` has, and add one entry here.
import type { JSX } from "preact";
import { Screen } from "#app/screen.tsx";
import type { Side } from "#model/settings.ts";
import { useView } from "#model/view.ts";
import { HopsPane } from "#panes/hops.tsx";
import { MachinePane } from "#panes/machine.tsx";
import { RunPane } from "#panes/run.tsx";
import { TimelinePane } from "#panes/timeline.tsx";
import { TraceAlone } from "#panes/trace.tsx";
import { WhyPane } from "#panes/why.tsx";
import { Journey } from "#views/journey/journey.tsx";
import { LayoutEditor } from "#views/layout-editor/layout-editor.tsx";
import { LinearizationView } from "#views/linearization/linearization-view.tsx";
import { Progress } from "#views/runs/progress.tsx";

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
