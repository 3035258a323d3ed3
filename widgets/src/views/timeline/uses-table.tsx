// What a timeline shows, as tables: the channels and the buffers of a trace.
import type { JSX } from "preact";
import { Folded } from "#lib/card.tsx";
import { type Column, Table } from "#lib/table.tsx";
import { fillOf, meanLevel } from "#model/trace/chunks-at.ts";
import { lengthUpTo } from "#model/trace/segments.ts";
import type { TraceData } from "#model/trace/trace-data.ts";
import type { TraceLane, TraceRing } from "#model/types.ts";
import { formatBytes, formatCount, formatSeconds, formatShare } from "#model/units.ts";
import { Term } from "#views/controls/term.tsx";
import { laneLabel } from "./rows.ts";

type Numbered<Value> = Value & { readonly number: number };

/** Seconds in which a channel has any request; those of several transfers follow each other. */
function busyOf(trace: TraceData, lane: number): number {
  return (trace.tracks[lane] ?? []).reduce((sum, { busy }) => sum + lengthUpTo(busy, Infinity), 0);
}

export function UsesTable({ trace }: { trace: TraceData }): JSX.Element {
  const whole = trace.seconds || 1;
  const channels: readonly Column<Numbered<TraceLane>>[] = [
    {
      title: () => <Term name="channel">Channel</Term>,
      names: true,
      hover: (lane) => lane.channel,
      cell: ({ number }) => laneLabel(trace, number),
    },
    { title: "Where", cell: (lane) => lane.detail || "–" },
    { title: () => <Term name="request">Requests</Term>, number: true, cell: (lane) => formatCount(lane.count) },
    { title: "Begins", number: true, cell: (lane) => (lane.count === 0 ? "–" : formatSeconds(trace.start[lane.first]!)) },
    {
      title: "Ends",
      number: true,
      cell: (lane) => (lane.count === 0 ? "–" : formatSeconds(trace.reach[lane.first + lane.count - 1]!)),
    },
    { title: "At work", number: true, cell: ({ number }) => formatSeconds(busyOf(trace, number)) },
    {
      title: () => <Term name="busy">Busy</Term>,
      number: true,
      cell: ({ number }) => formatShare(busyOf(trace, number) / whole),
    },
  ];
  const buffers: readonly Column<Numbered<TraceRing>>[] = [
    {
      title: () => <Term name="buffer">Buffer</Term>,
      names: true,
      hover: (ring) => ring.memory,
      cell: ({ row }) =>
        `${trace.hops[row]!.hop} to ${trace.hops[row]!.hop + 1}${trace.transfers.length > 1 ? ` of ${trace.transfers[trace.hops[row]!.transfer]!.label}` : ""}`,
    },
    { title: "Memory", cell: (ring) => (ring.detail === "" ? ring.title : `${ring.title}, ${ring.detail}`) },
    {
      title: () => <Term name="slot">Slots</Term>,
      number: true,
      cell: (ring) => `${formatCount(ring.slots)} of ${formatBytes(ring.slotBytes)}`,
    },
    { title: "In use on average", number: true, cell: ({ number }) => meanLevel(fillOf(trace, number), 0, whole).toFixed(2) },
  ];
  return (
    <Folded title="As tables" testid="timeline-tables">
      <Table
        caption="Channels and how busy they are"
        columns={channels}
        rows={trace.lanes.map((lane, number) => ({ ...lane, number }))}
        keyOf={({ number }) => number}
        wide
      />
      {trace.rings.length > 0 && (
        <Table
          caption="Buffers and how full they are"
          columns={buffers}
          rows={trace.rings.map((ring, number) => ({ ...ring, number }))}
          keyOf={({ number }) => number}
          wide
        />
      )}
    </Folded>
  );
}
