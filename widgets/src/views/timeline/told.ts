// What a timeline says of a request, of a buffer, and of a moment: for hover, for focus, and for those who do not see it.
import { fillOf, levelAt } from "#model/trace/chunks-at.ts";
import { activeAt, readyOf, type TraceData } from "#model/trace/trace-data.ts";
import { counted, formatBytes, formatSeconds } from "#model/units.ts";
import { laneLabel } from "./rows.ts";
import { momentText } from "./span.ts";

/** Lines that tell of a request; `resolution` is the least difference of times that matters, in seconds. */
export function requestTold(trace: TraceData, request: number, resolution: number): string[] {
  const row = trace.row[request]!;
  const hop = trace.hops[row]!;
  const chunk = trace.chunk[request]!;
  const transfer = trace.transfers[hop.transfer]!;
  const whose = trace.transfers.length > 1 ? ` of ${transfer.label}` : "";
  const part = hop.requests > 1 ? `, request ${trace.request[request]! + 1} of ${hop.requests}` : "";
  const nbytes = Math.min(hop.chunkBytes, hop.bytes - chunk * hop.chunkBytes) / hop.requests;
  const [start, end, ready] = [trace.start[request]!, trace.end[request]!, readyOf(trace, request)];
  const waited = start - ready;
  return [
    `Chunk ${chunk}${whose}${part}`,
    `hop ${hop.hop}, ${trace.lanes[hop.lane]!.title}, ${formatBytes(nbytes)}`,
    `${momentText(start, resolution)} to ${momentText(end, resolution)}, takes ${formatSeconds(end - start)}`,
    waited > 1e-12
      ? `ready at ${momentText(ready, resolution)}, then waits ${formatSeconds(waited)} for its channel`
      : "begins as soon as it is ready",
  ];
}

/** Lines that tell of a channel that is idle at a time. */
export function idleTold(trace: TraceData, lane: number, time: number, resolution: number): string[] {
  const { detail = "" } = trace.lanes[lane] ?? {};
  return [laneLabel(trace, lane), ...(detail === "" ? [] : [detail]), `idle at ${momentText(time, resolution)}`];
}

/** Lines that tell of a buffer at a time. */
export function ringTold(trace: TraceData, number: number, time: number, resolution: number): string[] {
  const ring = trace.rings[number]!;
  const level = levelAt(fillOf(trace, number), time);
  return [
    `Buffer between hop ${trace.hops[ring.row]!.hop} and hop ${trace.hops[ring.row]!.hop + 1}`,
    `${ring.title}${ring.detail === "" ? "" : `, ${ring.detail}`}, ${counted(ring.slots, "slot")} of ${formatBytes(ring.slotBytes)}`,
    `${level} of ${counted(ring.slots, "slot")} in use at ${momentText(time, resolution)}`,
  ];
}

/** What moves at a moment, in one line. */
export function momentTold(trace: TraceData, time: number): string {
  const found = trace.lanes.flatMap((_, lane) =>
    activeAt(trace, lane, time)
      .slice(0, 1)
      .map((request) => `${laneLabel(trace, lane)}: chunk ${trace.chunk[request]}`),
  );
  return found.length === 0 ? "no channel is at work" : found.join(", ");
}

/** The request of a lane that is nearest to a time: one that is carried out then, else the one that begins or ended nearest to it. */
export function nearest(trace: TraceData, lane: number, time: number): number | null {
  const [active] = activeAt(trace, lane, time);
  if (active !== undefined) return active;
  const { first = 0, count = 0 } = trace.lanes[lane] ?? {};
  let best: number | null = null;
  for (let low = first, high = first + count - 1; low <= high; ) {
    const middle = (low + high) >> 1;
    const gap = (i: number): number => Math.max(trace.start[i]! - time, time - trace.end[i]!);
    if (best === null || gap(middle) < gap(best)) best = middle;
    if (trace.start[middle]! <= time) low = middle + 1;
    else high = middle - 1;
  }
  return best;
}
