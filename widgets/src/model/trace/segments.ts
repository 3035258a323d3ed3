// Segments of time that do not overlap, with sums over them.
//
// How much of an interval they cover is then two look-ups, however many there are: the level of detail of the timeline.

/** Segments from `from[i]` to `to[i]`, in order; `before[i]` is the length of all segments before number i. */
export interface Segments {
  readonly from: Float64Array;
  readonly to: Float64Array;
  readonly before: Float64Array;
}

/** No segments. */
export const NO_SEGMENTS: Segments = { from: new Float64Array(0), to: new Float64Array(0), before: new Float64Array(1) };

/** How many of `values`, which are sorted from `from` to `to`, are at most `limit`, as a place: the first one above it. */
export function above(values: Float64Array, limit: number, from = 0, to = values.length): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

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
