// What one chunk of a path holds of the array, and in how many contiguous runs a hop moves it.
import type { BlockDigit, ChunkNumbers } from "./chunks.ts";
import type { Linearization } from "./linearization.ts";
import { type RequestBox, requestBox } from "./requests.ts";

/** A box of the index space with some fields. Its coordinates ascend; they have gaps where a slower digit is a part of a block. */
export interface ChunkBox {
  /** By dimension, in the order of the layout's. */
  readonly coordinates: readonly (readonly number[])[];
  readonly fields: readonly number[];
}

/** A chunk: its boxes, which have no entry in common, and its blocks, from `first` to before `end`. */
export interface ChunkContent {
  readonly boxes: readonly ChunkBox[];
  readonly first: number;
  readonly end: number;
  /** Elements that a block has room for. */
  readonly perBlock: number;
}

/** More coordinates of a dimension than this are not listed. */
const MOST_COORDINATES = 2 ** 21;

/** The values of a digit that a box has. */
interface Limited extends BlockDigit {
  readonly from: number;
  readonly to: number;
}

/** What a chunk of a layout holds, which its slowest components number; null where that is too much to list. */
export function contentOf(numbers: ChunkNumbers, linear: Linearization, chunk: number): ChunkContent | null {
  const blocks = numbers.digits.reduce((product, { extent }) => product * extent, 1);
  const first = chunk * numbers.perChunk;
  const end = chunk >= numbers.count - 1 ? blocks : first + numbers.perChunk;
  const elements = linear.count * linear.fields.length;
  const boxes: ChunkBox[] = [];
  for (const limits of aligned(numbers.digits, first, end)) {
    const coordinates = linear.dims.map(({ name, size }) =>
      valuesOf(
        size,
        limits.filter(({ dim }) => dim === name),
      ),
    );
    if (coordinates.some((found) => found === null)) return null;
    const fields = limits.find(({ dim }) => dim === "F");
    const all = linear.fields.map((_, field) => field);
    boxes.push({
      coordinates: coordinates as number[][],
      fields: fields === undefined ? all : all.slice(fields.from, fields.to),
    });
  }
  return {
    boxes: boxes.filter((box) => box.coordinates.every((found) => found.length > 0)),
    first,
    end,
    perBlock: elements / blocks,
  };
}

/** The blocks from `first` to before `end` as boxes of the digits that number them, fastest first. */
function aligned(digits: readonly BlockDigit[], first: number, end: number): Limited[][] {
  const weights: number[] = [];
  let weight = 1;
  for (const { extent } of digits) {
    weights.push(weight);
    weight *= extent;
  }
  const found: Limited[][] = [];
  const cut = (level: number, from: number, to: number, above: Limited[]): void => {
    const digit = digits[level];
    if (from >= to) return;
    if (digit === undefined) {
      found.push(above);
      return;
    }
    const each = weights[level] ?? 1;
    const limited = (low: number, high: number): Limited[] =>
      high - low === digit.extent ? above : [...above, { ...digit, from: low, to: high }];
    const [low, high] = [Math.ceil(from / each), Math.floor(to / each)];
    if (low > high) {
      // Within one value of the digit.
      cut(level - 1, from - high * each, to - high * each, limited(high, high + 1));
      return;
    }
    if (from < low * each) cut(level - 1, from - (low - 1) * each, each, limited(low - 1, low));
    if (low < high) found.push(limited(low, high));
    if (high * each < to) cut(level - 1, 0, to - high * each, limited(high, high + 1));
  };
  cut(digits.length - 1, first, end, []);
  return found;
}

/** The coordinates of a dimension where its digits have values within their limits. */
function valuesOf(size: number, limits: readonly Limited[]): number[] | null {
  // The slowest digit says where the coordinates lie; the others are looked at one by one.
  const top = limits.find(({ step, extent }) => step * extent >= size);
  const [from, to] = top === undefined ? [0, size] : [top.from * top.step, Math.min(size, top.to * top.step)];
  if (to - from > MOST_COORDINATES) return null;
  const found: number[] = [];
  for (let at = from; at < to; at += 1)
    if (limits.every((digit) => within(Math.floor(at / digit.step) % digit.extent, digit))) found.push(at);
  return found;
}

const within = (value: number, { from, to }: Limited): boolean => from <= value && value < to;

/** In how many contiguous runs of `box` a chunk goes from one layout to another. It is contiguous in one of both. */
export function runsOf(content: ChunkContent, from: Linearization, to: Linearization, box = requestBox(from, to)): number {
  const fields = from.fields.length;
  const long = Math.floor((box.entries * (box.fields === "all" ? fields : 1)) / content.perBlock + 1e-9);
  // Runs of whole blocks do not see where blocks end. Their numbers tell the runs where all blocks of both layouts are full.
  if (long > 1 && content.boxes.length > 0 && (pads(from) || pads(to))) return distinctRuns(content.boxes, box, from);
  if (long > 1 && content.boxes.length > 0) return Math.floor((content.end - 1) / long) - Math.floor(content.first / long) + 1;
  return content.boxes.reduce(
    (sum, { coordinates, fields: own }) =>
      sum +
      coordinates.reduce((product, values, dim) => product * runsAlong(values, box, from.dims[dim]?.name ?? ""), 1) *
        (box.fields === "all" ? 1 : own.length),
    0,
  );
}

/** Whether some blocks of a layout have more room than entries, at the end of a dimension. */
function pads({ count, dims }: Linearization): boolean {
  return count > dims.reduce((product, { size }) => product * size, 1);
}

/** The runs that boxes have together: a run may go on from one box to the next. */
function distinctRuns(boxes: readonly ChunkBox[], box: RequestBox, { dims }: Linearization): number {
  const runs = new Set<string>();
  for (const { coordinates, fields } of boxes) {
    let keys = box.fields === "all" ? [""] : fields.map(String);
    coordinates.forEach((values, dim) => {
      const along = [...new Set(values.map((at) => runAlong(at, box, dims[dim]?.name ?? "")))];
      keys = keys.flatMap((key) => along.map((run) => `${key},${run}`));
    });
    for (const key of keys) runs.add(key);
  }
  return runs.size;
}

/** The number of a run along a dimension that has a coordinate. */
export function runAlong(at: number, box: RequestBox, dim: string): number {
  const [extent, step] = [box.extents.get(dim) ?? 1, box.steps.get(dim) ?? 1];
  return Math.floor(at / (step * extent)) * step + (at % step);
}

function runsAlong(values: readonly number[], box: RequestBox, dim: string): number {
  return new Set(values.map((at) => runAlong(at, box, dim))).size;
}
