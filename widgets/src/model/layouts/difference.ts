// Where two layouts of one array begin to store something else: pure functions.
import { common } from "./compare.ts";
import type { Linearization } from "./linearization.ts";
import { type Entry, entryAt, orderLength } from "./order.ts";

/** The first byte at which two layouts differ, and what each of them has there; null is padding, or the end of its memory. */
export interface Difference {
  readonly byte: number;
  readonly own: Entry | null;
  readonly other: Entry | null;
}

/** Elements that are looked at: behind them, layouts that people compare do not begin to differ. */
const MOST = 1 << 18;

/** The first difference of two layouts of one array; null where they store the same bytes in the same order. */
export function firstDifference(own: Linearization, other: Linearization): Difference | null {
  // Below the components that both begin with, they count alike: only the multiples of their extents can differ first.
  const { prefix } = common(own, other);
  const step = own.digits.slice(0, prefix).reduce((product, digit) => product * digit.extent, 1);
  const length = Math.max(orderLength(own), orderLength(other));
  for (let turn = 1; turn * step < length && turn < MOST; turn += 1) {
    const [mine, its] = [entryAt(own, turn * step), entryAt(other, turn * step)];
    if (mine === null && its === null) continue;
    if (mine !== null && its !== null && isSame(mine, its)) continue;
    return { byte: mine !== null ? own.offset(mine.index, mine.field) : byteOf(other, its), own: mine, other: its };
  }
  return own.nbytes === other.nbytes ? null : { byte: Math.min(own.nbytes, other.nbytes), own: null, other: null };
}

const isSame = (one: Entry, other: Entry): boolean =>
  one.field === other.field && one.index.every((at, dim) => at === other.index[dim]);

const byteOf = (linear: Linearization, entry: Entry | null): number =>
  entry === null ? 0 : linear.offset(entry.index, entry.field);
