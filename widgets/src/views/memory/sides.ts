// Cells and tiles along one side of a picture of memory: `counts` says how many parts stand beside each other at each level, cells first,
// and `gaps` the pixels between them.

/** At most this share of a side goes into gaps. */
const SHARE_OF_GAPS = 0.25;

/** The gaps by level: `wanted` pixels between the smallest tiles, fewer where there is no room, none where tiles are too small. */
export function fittingGaps(counts: readonly number[], length: number, wanted: number): number[] {
  for (let unit = wanted; unit >= 1; unit -= 1) {
    let [tiles, total] = [1, 0];
    const gaps = counts.map(() => 0);
    for (let level = counts.length - 1; level >= 1; level -= 1) {
      const count = counts[level] ?? 1;
      gaps[level] = unit * level;
      total += tiles * (count - 1) * unit * level;
      tiles *= count;
    }
    if (total <= SHARE_OF_GAPS * length) return gaps;
  }
  return counts.map(() => 0);
}

/** Where a cell begins and ends along a side. */
export function spanOf(counts: readonly number[], gaps: readonly number[], length: number, cell: number): [number, number] {
  let [start, end] = [0, length];
  let below = counts.reduce((product, count) => product * count, 1);
  let rest = cell;
  for (let level = counts.length - 1; level >= 0; level -= 1) {
    const [count, gap] = [counts[level] ?? 1, gaps[level] ?? 0];
    below /= count;
    const value = Math.floor(rest / below);
    rest -= value * below;
    [start, end] = pieceOf(start, end, count, gap, value);
  }
  return [start, end];
}

/** One of `count` pieces of a stretch with gaps between them, in whole pixels as far as there are enough of them. */
export function pieceOf(start: number, end: number, count: number, gap: number, piece: number): [number, number] {
  const pitch = (end - start + gap) / count;
  const edge = (at: number): number => (pitch < 2 ? start + at * pitch : start + Math.round(at * pitch));
  return [edge(piece), piece === count - 1 ? end : edge(piece + 1) - gap];
}

/** The cell at a point along a side, and how far into it the point lies; null in a gap and outside. */
export function partAt(
  counts: readonly number[],
  gaps: readonly number[],
  length: number,
  point: number,
): { cell: number; share: number } | null {
  if (!(point >= 0 && point < length)) return null;
  let [start, end, cell] = [0, length, 0];
  for (let level = counts.length - 1; level >= 0; level -= 1) {
    const [count, gap] = [counts[level] ?? 1, gaps[level] ?? 0];
    const guess = Math.floor(((point - start) * count) / (end - start + gap));
    let found: [number, number] | null = null;
    for (const value of [guess, guess - 1, guess + 1]) {
      if (value < 0 || value >= count) continue;
      const piece = pieceOf(start, end, count, gap, value);
      if (point < piece[0] || point >= piece[1]) continue;
      found = piece;
      cell = cell * count + value;
      break;
    }
    if (found === null) return null;
    [start, end] = found;
  }
  return { cell, share: (point - start) / Math.max(1e-9, end - start) };
}
