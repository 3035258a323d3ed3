// Parts of a trace that are worth seeing: the first periods of its pipeline, and the way of one chunk.
import type { TraceData } from "#model/trace/trace-data.ts";
import { isFine } from "./lane-bars.ts";
import { type Span, within } from "./span.ts";

/** Chunks that the first periods show from their begin to their end. */
const PERIODS = 5;

/** The rows of the first transfer's path that a row is on, in order. */
function rowsOfPath(trace: TraceData, path: number): number[] {
  return trace.hops.flatMap((hop, row) => (hop.transfer === 0 && hop.path === path ? [row] : []));
}

/** When the first chunks have gone all the way; the whole where there are not many. */
export function firstPeriods(trace: TraceData): Span {
  const last = rowsOfPath(trace, 0).at(-1);
  const { ended } = trace.times[last ?? -1] ?? {};
  if (ended === undefined || ended.length <= PERIODS + 1) return { from: 0, to: trace.seconds };
  const to = Math.max(...ended.subarray(0, PERIODS + 1));
  return to > 0 ? within({ from: 0, to: 1.02 * to }, trace.seconds) : { from: 0, to: trace.seconds };
}

/** The way of a chunk of the first transfer, with a little before and after it; null where it does not move. */
export function wayOf(trace: TraceData, chunk: number, path = 0): Span | null {
  let [from, to] = [Infinity, -Infinity];
  for (const row of rowsOfPath(trace, path)) {
    const { begun, ended } = trace.times[row]!;
    from = Math.min(from, begun[chunk] ?? Infinity);
    to = Math.max(to, ended[chunk] ?? -Infinity);
  }
  if (!(to > from)) return null;
  const around = 0.12 * (to - from);
  return within({ from: from - around, to: to + around }, trace.seconds);
}

/** What a timeline begins with: the whole where its requests can be told apart, else the first periods. */
export function beginning(trace: TraceData, whole: number, width: number): Span {
  const all = { from: 0, to: whole };
  return trace.lanes.every((_, lane) => isFine(trace, lane, all, width)) ? all : firstPeriods(trace);
}
