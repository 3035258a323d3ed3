// The pane "Timeline": the plan simulated.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useView } from "../components/view.ts";
import { useTrace } from "../trace/use-trace.ts";
import { Timeline } from "./timeline.tsx";

export function TimelinePane(): JSX.Element {
  const { snapshot } = useView();
  const { trace, told, error } = useTrace("simulated");
  const traces = useMemo(() => (trace === null ? [] : [{ trace, title: "Simulated" }]), [trace]);
  const problem = snapshot.panes.trace?.problems["simulated"];
  if (problem !== undefined) return <p class="iv-missing">{problem}</p>;
  if (trace === null) return <p class="iv-faint">{error !== "" ? error : snapshot.panes.plan === null ? "The timeline stands here once there is a plan." : "Simulating…"}</p>;
  return (
    <div class={told?.fresh === false ? "iv-stale" : ""} data-testid="timeline-pane">
      <Timeline traces={traces} />
      {trace.note !== "" && <p class="iv-faint">{trace.note}</p>}
    </div>
  );
}
