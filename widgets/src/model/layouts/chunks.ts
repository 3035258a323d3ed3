// Which chunk of a path holds an entry, the twin of isoviz/layouts/chunks.py.
import type { Dimension } from "./spaces.ts";

/** A digit that numbers the blocks of the chunks; the dimension "F" counts the fields. */
export interface BlockDigit {
  readonly dim: string;
  readonly extent: number;
  readonly step: number;
}

/** The chunks of a path: runs of `perChunk` blocks, which `digits` number, fastest first. */
export interface ChunkNumbers {
  readonly digits: readonly BlockDigit[];
  readonly perChunk: number;
  readonly count: number;
}

/** The number of the chunk that holds an entry; `index` is in the order of `dims`. */
export function chunkOf(numbers: ChunkNumbers, dims: readonly Dimension[], index: readonly number[], field: number): number {
  return chunkFinder(numbers, dims)(index, field);
}

/** `chunkOf` for many entries of the same path. */
export function chunkFinder(
  numbers: ChunkNumbers,
  dims: readonly Dimension[],
): (index: readonly number[], field: number) => number {
  let weight = 1;
  const digits = numbers.digits.map(({ dim, extent, step }) => {
    const own = { place: dim === "F" ? -1 : dims.findIndex(({ name }) => name === dim), extent, step, weight };
    weight *= extent;
    return own;
  });
  const last = Math.max(0, numbers.count - 1);
  return (index, field) => {
    let block = 0;
    for (const { place, extent, step, weight: times } of digits) {
      const value = place < 0 ? field : Math.floor((index[place] ?? 0) / step) % extent;
      block += value * times;
    }
    return Math.min(last, Math.floor(block / numbers.perChunk));
  };
}
