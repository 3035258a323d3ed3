// The critical path of a trace: what is drawn of it, and what it says in words.
import type { JSX } from "preact";
import { type CriticalStep, criticalPath, type Reason } from "#model/trace/critical-path.ts";
import { joined, type Segments } from "#model/trace/segments.ts";
import type { TraceData } from "#model/trace/trace-data.ts";
import { counted, formatCount, formatSeconds, formatShare } from "#model/units.ts";
import { Term } from "#views/controls/term.tsx";
import { laneLabel } from "./rows.ts";

export interface Critical {
  readonly steps: readonly CriticalStep[];
  /** The path as segments of time, by lane. */
  readonly lanes: readonly Segments[];
  /** Seconds of the path, by lane. */
  readonly seconds: readonly number[];
}

const found = new WeakMap<TraceData, Critical>();

export function criticalOf(trace: TraceData): Critical {
  let known = found.get(trace);
  if (known === undefined) {
    const steps = criticalPath(trace);
    const lanes = trace.lanes.map((_, lane) => {
      const own = steps.filter(({ request }) => trace.hops[trace.row[request]!]!.lane === lane).map(({ request }) => request);
      return joined(
        Float64Array.from(own, (i) => trace.start[i]!),
        Float64Array.from(own, (i) => trace.end[i]!),
      );
    });
    known = { steps, lanes, seconds: lanes.map(({ before }) => before.at(-1) ?? 0) };
    found.set(trace, known);
  }
  return known;
}

const REASONS: Record<Reason, string> = {
  start: "for the transfer to begin",
  data: "for the hop before to write their chunk",
  slot: "for the hop behind to free a slot",
  chunk: "for the chunk before to arrive, since hops take turns",
  channel: "for the request before them on their channel",
  buffers: "for another transfer to give its buffers back",
};

/** The critical path in words: where its time goes, and what its requests waited for. */
export function CriticalWords({ trace }: { trace: TraceData }): JSX.Element {
  const { steps, seconds } = criticalOf(trace);
  const parts = seconds
    .map((length, lane) => ({ lane, length }))
    .filter(({ length }) => length > 0)
    .sort((one, other) => other.length - one.length);
  const reasons = new Map<Reason, number>();
  for (const { waitedFor } of steps.slice(1)) reasons.set(waitedFor, (reasons.get(waitedFor) ?? 0) + 1);
  const most = [...reasons].sort((one, other) => other[1] - one[1]).slice(0, 2);
  return (
    <p class="iv-tl-words" data-testid="timeline-critical-words">
      The <Term name="critical path" /> is marked:{" "}
      {parts
        .slice(0, 4)
        .map(
          ({ lane, length }) =>
            `${laneLabel(trace, lane)} ${formatSeconds(length)} (${formatShare(length / (trace.seconds || 1))})`,
        )
        .join(", ")}
      .{" "}
      {most.length > 0 &&
        `${formatCount(most[0]![1])} of its ${counted(steps.length, "request")} waited ${REASONS[most[0]![0]]}${
          most[1] === undefined ? "" : `, ${formatCount(most[1][1])} ${REASONS[most[1][0]]}`
        }.`}
    </p>
  );
}
