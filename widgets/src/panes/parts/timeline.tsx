// What the pane "Timeline" draws: the plan simulated, with the transfers beside it; compared, explained, and step by step.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import type { TraceData } from "#model/trace/trace-data.ts";
import { useTrace } from "#model/trace/use-trace.ts";
import { formatRate, formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { useWatch } from "#model/watch.ts";
import { CriticalWords, criticalOf } from "#views/timeline/critical.tsx";
import type { Titled } from "#views/timeline/rows.ts";
import { Steps } from "#views/timeline/steps.tsx";
import { Timeline } from "#views/timeline/timeline.tsx";
import { Transfers } from "#views/timeline/transfers.tsx";
import { UsesTable } from "#views/timeline/uses-table.tsx";

const STORED: readonly string[] = ["stored"];
const NONE: readonly string[] = [];
const NO_REQUESTS: readonly number[] = [];

export function TimelinePane(): JSX.Element {
  const { connection, snapshot } = useView();
  const [compared, compare] = useState(false);
  const [critical, setCritical] = useState(false);
  const [stepping, setStepping] = useState(false);
  const [rings, setRings] = useState(true);
  const [marks, setMarks] = useState<{ of: TraceData; requests: readonly number[] } | null>(null);
  const { trace, told, error } = useTrace("simulated");
  useWatch(compared ? STORED : NONE);
  const stored = useTrace("stored", compared);
  const other = compared && stored.told?.fresh !== false ? stored.trace : null;
  const traces = useMemo<Titled[]>(() => (trace === null ? [] : titled(trace, other)), [trace, other]);
  const paths = useMemo(
    () => new Map(critical ? traces.map((each) => [each.trace, criticalOf(each.trace).lanes] as const) : []),
    [critical, traces],
  );
  const { problems } = snapshot.panes.trace ?? { problems: {} as Record<string, string> };
  const problem = problems.simulated;
  if (problem !== undefined) return <p class="iv-missing">{problem}</p>;
  if (trace === null)
    return (
      <p class="iv-faint" data-testid="timeline-none">
        {error !== "" ? error : snapshot.panes.plan === null ? "The timeline stands here once there is a plan." : "Simulating…"}
      </p>
    );
  const several = trace.transfers.length > 1;
  const buffered = trace.rings.length > 0; // else no hop waits for another one
  const toggle = (label: string, testid: string, on: boolean, set: (on: boolean) => void): JSX.Element => (
    <Button label={label} testid={testid} pressed={on} onClick={() => set(!on)} />
  );
  return (
    <div
      class={told?.fresh === false ? "iv-stale" : ""}
      data-testid="timeline-pane"
      data-trace={trace.id}
      data-fresh={told?.fresh !== false}
    >
      <Timeline
        traces={traces}
        rings={rings && buffered}
        critical={paths}
        marked={marks?.of === trace ? marks.requests : NO_REQUESTS} // requests are numbers, and mean nothing in another trace
        // A transfer that is added may begin late: it is to be seen.
        wholeAt={other === null && !several ? undefined : `${other?.id ?? ""} ${trace.transfers.length}`}
      >
        <div class="iv-tl-zoom" role="group" aria-label="What is shown">
          {buffered && toggle("Buffers", "timeline-rings", rings, setRings)}
          {toggle("Critical path", "timeline-critical", critical, setCritical)}
          {!connection.offline && buffered && toggle("Stored and forwarded", "timeline-stored", compared, compare)}
          {!connection.offline && toggle("Step by step", "timeline-stepping", stepping, setStepping)}
          {!connection.offline && (
            <Button
              label="Add an urgent transfer"
              icon="add"
              testid="timeline-urgent"
              onClick={() => connection.send({ kind: "add-urgent" })}
            />
          )}
        </div>
      </Timeline>
      {trace.note !== "" && <p class="iv-tl-words iv-faint">{trace.note}</p>}
      {compared && buffered && <Comparison trace={trace} stored={other} problem={problems.stored} />}
      {critical && <CriticalWords trace={trace} />}
      {several && <Transfers trace={trace} />}
      {stepping && <Steps trace={trace} mark={(requests) => setMarks({ of: trace, requests })} />}
      <UsesTable trace={trace} />
    </div>
  );
}

function titled(trace: TraceData, stored: TraceData | null): Titled[] {
  if (stored === null) return [{ trace, title: "Simulated" }];
  return [
    { trace, title: "Pipelined", note: formatSeconds(trace.seconds) },
    {
      trace: stored,
      title: "Stored and forwarded",
      note: `${formatSeconds(stored.seconds)}, ${ratioText(stored.seconds / trace.seconds)} as long`,
    },
  ];
}

/** "2.53 times". */
export function ratioText(ratio: number): string {
  return `${ratio >= 9.95 ? ratio.toFixed(1) : ratio.toFixed(2)} times`;
}

function Comparison({
  trace,
  stored,
  problem,
}: {
  trace: TraceData;
  stored: TraceData | null;
  problem: string | undefined;
}): JSX.Element {
  if (problem !== undefined) return <p class="iv-tl-words">Stored and forwarded it cannot be: {problem}</p>;
  if (stored === null) return <p class="iv-tl-words iv-faint">Simulating, stored and forwarded…</p>;
  const nbytes = trace.transfers.reduce((sum, transfer) => sum + transfer.bytes, 0);
  return (
    <p class="iv-tl-words" data-testid="timeline-comparison">
      Pipelined, all hops work at the same time: {formatSeconds(trace.seconds)}, {formatRate(nbytes / trace.seconds)}. Stored and
      forwarded, a hop begins when the hop before has moved everything: {formatSeconds(stored.seconds)},{" "}
      {formatRate(nbytes / stored.seconds)}, <b>{ratioText(stored.seconds / trace.seconds)}</b> as long.
    </p>
  );
}
