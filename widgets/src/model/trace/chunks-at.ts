// What happens at a moment of a trace: which chunk each hop moves, and what each buffer holds.
import { above } from "./segments.ts";
import { activeAt, type TraceData } from "./trace-data.ts";

/** A chunk on its way over a hop; `share` of it has been moved, from 0 to 1. */
export interface Moving {
  readonly row: number;
  readonly transfer: number;
  readonly hop: number;
  readonly chunk: number;
  readonly share: number;
}

/** A slot in use: its chunk is being written, waits in it, or is being read. */
export interface Slot {
  readonly chunk: number;
  readonly state: "filling" | "full" | "emptying";
}

/** A buffer: the slots of it that are in use, the longest-held first. `hop` is the one that fills it. */
export interface Held {
  readonly ring: number;
  readonly transfer: number;
  readonly hop: number;
  readonly slots: number;
  readonly used: readonly Slot[];
}

export interface Moment {
  readonly moving: readonly Moving[];
  readonly held: readonly Held[];
}

/** More used slots than these are not listed one by one: buffers that hold everything are drawn as a level. */
const MOST = 64;

/** Which chunk each hop moves at a time, and which slots of each buffer are in use. */
export function chunksAt(trace: TraceData, time: number): Moment {
  const moving = new Map<string, Moving>();
  trace.lanes.forEach((_lane, lane) => {
    for (const request of activeAt(trace, lane, time)) {
      const row = trace.row[request]!;
      const { transfer, hop, requests } = trace.hops[row]!;
      const [start, end] = [trace.start[request]!, trace.end[request]!];
      const share = Math.min(1, (trace.request[request]! + (end > start ? (time - start) / (end - start) : 1)) / requests);
      const name = `${row}-${trace.chunk[request]}`;
      // Of several requests in flight, the one that is farthest says how far the chunk is.
      if ((moving.get(name)?.share ?? -1) < share) moving.set(name, { row, transfer, hop, chunk: trace.chunk[request]!, share });
    }
  });
  return {
    moving: [...moving.values()].sort((one, other) => one.row - other.row || one.chunk - other.chunk),
    held: trace.rings.map((ring, number) => {
      const { transfer, hop } = trace.hops[ring.row]!;
      return { ring: number, transfer, hop, slots: ring.slots, used: usedAt(trace, number, time) };
    }),
  };
}

/** When the hop behind a buffer has read a chunk: then its slot is free. */
export function freedAt(trace: TraceData, ring: number, chunk: number): number {
  const { row } = trace.rings[ring]!;
  const next = trace.times[row + 1]!;
  const hop = trace.hops[row + 1]!;
  return (next.moved[chunk] ?? 0) >= hop.requests ? next.ended[chunk]! : trace.transfers[hop.transfer]!.ended;
}

function usedAt(trace: TraceData, ring: number, time: number): Slot[] {
  const { row } = trace.rings[ring]!;
  const [write, read] = [trace.times[row]!, trace.times[row + 1]!];
  const { requests } = trace.hops[row]!;
  const level = levelAt(fillOf(trace, ring), time);
  const found: Slot[] = [];
  // Chunks are written in their order: those in use are the last ones that were begun.
  for (let chunk = lastBegun(write.begun, time); chunk >= 0 && found.length < Math.min(level, MOST); chunk -= 1) {
    if (write.begun[chunk]! > time || freedAt(trace, ring, chunk) <= time) continue;
    const written = write.moved[chunk]! >= requests && write.ended[chunk]! <= time;
    const state = !written ? "filling" : (read.begun[chunk] ?? Infinity) <= time ? "emptying" : "full";
    found.push({ chunk, state });
  }
  return found.reverse();
}

function lastBegun(begun: Float64Array, time: number): number {
  // Several channels at once may begin chunks out of order by a few: look a little farther.
  return Math.min(begun.length, above(begun, time) + 8) - 1;
}

/** When slots of a buffer are taken and freed, in order, with sums of these times: its level at any time, and its mean. */
export interface Fill {
  readonly taken: Float64Array;
  readonly freed: Float64Array;
  readonly takenSums: Float64Array;
  readonly freedSums: Float64Array;
}

const fills = new WeakMap<TraceData, (Fill | undefined)[]>();

export function fillOf(trace: TraceData, ring: number): Fill {
  let known = fills.get(trace);
  if (known === undefined) fills.set(trace, (known = []));
  return (known[ring] ??= newFill(trace, ring));
}

function newFill(trace: TraceData, ring: number): Fill {
  const { begun } = trace.times[trace.rings[ring]!.row]!;
  const taken = begun.filter((time) => time < Infinity).sort();
  const freed = Float64Array.from(begun.keys(), (chunk) => (begun[chunk]! < Infinity ? freedAt(trace, ring, chunk) : Infinity))
    .filter((time) => time < Infinity)
    .sort();
  return { taken, freed, takenSums: sums(taken), freedSums: sums(freed) };
}

function sums(values: Float64Array): Float64Array {
  const found = new Float64Array(values.length + 1);
  for (let i = 0; i < values.length; i += 1) found[i + 1] = found[i]! + values[i]!;
  return found;
}

/** Slots in use at a time. */
export function levelAt({ taken, freed }: Fill, time: number): number {
  return above(taken, time) - above(freed, time);
}

/** The mean of the slots in use between two times. */
export function meanLevel(fill: Fill, from: number, to: number): number {
  return to > from ? (area(fill, to) - area(fill, from)) / (to - from) : levelAt(fill, from);
}

function area({ taken, freed, takenSums, freedSums }: Fill, time: number): number {
  const [more, less] = [above(taken, time), above(freed, time)];
  return more * time - takenSums[more]! - (less * time - freedSums[less]!);
}
