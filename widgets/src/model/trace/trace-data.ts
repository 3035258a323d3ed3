// A trace as typed arrays: the columns of the kernel, and what is looked up all the time: when each hop had each chunk.
//
// Requests are sorted by lane (the channel) and then by start. A row is a hop of a transfer. Times are seconds from the begin of the trace.
import type { TraceHead, TraceHop, TraceLane, TraceRing, TraceTransfer } from "#model/types.ts";
import { above, joined, NO_SEGMENTS, type Segments, without } from "./segments.ts";

export type Numbers = Uint8Array | Uint16Array | Uint32Array;

/** When a row had its chunks, by chunk; where it never had one, `begun` is infinite and `ended` minus infinity. */
export interface RowTimes {
  readonly begun: Float64Array;
  readonly ended: Float64Array;
  /** The request that ended a chunk last. */
  readonly last: Int32Array;
  /** Requests of a chunk that were carried out. */
  readonly moved: Uint32Array;
}

/** What a transfer does on a lane, and when a request of it waits there while none is carried out (with other transfers only). */
export interface Track {
  readonly transfer: number;
  readonly busy: Segments;
  readonly waiting: Segments;
}

export interface TraceData {
  readonly id: string;
  readonly where: string;
  readonly seconds: number;
  readonly note: string;
  readonly count: number;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly row: Numbers;
  readonly chunk: Numbers;
  readonly request: Numbers;
  readonly lanes: readonly TraceLane[];
  readonly hops: readonly TraceHop[];
  readonly rings: readonly TraceRing[];
  readonly transfers: readonly TraceTransfer[];
  readonly times: readonly RowTimes[];
  /** For every request, when the last of the requests before it on its lane, itself included, ends. */
  readonly reach: Float64Array;
  /** For every lane: the requests of each transfer there, with sums over them. */
  readonly tracks: readonly (readonly Track[])[];
}

type Untracked = Omit<TraceData, "tracks">;

type Column = Float64Array | Numbers;

const ARRAYS: Record<string, new (buffer: ArrayBuffer) => Column> = {
  f8: Float64Array,
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
};

/** The trace of an answer of the kernel. */
export function traceOf(head: TraceHead, buffers: readonly (DataView | ArrayBuffer)[]): TraceData {
  const columns: Record<string, Column> = {};
  head.columns.forEach(({ name, type }, place) => {
    const array = ARRAYS[type];
    const bytes = buffers[place];
    if (array === undefined || bytes === undefined) throw new Error(`a trace without its column ${name}`);
    // A view into a message may begin anywhere; numbers begin at multiples of their size.
    columns[name] = new array(
      bytes instanceof ArrayBuffer
        ? bytes
        : (bytes.buffer as ArrayBuffer).slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength),
    );
  });
  const { id, where, seconds, note, count, lanes, hops, rings, transfers } = head;
  const [start, end] = [columns.start as Float64Array, columns.end as Float64Array];
  const [row, chunk, request] = [columns.row as Numbers, columns.chunk as Numbers, columns.request as Numbers];
  const times = timesOf(hops.length, start, end, row, chunk);
  const reach = reachOf(lanes, end);
  const plain = { id, where, seconds, note, count, lanes, hops, rings, transfers, start, end, row, chunk, request, times, reach };
  return { ...plain, tracks: tracksOf(plain) };
}

/** The tracks of every lane, one for each transfer that uses it. */
function tracksOf(trace: Untracked): Track[][] {
  return trace.lanes.map((lane, number) => {
    const users = [...new Set(trace.hops.filter((hop) => hop.lane === number).map((hop) => hop.transfer))];
    if (users.length > 1) return users.map((transfer) => shared(trace, lane, transfer));
    const [only] = users;
    const { first, count } = lane;
    const busy = joined(trace.start.subarray(first, first + count), trace.end.subarray(first, first + count));
    return only === undefined ? [] : [{ transfer: only, busy, waiting: NO_SEGMENTS }];
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

function timesOf(rows: number, start: Float64Array, end: Float64Array, row: Numbers, chunk: Numbers): RowTimes[] {
  const count = new Uint32Array(rows);
  for (let i = 0; i < row.length; i += 1) {
    const [of, number] = [row[i]!, chunk[i]!];
    if (number >= count[of]!) count[of] = number + 1;
  }
  const found = Array.from(count, (chunks) => ({
    begun: new Float64Array(chunks).fill(Infinity),
    ended: new Float64Array(chunks).fill(-Infinity),
    last: new Int32Array(chunks).fill(-1),
    moved: new Uint32Array(chunks),
  }));
  for (let i = 0; i < row.length; i += 1) {
    const { begun, ended, last, moved } = found[row[i]!]!;
    const number = chunk[i]!;
    if (start[i]! < begun[number]!) begun[number] = start[i]!;
    if (end[i]! >= ended[number]!) {
      ended[number] = end[i]!;
      last[number] = i;
    }
    moved[number]! += 1;
  }
  return found;
}

function reachOf(lanes: readonly TraceLane[], end: Float64Array): Float64Array {
  const reach = new Float64Array(end.length);
  for (const { first, count } of lanes) {
    let most = -Infinity;
    for (let i = first; i < first + count; i += 1) {
      if (end[i]! > most) most = end[i]!;
      reach[i] = most;
    }
  }
  return reach;
}

/** The requests of a lane that are carried out at a time, the latest first. */
export function activeAt(trace: Pick<TraceData, "lanes" | "start" | "end" | "reach">, lane: number, time: number): number[] {
  const { first = 0, count = 0 } = trace.lanes[lane] ?? {};
  const found: number[] = [];
  for (let i = above(trace.start, time, first, first + count) - 1; i >= first && trace.reach[i]! > time; i -= 1)
    if (trace.end[i]! > time) found.push(i);
  return found;
}

/** When a request was ready: from then on it waited for its channel alone. */
export function readyOf(trace: Pick<TraceData, "row" | "chunk" | "hops" | "transfers" | "times">, request: number): number {
  const hop = trace.hops[trace.row[request]!]!;
  const transfer = trace.transfers[hop.transfer]!;
  let ready = transfer.admitted ?? transfer.submitted;
  for (const { row, lead, whole } of hop.waits) {
    const before = whole ? trace.hops[row]!.chunks - 1 : trace.chunk[request]! - lead;
    const ended = before < 0 ? undefined : trace.times[row]!.ended[before];
    if (ended !== undefined && ended > ready) ready = ended;
  }
  return ready;
}

/** The number of a hop in the plan that is shown, where the row is of its transfer: the first one of a trace. */
export function hopOfPlan(trace: TraceData, row: number): number | null {
  const hop = trace.hops[row];
  return hop === undefined || hop.transfer !== 0 ? null : hop.hop;
}
