// A chunk on its way, in a few pieces: where each lies in the memory of every stop, and which of them a hop moves together.
//
// A piece stands for the entries around it. Its places come from the layouts: pieces are in the order of their offsets, a line of a
// memory ends where its fastest dimension begins anew, and there is a gap where memory holds something else in between.
import { type ChunkContent, contentOf, runAlong, runsOf } from "#model/layouts/chunk-boxes.ts";
import { type ChunkNumbers, chunkFinder } from "#model/layouts/chunks.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { type Entry, entryAt, positionOf } from "#model/layouts/order.ts";
import { contiguousBox, type PartOfInstance, type RequestBox, requestBox, smallestBox } from "#model/layouts/requests.ts";
import type { ShownPath } from "#model/types.ts";

/** Pieces along the first, second and third dimension that is drawn: fewer where fields stand beside them. */
const ALONG: readonly (readonly number[])[] = [[8], [6, 4], [4, 3, 2]];
const BESIDE: readonly (readonly number[])[] = [[5], [4, 3], [3, 2, 2]];
const MOST_FIELDS = 3;

/** A place in the memory of a stop: line and column, and the gaps before it in both directions. */
export interface Place {
  readonly column: number;
  readonly line: number;
  readonly gapsBefore: number;
  readonly gapsAbove: number;
}

export interface StopPicture {
  /** By piece. */
  readonly places: readonly Place[];
  /** Columns and lines with their gaps, a gap being as wide as `GAP` pieces. */
  readonly width: number;
  readonly height: number;
}

export interface HopPicture {
  /** The pieces that move as one, in the order of the memory that they leave. */
  readonly groups: readonly (readonly number[])[];
  /** Contiguous runs of the whole chunk, each a request. */
  readonly requests: number;
  /** Bytes of a request, on average. */
  readonly requestBytes: number;
}

export interface MotionPicture {
  /** The pieces in the order of the source. */
  readonly pieces: readonly Entry[];
  /** Elements and bytes of the chunk. */
  readonly elements: number;
  readonly bytes: number;
  readonly stops: readonly StopPicture[];
  readonly hops: readonly HopPicture[];
}

/** The width of a gap, in pieces. */
export const GAP = 0.5;

/**
 * The picture of one chunk of a path, which counts its own chunks from 0. `layouts` are those of its stops, on what the path moves;
 * `ends` say where that lies in the instances of source and destination, null where it is all of them. Null where the chunk has
 * nothing to show.
 */
export function motionPicture(
  path: Pick<ShownPath, "chunkDigits" | "perChunk" | "firstChunk">,
  layouts: readonly Linearization[],
  own: number,
  ends: readonly [PartOfInstance, PartOfInstance] | null = null,
): MotionPicture | null {
  const blocks = path.chunkDigits.reduce((product, { extent }) => product * extent, 1);
  const numbers: ChunkNumbers = {
    digits: path.chunkDigits,
    perChunk: path.perChunk,
    count: Math.ceil(blocks / path.perChunk),
  };
  const chunk = path.firstChunk + own;
  const [source, destination] = [layouts[0], layouts.at(-1)];
  if (source === undefined || destination === undefined) return null;
  const whole = wholeOf(layouts, numbers, chunk);
  const content = whole === null ? null : contentOf(numbers, whole, chunk);
  if (whole === null || content === null || content.boxes.length === 0) return null;
  const numberOf = chunkFinder(numbers, source.dims);
  const isInside = ({ dims }: Linearization, index: readonly number[]): boolean =>
    index.every((at, dim) => at >= 0 && at < (dims[dim]?.size ?? 0));
  const isHeld = ({ index, field }: Entry): boolean => isInside(source, index) && numberOf(index, field) === chunk;
  const partAt = (place: number): PartOfInstance | null =>
    place === 0 ? (ends?.[0] ?? null) : place === layouts.length - 1 ? (ends?.[1] ?? null) : null;
  const pieces = sorted(piecesOf(content, layouts).filter(isHeld), source);
  let [elements, bytes] = [0, 0];
  for (const { coordinates, fields } of content.boxes) {
    const entries = coordinates.reduce((product, values) => product * values.length, 1);
    elements += entries * fields.length;
    bytes += entries * fields.reduce((size, field) => size + (source.fields[field]?.size ?? 0), 0);
  }
  return {
    pieces,
    elements,
    bytes,
    stops: layouts.map((linear, place) => stopPicture(linear, partAt(place), pieces, isHeld)),
    hops: layouts.slice(1).map((to, place) => {
      const from = layouts[place] ?? to;
      const parts = [partAt(place), partAt(place + 1)].filter((part) => part !== null);
      const box = smallestBox([requestBox(from, to), ...parts.map(contiguousBox)], from.fields.length);
      const requests = runsOf(content, from, to, box);
      return { groups: groupsOf(from, box, pieces), requests, requestBytes: bytes / Math.max(1, requests) };
    }),
  };
}

/** The layout that the chunk is a contiguous part of: the one of a buffer, or of the end that says the order of chunks. */
function wholeOf(layouts: readonly Linearization[], numbers: ChunkNumbers, chunk: number): Linearization | null {
  const between = layouts[1];
  if (layouts.length > 2 && between !== undefined) return between;
  const reach = (linear: Linearization): number => {
    const offsets = (contentOf(numbers, linear, chunk)?.boxes ?? []).flatMap(({ coordinates, fields }) => {
      const end = (last: boolean): number[] => coordinates.map((values) => (last ? values.at(-1) : values[0]) ?? 0);
      return fields.flatMap((field) => [linear.offset(end(false), field), linear.offset(end(true), field)]);
    });
    return Math.max(...offsets) - Math.min(...offsets);
  };
  return [...layouts].reverse().reduce((best, linear) => (reach(linear) < reach(best) ? linear : best));
}

function piecesOf(content: ChunkContent, layouts: readonly Linearization[]): Entry[] {
  const [source, destination] = [layouts[0] as Linearization, layouts.at(-1) as Linearization];
  const held = source.dims.map((_, dim) => ascending(content.boxes.flatMap(({ coordinates }) => coordinates[dim] ?? [])));
  const own = [...new Set(content.boxes.flatMap(({ fields }) => fields))].sort((a, b) => a - b);
  const fields = own.length <= MOST_FIELDS ? own : [...own.slice(0, MOST_FIELDS - 1), own.at(-1) ?? 0];
  // The dimensions that vary fastest at one of the ends: those are what turns.
  const rank = (linear: Linearization, dim: number): number => Math.min(Infinity, ...linear.placesOf(dim));
  const drawn = source.dims
    .map((_, dim) => dim)
    .filter((dim) => (held[dim]?.length ?? 0) > 1)
    .sort(
      (a, b) =>
        Math.min(rank(source, a), rank(destination, a)) - Math.min(rank(source, b), rank(destination, b)) ||
        rank(source, a) - rank(source, b),
    )
    .slice(0, 3)
    .sort((a, b) => rank(source, a) - rank(source, b));
  const most = (fields.length > 1 ? BESIDE : ALONG)[drawn.length - 1] ?? [];
  const picked = source.dims.map((_, dim) => {
    const values = held[dim] ?? [0];
    const place = drawn.indexOf(dim);
    return place < 0 ? values.slice(0, 1) : picks(values, most[place] ?? 2, stepsOf(layouts, dim));
  });
  const indices = picked.reduce<number[][]>(
    (found, values) => found.flatMap((index) => values.map((at) => [...index, at])),
    [[]],
  );
  return indices.flatMap((index) => fields.map((field) => ({ index, field })));
}

const ascending = (values: readonly number[]): number[] => [...new Set(values)].sort((a, b) => a - b);

/** Where digits of a dimension begin, in any of the layouts. */
function stepsOf(layouts: readonly Linearization[], dim: number): number[] {
  return ascending(layouts.flatMap((linear) => linear.placesOf(dim).map((place) => linear.digits[place]?.step ?? 1))).slice(1);
}

/** A few of some values, evenly; where they lie in several blocks, as many in each of two blocks. */
function picks(values: readonly number[], most: number, steps: readonly number[]): number[] {
  const even = (of: readonly number[], count: number): number[] =>
    count >= of.length ? [...of] : Array.from({ length: count }, (_, each) => of[Math.floor((each * of.length) / count)] ?? 0);
  if (values.length <= most) return [...values];
  for (const step of steps) {
    const blocks = new Map<number, number[]>();
    for (const at of values) {
      const block = blocks.get(Math.floor(at / step));
      if (block === undefined) blocks.set(Math.floor(at / step), [at]);
      else block.push(at);
    }
    const [one = [], other = []] = even([...blocks.keys()], 2).map((block) => blocks.get(block) ?? []);
    if (blocks.size > 1 && one.length > 1) return [...even(one, most / 2), ...even(other, most / 2)];
  }
  return even(values, most);
}

function sorted(pieces: readonly Entry[], linear: Linearization): Entry[] {
  return pieces
    .map((piece) => ({ piece, offset: linear.offset(piece.index, piece.field) }))
    .sort((a, b) => a.offset - b.offset)
    .map(({ piece }) => piece);
}

function stopPicture(
  linear: Linearization,
  part: PartOfInstance | null,
  pieces: readonly Entry[],
  isHeld: (entry: Entry) => boolean,
): StopPicture {
  const order = sorted(pieces, linear);
  const columns = lineLength(order);
  const places = new Map<Entry, Place>();
  let [gapsAbove, gapsBefore, widest] = [0, 0, 0];
  order.forEach((piece, at) => {
    const before = order[at - 1];
    const apart = before !== undefined && isApart(part ?? { linear, first: [] }, before, piece, isHeld);
    if (at % columns === 0) {
      gapsBefore = 0;
      if (apart) gapsAbove += 1;
    } else if (apart) gapsBefore += 1;
    widest = Math.max(widest, gapsBefore);
    places.set(piece, { column: at % columns, line: Math.floor(at / columns), gapsBefore, gapsAbove });
  });
  return {
    places: pieces.map((piece) => places.get(piece) as Place),
    width: Math.min(columns, order.length) + GAP * widest,
    height: Math.ceil(order.length / columns) + GAP * gapsAbove,
  };
}

/** Places between two pieces where it is looked whether memory holds the chunk there. */
const PROBES = 8;

/** Whether memory holds something else between two pieces of a chunk. */
function isApart(
  { linear, first }: Pick<PartOfInstance, "linear" | "first">,
  before: Entry,
  piece: Entry,
  isHeld: (entry: Entry) => boolean,
): boolean {
  const shifted = (index: readonly number[], way: number): number[] => index.map((at, dim) => at + way * (first[dim] ?? 0));
  const [from, to] = [before, piece].map(({ index, field }) => positionOf(linear, shifted(index, 1), field)) as [number, number];
  const probes = Array.from({ length: PROBES }, (_, probe) => from + Math.round(((to - from) * (probe + 1)) / (PROBES + 1)));
  return [...probes, to - 1].some((at) => {
    const entry = entryAt(linear, at);
    return entry !== null && !isHeld({ index: shifted(entry.index, -1), field: entry.field });
  });
}

/** How many pieces follow each other until something else than the fastest dimension changes. */
function lineLength(order: readonly Entry[]): number {
  const [first, second] = order;
  if (first === undefined || second === undefined) return 1;
  const changed = (one: Entry, other: Entry): string =>
    [...one.index.map((at, dim) => (at === other.index[dim] ? "" : dim)), one.field === other.field ? "" : "F"].join("");
  const fastest = changed(first, second);
  const end = order.findIndex((piece, at) => at > 0 && changed(first, piece) !== fastest);
  return end < 0 ? order.length : end;
}

function groupsOf(from: Linearization, box: RequestBox, pieces: readonly Entry[]): number[][] {
  const nameOf = ({ index, field }: Entry): string =>
    [...index.map((at, dim) => runAlong(at, box, from.dims[dim]?.name ?? "")), box.fields === "all" ? "" : field].join();
  const numbers = new Map(pieces.map((piece, number) => [piece, number]));
  const groups = new Map<string, number[]>();
  for (const piece of sorted(pieces, from)) {
    const name = nameOf(piece);
    const group = groups.get(name) ?? [];
    group.push(numbers.get(piece) ?? 0);
    groups.set(name, group);
  }
  return [...groups.values()];
}
