// The measured timeline of the last run below the simulated one, on one axis.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { useTrace } from "#model/trace/use-trace.ts";
import { formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { useWatch } from "#model/watch.ts";
import type { Titled } from "#views/timeline/rows.ts";
import { Timeline } from "#views/timeline/timeline.tsx";

const WATCHED: readonly string[] = ["timeline"];
const NONE: readonly string[] = [];

export function RunTimeline(): JSX.Element | null {
  const { connection, snapshot } = useView();
  const [open, turn] = useState(false);
  useWatch(open && !connection.offline ? WATCHED : NONE);
  const there = snapshot.panes.trace?.measured !== null && snapshot.panes.trace?.measured !== undefined;
  if (!there) return null;
  return (
    <section class="iv-run-timeline" aria-label="Timeline of the run">
      <Button label="Timeline, simulated and measured" testid="run-timeline" pressed={open} onClick={() => turn(!open)} />
      {open && <Both />}
    </section>
  );
}

function Both(): JSX.Element {
  const simulated = useTrace("simulated");
  const measured = useTrace("measured");
  const [one, other] = [simulated.trace, measured.trace];
  const fresh = simulated.told?.fresh !== false && measured.told?.fresh !== false;
  const traces = useMemo<Titled[]>(
    () => [
      ...(one === null || !fresh ? [] : [{ trace: one, title: "Simulated", note: formatSeconds(one.seconds) }]),
      ...(other === null ? [] : [{ trace: other, title: "Measured", note: formatSeconds(other.seconds) }]),
    ],
    [one, other, fresh],
  );
  const error = measured.error || simulated.error;
  if (error !== "") return <p class="iv-faint">{error}</p>;
  if (other === null) return <p class="iv-faint">The trace of the run is on its way.</p>;
  return (
    <div data-testid="run-timelines" data-traces={traces.length}>
      <Timeline traces={traces} wholeAt={one?.id} />
      {!fresh && <p class="iv-faint">The plan has changed since this run: its simulation is not shown beside it.</p>}
    </div>
  );
}
