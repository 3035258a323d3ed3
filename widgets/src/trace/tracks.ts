// Tracks: the requests of one transfer on one lane, or its waits there, as segments of time that do not overlap, with sums over them.
//
// How busy a track was in any interval is then two look-ups, however many requests there are: the level of detail of the timeline.
import type { TraceLane } from "../types.ts";
import { above, readyOf, type TraceData } from "./trace-data.ts";

/** Segments from `from[i]` to `to[i]`, in order; `before[i]` is the length of all segments before number i. */
export interface Segments {
  readonly from: Float64Array;
  readonly to: Float64Array;
  readonly before: Float64Array;
}

/** What a transfer does on a lane, and when a request of it waits there while none is carried out (with other transfers only). */
export interface Track {
  readonly transfer: number;
  readonly busy: Segments;
  readonly waiting: Segments;
}

const NOTHING: Segments = { from: new Float64Array(0), to: new Float64Array(0), before: new Float64Array(1) };

/** The length of the segments up to a time. */
export function lengthUpTo({ from, to, before }: Segments, time: number): number {
  const place = above(from, time) - 1;
  return place < 0 ? 0 : before[place]! + Math.min(to[place]!, time) - from[place]!;
}

/** The part of an interval that segments cover, from 0 to 1. */
export function covered(segments: Segments, from: number, to: number): number {
  return to > from ? (lengthUpTo(segments, to) - lengthUpTo(segments, from)) / (to - from) : 0;
}

/** Segments from intervals in the order of their starts, joined where they meet or overlap. */
export function joined(starts: Float64Array, ends: Float64Array): Segments {
  const [from, to] = [new Float64Array(starts.length), new Float64Array(starts.length)];
  let count = 0;
  for (let i = 0; i < starts.length; i += 1) {
    if (!(ends[i]! > starts[i]!)) continue;
    if (count > 0 && starts[i]! <= to[count - 1]!) {
      if (ends[i]! > to[count - 1]!) to[count - 1] = ends[i]!;
    } else {
      from[count] = starts[i]!;
      to[count] = ends[i]!;
      count += 1;
    }
  }
  return summed(from.subarray(0, count), to.subarray(0, count));
}

function summed(from: Float64Array, to: Float64Array): Segments {
  const before = new Float64Array(from.length + 1);
  for (let i = 0; i < from.length; i += 1) before[i + 1] = before[i]! + to[i]! - from[i]!;
  return { from, to, before };
}

/** The segments without what `others` cover. */
export function without(segments: Segments, others: Segments): Segments {
  const [from, to]: [number[], number[]] = [[], []];
  let other = 0;
  for (let i = 0; i < segments.from.length; i += 1) {
    let at = segments.from[i]!;
    const end = segments.to[i]!;
    while (other < others.from.length && others.to[other]! <= at) other += 1;
    for (let next = other; at < end; next += 1) {
      const begin = next < others.from.length ? others.from[next]! : Infinity;
      if (begin > at) {
        from.push(at);
        to.push(Math.min(begin, end));
      }
      if (begin >= end) break;
      at = others.to[next]!;
    }
  }
  return summed(Float64Array.from(from), Float64Array.from(to));
}

type Untracked = Omit<TraceData, "tracks">;

/** The tracks of every lane, one for each transfer that uses it. */
export function tracksOf(trace: Untracked): Track[][] {
  return trace.lanes.map((lane, number) => {
    const users = [...new Set(trace.hops.filter((hop) => hop.lane === number).map((hop) => hop.transfer))];
    if (users.length > 1) return users.map((transfer) => shared(trace, lane, transfer));
    const [only] = users;
    const { first, count } = lane;
    const busy = joined(trace.start.subarray(first, first + count), trace.end.subarray(first, first + count));
    return only === undefined ? [] : [{ transfer: only, busy, waiting: NOTHING }];
  });
}

function shared(trace: Untracked, { first, count }: TraceLane, transfer: number): Track {
  const mine = trace.hops.map((hop) => hop.transfer === transfer);
  const places: number[] = [];
  for (let i = first; i < first + count; i += 1) if (mine[trace.row[i]!]) places.push(i);
  const starts = Float64Array.from(places, (i) => trace.start[i]!);
  const busy = joined(
    starts,
    Float64Array.from(places, (i) => trace.end[i]!),
  );
  const ready = Float64Array.from(places, (i) => readyOf(trace, i));
  const order = Uint32Array.from(ready.keys()).sort((one, other) => ready[one]! - ready[other]!);
  const waits = joined(
    Float64Array.from(order, (i) => ready[i]!),
    Float64Array.from(order, (i) => starts[i]!),
  );
  return { transfer, busy, waiting: without(waits, busy) };
}
