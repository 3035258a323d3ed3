// The critical path of a trace: from its last request back to what each one waited for longest, as in isoviz/runtime/trace/critical_path.py.
import { activeAt, type TraceData } from "./trace-data.ts";

export type Reason = "start" | "data" | "slot" | "chunk" | "channel" | "buffers";

/** A request of the critical path, and what it waited for. */
export interface CriticalStep {
  readonly request: number;
  readonly waitedFor: Reason;
}

/** The last part of a wait for buffers, as a share of it: a transfer that ends in it has ended the wait. */
const SHARE = 0.05;

/** The critical path from its first request to its last one; empty where nothing moved. */
export function criticalPath(trace: TraceData): CriticalStep[] {
  let at = -1;
  for (let i = 0; i < trace.count; i += 1) if (at < 0 || trace.end[i]! > trace.end[at]!) at = i;
  const lastOf = lastRequests(trace);
  const steps: CriticalStep[] = [];
  while (at >= 0 && steps.length <= trace.count) {
    const [waitedFor, source] = waited(trace, lastOf, at);
    steps.push({ request: at, waitedFor });
    at = source;
  }
  return steps.reverse();
}

/** For every transfer, the request that ended last. */
function lastRequests(trace: TraceData): number[] {
  const found = trace.transfers.map(() => -1);
  trace.times.forEach(({ ended, last }, row) => {
    const { transfer } = trace.hops[row]!;
    ended.forEach((end, chunk) => {
      const known = found[transfer]!;
      if (last[chunk]! >= 0 && (known < 0 || end >= trace.end[known]!)) found[transfer] = last[chunk]!;
    });
  });
  return found;
}

function waited(trace: TraceData, lastOf: readonly number[], at: number): [Reason, number] {
  const hop = trace.hops[trace.row[at]!]!;
  const transfer = trace.transfers[hop.transfer]!;
  let best: [number, Reason, number] = [transfer.admitted ?? transfer.submitted, "start", -1];
  const offer = (time: number, reason: Reason, source: number): void => {
    if (time > best[0] || (time === best[0] && best[1] === "start")) best = [time, reason, source];
  };
  for (const { reason, row, lead, whole } of hop.waits) {
    const chunk = whole ? trace.hops[row]!.chunks - 1 : trace.chunk[at]! - lead;
    const source = chunk < 0 ? -1 : (trace.times[row]!.last[chunk] ?? -1);
    if (source >= 0 && trace.end[source]! < trace.end[at]!) offer(trace.end[source]!, reason as Reason, source);
  }
  const previous = before(trace, hop.lane, at);
  if (previous >= 0) offer(trace.end[previous]!, "channel", previous);
  const [, reason, source] = best;
  const holder = reason === "start" ? holderOf(trace, lastOf, hop.transfer) : -1;
  return holder >= 0 && trace.end[holder]! <= trace.end[at]! ? ["buffers", holder] : [reason, source];
}

/**
 * The request that ended last on a lane before another one did, if it had ended when that one began; −1 where there is none. Where
 * several are in flight, one that ends while the other one is carried out says that it did not wait for the channel.
 */
function before(trace: TraceData, lane: number, at: number): number {
  const { first = 0, count = 0 } = trace.lanes[lane] ?? {};
  const [start, end] = [trace.start[at]!, trace.end[at]!];
  if (activeAt(trace, lane, start).some((other) => other !== at && trace.end[other]! < end)) return -1;
  for (let i = at + 1; i < first + count && trace.start[i]! < end; i += 1) if (trace.end[i]! < end) return -1;
  let found = -1;
  for (let i = at - 1; i >= first && (found < 0 || trace.reach[i]! > trace.end[found]!); i -= 1)
    if (trace.end[i]! <= start && (found < 0 || trace.end[i]! > trace.end[found]!)) found = i;
  return found;
}

/** The last request of another transfer, if the end of that one freed the buffers that a transfer waited for. */
function holderOf(trace: TraceData, lastOf: readonly number[], number: number): number {
  const transfer = trace.transfers[number]!;
  const began = transfer.admitted ?? transfer.submitted;
  const earliest = began - SHARE * (began - transfer.submitted);
  if (earliest <= transfer.submitted) return -1;
  const memories = (of: number): Set<string> =>
    new Set(trace.rings.filter((ring) => trace.hops[ring.row]!.transfer === of).map((ring) => ring.memory));
  const mine = memories(number);
  let found = -1;
  trace.transfers.forEach((other, place) => {
    if (place === number || other.admitted === null || other.ended > began || other.ended < earliest) return;
    if ([...memories(place)].some((memory) => mine.has(memory)) && lastOf[place]! >= 0) found = lastOf[place]!;
  });
  return found;
}
