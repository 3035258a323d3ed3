// The rows of a timeline: for each trace a title where there are several, then its channels, then its buffers.
import type { TraceData } from "#model/trace/trace-data.ts";

/** A trace to draw, and what it is called beside others. */
export interface Titled {
  readonly trace: TraceData;
  readonly title: string;
  /** What stands behind the title: its time, and how it compares. */
  readonly note?: string;
}

export interface Row {
  readonly kind: "title" | "lane" | "ring";
  readonly trace: TraceData;
  /** The number of the trace, and of the lane or the buffer in it. */
  readonly of: number;
  readonly number: number;
  readonly label: string;
  readonly detail: string;
  readonly y: number;
  readonly height: number;
}

const LANE = 22;
const SHARED = 28;
const RING = 22;
const TITLE = 24;
const GAP = 4;

/** What a lane is called: the numbers of the hops of the first transfer that go over it, and what kind of channel it is. */
export function laneLabel(trace: TraceData, lane: number): string {
  const hops = trace.hops.filter((hop) => hop.transfer === 0 && hop.lane === lane).map((hop) => hop.hop);
  const { title = "" } = trace.lanes[lane] ?? {};
  return hops.length === 0 ? title : `${hops.join(", ")} ${title}`;
}

/** The rows with their places; `height` is that of all of them. */
export function rowsOf(traces: readonly Titled[], rings: boolean): { rows: Row[]; height: number } {
  const rows: Row[] = [];
  let y = 0;
  traces.forEach(({ trace, title, note = "" }, of) => {
    const add = (kind: Row["kind"], number: number, label: string, detail: string, height: number): void => {
      rows.push({ kind, trace, of, number, label, detail, y, height });
      y += height + GAP;
    };
    if (traces.length > 1) add("title", 0, title, note, TITLE);
    const height = trace.transfers.length > 1 ? SHARED : LANE;
    trace.lanes.forEach((lane, number) => add("lane", number, laneLabel(trace, number), lane.detail, height));
    if (rings)
      trace.rings.forEach((ring, number) => {
        const { transfer, hop } = trace.hops[ring.row]!;
        const whose = transfer === 0 ? "" : ` · ${trace.transfers[transfer]!.label}`;
        add("ring", number, `buffer ${hop}→${hop + 1}${whose}`, ring.detail, RING);
      });
    y += traces.length > 1 ? 2 * GAP : 0;
  });
  return { rows, height: Math.max(0, y) };
}

/** The row at a height. */
export function rowAt(rows: readonly Row[], y: number): Row | null {
  return rows.find((row) => y >= row.y && y < row.y + row.height) ?? null;
}
