// Two traces hop by hop: how long each was at work, and when it was over.
import { joined } from "./segments.ts";
import type { TraceData } from "./trace-data.ts";

/** Seconds that a hop was at work, and from the begin of all until it was over. */
export interface HopTimes {
  readonly busy: number;
  readonly ended: number;
}

/** A hop of both traces; null where only the other one has it. */
export interface ComparedHop {
  readonly title: string;
  readonly one: HopTimes | null;
  readonly other: HopTimes | null;
}

/** When the last chunk of a hop was over; null where it has moved none. */
export function endOf(trace: TraceData, row: number): number | null {
  const ended = trace.times[row]?.ended ?? new Float64Array(0);
  return ended.length === 0 ? null : ended.reduce((last, each) => Math.max(last, each), -Infinity);
}

/** The row of the hop with the same number, of the transfer at the same place; -1 where there is none. */
export function rowLike(trace: TraceData, other: TraceData, row: number): number {
  const hop = other.hops[row];
  return trace.hops.findIndex((each) => each.transfer === hop?.transfer && each.hop === hop.hop);
}

function timesOf(trace: TraceData, row: number): HopTimes | null {
  const ended = endOf(trace, row);
  const lane = trace.lanes[trace.hops[row]?.lane ?? -1];
  if (ended === null || lane === undefined) return null;
  const own = Array.from({ length: lane.count }, (_, place) => lane.first + place).filter((i) => trace.row[i] === row);
  const work = joined(
    Float64Array.from(own, (i) => trace.start[i]!),
    Float64Array.from(own, (i) => trace.end[i]!),
  );
  return { busy: work.before.at(-1) ?? 0, ended };
}

/** What a hop is called: its number and its channel, and its transfer where there are several. */
function titleOf(trace: TraceData, row: number): string {
  const hop = trace.hops[row]!;
  const whose = trace.transfers.length > 1 ? ` · ${trace.transfers[hop.transfer]!.label}` : "";
  return `${hop.hop} ${trace.lanes[hop.lane]!.title}${whose}`;
}

/** The hops of two traces beside each other, by their numbers. */
export function comparedHops(one: TraceData, other: TraceData): ComparedHop[] {
  const first = one.hops.map((_, row) => {
    const like = rowLike(other, one, row);
    const [a, b] = [titleOf(one, row), like < 0 ? "" : titleOf(other, like)];
    return { title: b === "" || a === b ? a : `${a}, ${b}`, one: timesOf(one, row), other: timesOf(other, like) };
  });
  const rest = other.hops.flatMap((_, row) =>
    rowLike(one, other, row) < 0 ? [{ title: titleOf(other, row), one: null, other: timesOf(other, row) }] : [],
  );
  return [...first, ...rest];
}
