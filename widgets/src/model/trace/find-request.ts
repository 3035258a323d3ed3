// Requests found by what they move.
import type { ShownRequest } from "#model/types.ts";
import type { TraceData } from "./trace-data.ts";

/** Requests that are looked at from the last one of a chunk back. */
const MOST = 8192;

/** The place of a request; null where the trace does not have it. */
export function requestOf(trace: TraceData, { row, chunk, request }: ShownRequest): number | null {
  const last = trace.times[row]?.last[chunk] ?? -1;
  if (last < 0) return null;
  const { first = 0, count = 0 } = trace.lanes[trace.hops[row]!.lane] ?? {};
  const is = (i: number): boolean => trace.request[i] === request && trace.chunk[i] === chunk && trace.row[i] === row;
  for (let away = 0; away < MOST; away += 1) {
    if (last - away >= first && is(last - away)) return last - away;
    if (last + away < first + count && is(last + away)) return last + away;
  }
  return null;
}
