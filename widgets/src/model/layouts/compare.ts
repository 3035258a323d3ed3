// What two layouts of one instance have in common at their fast and slow ends, the twin of isoviz/layouts/compare.py.
import type { Linearization } from "./linearization.ts";

/** A digit on the index space. `top` marks the slowest digit of its dimension, the only one that padding may extend. */
export interface Mode {
  readonly dim: string;
  readonly extent: number;
  readonly step: number;
  readonly top: boolean;
}

export type NormalPart = Mode | "F";

export interface Comparison {
  /** The common parts, fastest first. */
  readonly prefix: readonly NormalPart[];
  readonly suffix: readonly NormalPart[];
  /** Entries that are adjacent in both layouts; elements of one field where F is not in the prefix. */
  readonly prefixCount: number;
  /** Blocks that have the same order in both layouts; fields are counted where F is in the suffix. */
  readonly suffixCount: number;
  /** The bytes of the prefix: the bound on a contiguous request, for the mean field where F is not in it. */
  readonly runBytes: number;
  /** Whether both have the same offset for every entry, and the same size. */
  readonly same: boolean;
}

/**
 * How many whole digits at the fast and the slow end of `a` lie in the common prefix and suffix, and the run in bytes. `shares`
 * says whether there is a prefix: it may be a part of a digit, and with one field it is F at least.
 */
export interface Common {
  readonly prefix: number;
  readonly shares: boolean;
  readonly suffix: number;
  readonly runBytes: number;
}

/** The common prefix and suffix of two layouts of one instance, counted in whole digits of `a`. */
export function common(a: Linearization, b: Linearization): Common {
  const found = compare(a, b);
  const { runBytes } = found;
  if (found.same) return { prefix: a.digits.length, shares: true, suffix: a.digits.length, runBytes };
  return {
    prefix: wholeInFront(a, found.prefix),
    shares: found.prefix.length > 0,
    suffix: wholeBehind(a, found.suffix),
    runBytes,
  };
}

/** The common prefix and suffix of two layouts of one instance. */
export function compare(a: Linearization, b: Linearization): Comparison {
  const [left, right] = [normalForm(a), normalForm(b)];
  const same = equal(left, right);
  const sizes = new Map(a.dims.map(({ name, size }) => [name, size]));
  const prefix = same ? left : prefixOf(left, right, sizes);
  const suffix = same ? left : suffixOf(left, right, sizes);
  return {
    prefix,
    suffix,
    prefixCount: countOf(prefix),
    suffixCount: countOf(suffix) * (suffix.includes("F") ? a.fields.length : 1),
    runBytes: (countOf(prefix) * a.entryBytes) / (prefix.includes("F") ? 1 : a.fields.length),
    same,
  };
}

/** The normal form: digits of extent 1 are dropped, adjacent digits of one dimension are merged, F of one field comes first. */
export function normalForm(linear: Linearization): readonly NormalPart[] {
  const single = linear.fields.length === 1;
  const found: NormalPart[] = single ? ["F"] : [];
  const ends = new Map<string, number>();
  for (const { part, dim, extent, step } of linear.digits) {
    if (part === "F") {
      if (!single) found.push("F");
      continue;
    }
    if (extent === 1) continue;
    ends.set(dim, Math.max(ends.get(dim) ?? 0, step * extent));
    const last = found.at(-1);
    if (last !== undefined && last !== "F" && last.dim === dim && last.step * last.extent === step)
      found[found.length - 1] = { dim, extent: last.extent * extent, step: last.step, top: false };
    else found.push({ dim, extent, step, top: false });
  }
  return found.map((part) => (part === "F" ? part : { ...part, top: part.step * part.extent === ends.get(part.dim) }));
}

type Sizes = ReadonlyMap<string, number>;

function prefixOf(a: readonly NormalPart[], b: readonly NormalPart[], sizes: Sizes): readonly NormalPart[] {
  const [left, right] = [[...a].reverse(), [...b].reverse()]; // stacks: the fastest on top
  const found: NormalPart[] = [];
  for (;;) {
    const [x, y] = [left.pop(), right.pop()];
    if (x === undefined || y === undefined) break;
    if (x === "F" || y === "F") {
      if (x !== y) break;
      found.push("F");
      continue;
    }
    if (x.dim !== y.dim || x.step !== y.step) break;
    const size = sizes.get(x.dim) ?? 1;
    const shared = sharedExtent(size, x, y);
    if (shared > 1) found.push({ dim: x.dim, extent: shared, step: x.step, top: x.top && y.top });
    if (x.top && y.top) {
      if (x.extent !== y.extent) break; // one layout is padded here: the next entries are not adjacent in it
      continue;
    }
    for (const [mode, stack] of [
      [x, left],
      [y, right],
    ] as const) {
      const rest = above(size, mode, shared);
      if (rest !== null) stack.push(rest);
    }
    if (!(x.top || y.top) && x.extent !== shared && y.extent !== shared) break; // no more than their gcd is shared
  }
  return joined(found);
}

/** The number of values of two digits with the same step that are adjacent in both layouts. */
function sharedExtent(size: number, x: Mode, y: Mode): number {
  if (x.top && y.top) return x.extent === y.extent ? x.extent : Math.min(x.extent, y.extent, Math.ceil(size / x.step));
  if (x.top) return y.extent;
  if (y.top) return x.extent;
  return gcd(x.extent, y.extent);
}

/** The rest of a digit after its `shared` fastest values are split off; null where nothing is left. */
function above(size: number, mode: Mode, shared: number): Mode | null {
  const step = mode.step * shared;
  if (!mode.top)
    return mode.extent > shared ? { dim: mode.dim, extent: Math.floor(mode.extent / shared), step, top: false } : null;
  const rest = Math.ceil(size / step);
  return rest > 1 ? { dim: mode.dim, extent: rest, step, top: true } : null;
}

function suffixOf(a: readonly NormalPart[], b: readonly NormalPart[], sizes: Sizes): readonly NormalPart[] {
  const [left, right] = [[...a], [...b]]; // stacks: the slowest on top
  const found: NormalPart[] = [];
  for (;;) {
    const [x, y] = [left.at(-1), right.at(-1)];
    if (x === undefined || y === undefined) break;
    if (x === "F" || y === "F") {
      if (x !== y) break;
      found.push("F");
      left.pop();
      right.pop();
      continue;
    }
    const alike = x.step * x.extent === y.step * y.extent; // for top digits: the same padding
    if (x.dim !== y.dim || x.top !== y.top || !(x.top || alike)) break;
    const step = (x.step / gcd(x.step, y.step)) * y.step;
    const extent = alike ? Math.floor((x.step * x.extent) / step) : Math.ceil((sizes.get(x.dim) ?? 1) / step);
    if (extent <= 1 && x.step !== y.step) break;
    found.push({ dim: x.dim, extent, step, top: x.top });
    for (const [mode, stack] of [
      [x, left],
      [y, right],
    ] as const) {
      stack.pop();
      if (step > mode.step) stack.push({ dim: mode.dim, extent: Math.floor(step / mode.step), step: mode.step, top: false });
    }
    if (step !== x.step && step !== y.step) break; // blocks that do not nest: nothing below their lcm repeats
  }
  return found.reverse();
}

/** The parts with adjacent digits of one dimension merged. */
function joined(parts: readonly NormalPart[]): readonly NormalPart[] {
  const found: NormalPart[] = [];
  for (const part of parts) {
    const last = found.at(-1);
    if (part !== "F" && last !== undefined && last !== "F" && last.dim === part.dim && last.step * last.extent === part.step)
      found[found.length - 1] = { dim: part.dim, extent: last.extent * part.extent, step: last.step, top: part.top };
    else found.push(part);
  }
  return found;
}

/** How many digits at the fast end lie whole in a prefix. Digits of extent 1 count where a longer one follows them. */
function wholeInFront(linear: Linearization, prefix: readonly NormalPart[]): number {
  const single = linear.fields.length === 1;
  const parts = prefix.filter((part) => !(single && part === "F"));
  let [whole, next, done] = [0, 0, 1]; // `done` values of the part `next` are counted
  for (const [place, digit] of linear.digits.entries()) {
    const part = parts[next];
    if (digit.part === "F") {
      if (single) {
        if (whole === place) whole = place + 1; // it lies in every prefix that reaches it
        continue;
      }
      if (part !== "F") break;
      next += 1;
      whole = place + 1;
      continue;
    }
    if (digit.extent === 1) continue;
    if (part === undefined || part === "F" || part.dim !== digit.dim) break;
    if (part.step * done !== digit.step || part.extent % (done * digit.extent) !== 0) break;
    whole = place + 1;
    done *= digit.extent;
    if (done === part.extent) [next, done] = [next + 1, 1];
  }
  return whole;
}

/** How many digits at the slow end lie whole in a suffix. */
function wholeBehind(linear: Linearization, suffix: readonly NormalPart[]): number {
  const count = linear.digits.length;
  const single = linear.fields.length === 1;
  let [whole, next] = [0, suffix.length - 1];
  for (let place = count - 1; place >= 0; place -= 1) {
    const digit = linear.digits[place];
    const part = suffix[next];
    if (digit === undefined || digit.extent === 1) continue;
    if (digit.part === "F") {
      if (single) continue;
      if (part !== "F") break;
      next -= 1;
    } else {
      if (part === undefined || part === "F" || part.dim !== digit.dim || digit.step % part.step !== 0) break;
      if (digit.step === part.step) next -= 1;
    }
    whole = count - place;
  }
  return whole;
}

function countOf(parts: readonly NormalPart[]): number {
  return parts.reduce((product, part) => (part === "F" ? product : product * part.extent), 1);
}

function equal(a: readonly NormalPart[], b: readonly NormalPart[]): boolean {
  return (
    a.length === b.length &&
    a.every((x, place) => {
      const y = b[place];
      if (x === "F" || y === "F" || y === undefined) return x === y;
      return x.dim === y.dim && x.extent === y.extent && x.step === y.step && x.top === y.top;
    })
  );
}

function gcd(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}
