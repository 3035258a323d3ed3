// A trace alone: the one that a view was given.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { useTrace } from "#model/trace/use-trace.ts";
import { CriticalWords, criticalOf } from "#views/timeline/critical.tsx";
import { Timeline } from "#views/timeline/timeline.tsx";
import { Transfers } from "#views/timeline/transfers.tsx";
import { UsesTable } from "#views/timeline/uses-table.tsx";

export function TraceAlone(): JSX.Element {
  const { trace, error } = useTrace("given");
  const [critical, setCritical] = useState(false);
  const traces = useMemo(() => (trace === null ? [] : [{ trace, title: trace.where }]), [trace]);
  const paths = useMemo(
    () => new Map(critical && trace !== null ? [[trace, criticalOf(trace).lanes] as const] : []),
    [critical, trace],
  );
  if (trace === null) return <p class="iv-faint">{error || "The trace is on its way…"}</p>;
  if (trace.count === 0) return <p class="iv-faint">The trace has no requests: nothing was moved.</p>;
  return (
    <div data-testid="timeline-pane" data-trace={trace.id}>
      <Timeline traces={traces} rings={trace.rings.length > 0} critical={paths}>
        <Button label="Critical path" testid="timeline-critical" pressed={critical} onClick={() => setCritical(!critical)} />
      </Timeline>
      {trace.note !== "" && <p class="iv-tl-words iv-faint">{trace.note}</p>}
      {critical && <CriticalWords trace={trace} />}
      {trace.transfers.length > 1 && <Transfers trace={trace} />}
      <UsesTable trace={trace} />
    </div>
  );
}
