// What hardware sees of a layout: the load of a warp, the twin of isoviz/layouts/hardware.py.
import type { Linearization } from "./linearization.ts";

/** Bytes of a sector of a GPU's memory, and of a page of memory. */
export const SECTOR = 32;
export const PAGE = 4096;

const WARP = 32;
const BANKS = 32;
const WORD = 4;

/**
 * How the 32 lanes of a warp load consecutive entries along a dimension. `entries` are their indices, lane by lane. A lane takes its
 * bytes in `requests` requests of `width` bytes; `sectors` are those that the requests touch, `leastSectors` those of the same bytes
 * without gaps; `conflicts` are the turns that bank conflicts add where the array lies in shared memory.
 */
export interface WarpLoad {
  readonly entries: readonly (readonly number[])[];
  readonly width: number;
  readonly requests: number;
  readonly sectors: number;
  readonly leastSectors: number;
  readonly turns: number;
  readonly conflicts: number;
}

/** The load whose lanes take `lane` bytes (4, 8 or 16) of whole entries along the dimension number `dim`, from an index on. */
export function warpLoad(linear: Linearization, dim: number, start: readonly number[], lane: number, field: number): WarpLoad {
  const size = linear.fields[field]?.size ?? 1;
  const first = start[dim] ?? 0;
  const left = (linear.dims[dim]?.size ?? 1) - first;
  let count = Math.max(1, Math.floor(lane / size));
  let lanes = Math.min(WARP, Math.floor(left / count));
  if (lanes === 0) [count, lanes] = [left, 1]; // the dimension ends within the first lane
  const entries = Array.from({ length: lanes * count }, (_, k) => start.map((at, place) => (place === dim ? first + k : at)));
  const offsets = entries.map((index) => linear.offset(index, field));
  const width = widest(offsets, count, size, lane);
  const requests = places(offsets, count, size, width);
  const turns = requests.map((request) => bankTurns(request, width));
  const taken = turns.flat().reduce((sum, each) => sum + each, 0);
  return {
    entries,
    width,
    requests: requests.length,
    sectors: requests.reduce((sum, request) => sum + new Set(request.map((at) => Math.floor(at / SECTOR))).size, 0),
    leastSectors: Math.ceil((lanes * count * size) / SECTOR),
    turns: taken,
    conflicts: taken - turns.flat().length,
  };
}

/** The widest requests in which all lanes can take their entries: adjacent and aligned. */
function widest(offsets: readonly number[], count: number, size: number, most: number): number {
  for (let step = most; step > 1; step /= 2) {
    if ((count * size) % step !== 0 || (step % size !== 0 && size % step !== 0)) continue;
    const per = Math.max(1, step / size);
    const fits = offsets.every((at, k) => (k % per === 0 ? at % step === 0 : at === (offsets[k - 1] ?? 0) + size));
    if (fits) return step;
  }
  return 1;
}

/** For each request, where the lanes begin. */
function places(offsets: readonly number[], count: number, size: number, width: number): number[][] {
  const per = Math.max(1, width / size);
  const found: number[][] = [];
  for (let entry = 0; entry < count; entry += per)
    for (let byte = 0; byte < Math.max(size, width); byte += width)
      found.push(offsets.filter((_, k) => k % count === entry).map((at) => at + byte));
  return found;
}

/** The turns of one request to shared memory, for each group of lanes that is carried out at a time. */
export function bankTurns(request: readonly number[], width: number): number[] {
  const together = (WARP * WORD) / Math.max(WORD, width);
  const found: number[] = [];
  for (let first = 0; first < request.length; first += together) {
    const words = new Set<number>();
    for (const at of request.slice(first, first + together))
      for (let word = 0; word < Math.max(1, width / WORD); word += 1) words.add(Math.floor(at / WORD) + word);
    const banks = new Array<number>(BANKS).fill(0);
    for (const word of words) banks[word % BANKS] = (banks[word % BANKS] ?? 0) + 1;
    found.push(Math.max(...banks));
  }
  return found;
}
