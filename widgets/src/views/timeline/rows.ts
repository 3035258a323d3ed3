// The rows of a timeline: for each trace a title where there are several, then its channels, then its buffers.
import { endOf, rowLike } from "#model/trace/compared-hops.ts";
import type { TraceData } from "#model/trace/trace-data.ts";

/** A trace to draw, and what it is called beside others. */
export interface Titled {
  readonly trace: TraceData;
  readonly title: string;
  /** What stands behind the title: its time, and how it compares. */
  readonly note?: string;
  /** The trace that it is compared with: every channel says how much later, or earlier, its hops are over. */
  readonly against?: TraceData;
}

/** When the hops of a lane are over, and when they are in the trace that it is compared with. */
export interface Ends {
  readonly own: number;
  readonly against: number;
}

export interface Row {
  readonly kind: "title" | "lane" | "ring";
  readonly trace: TraceData;
  /** The number of the trace, and of the lane or the buffer in it. */
  readonly of: number;
  readonly number: number;
  readonly label: string;
  readonly detail: string;
  /** The path of the first transfer that it is of, where there are several; null for a channel of more than one. */
  readonly path: number | null;
  /** Null where the trace is compared with none, or where that has no such hops. */
  readonly ends: Ends | null;
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

/** The paths of the first transfer that a lane is of. */
function pathsOf(trace: TraceData, lane: number): number[] {
  return [...new Set(trace.hops.filter((hop) => hop.transfer === 0 && hop.lane === lane).map((hop) => hop.path))];
}

function endsOf(trace: TraceData, against: TraceData | undefined, lane: number): Ends | null {
  if (against === undefined) return null;
  const rows = trace.hops.flatMap((hop, row) => (hop.lane === lane ? [row] : []));
  const last = (ends: (number | null)[]): number => Math.max(...ends.map((each) => each ?? -Infinity));
  const own = last(rows.map((row) => endOf(trace, row)));
  const there = last(rows.map((row) => endOf(against, rowLike(against, trace, row))));
  return Number.isFinite(own) && Number.isFinite(there) ? { own, against: there } : null;
}

/**
 * The rows with their places; `height` is that of all of them. Where the first transfer has several paths, `only` leaves the rows of
 * one of them.
 */
export function rowsOf(traces: readonly Titled[], rings: boolean, only: number | null = null): { rows: Row[]; height: number } {
  const rows: Row[] = [];
  let y = 0;
  traces.forEach(({ trace, title, note = "", against }, of) => {
    const several = trace.hops.some(({ transfer, path }) => transfer === 0 && path > 0);
    const add = (kind: Row["kind"], number: number, label: string, detail: string, height: number, paths: number[]): void => {
      if (several && only !== null && kind !== "title" && !paths.includes(only)) return;
      const path = several && paths.length === 1 ? paths[0]! : null;
      const ends = kind === "lane" ? endsOf(trace, against, number) : null;
      rows.push({ kind, trace, of, number, label, detail, path, ends, y, height });
      y += height + GAP;
    };
    if (traces.length > 1) add("title", 0, title, note, TITLE, []);
    const height = trace.transfers.length > 1 ? SHARED : LANE;
    trace.lanes.forEach((lane, number) =>
      add("lane", number, laneLabel(trace, number), lane.detail, height, pathsOf(trace, number)),
    );
    if (rings)
      trace.rings.forEach((ring, number) => {
        const { transfer, hop, path } = trace.hops[ring.row]!;
        const whose = transfer === 0 ? "" : ` · ${trace.transfers[transfer]!.label}`;
        add("ring", number, `buffer ${hop}→${hop + 1}${whose}`, ring.detail, RING, transfer === 0 ? [path] : []);
      });
    y += traces.length > 1 ? 2 * GAP : 0;
  });
  return { rows, height: Math.max(0, y) };
}

/** The row at a height. */
export function rowAt(rows: readonly Row[], y: number): Row | null {
  return rows.find((row) => y >= row.y && y < row.y + row.height) ?? null;
}
