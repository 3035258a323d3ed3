// Steps through the order of memory, and what lies in a range of bytes.
import type { Linearization } from "#model/layouts/linearization.ts";
import { type Entry, entryAt, nextEntry, positionOf } from "#model/layouts/order.ts";
import { formatCount } from "#model/units.ts";

/** The element that follows in memory, padding left out; null behind the last one. */
export function nextElement(linear: Linearization, element: Entry): Entry | null {
  return elementFrom(linear, positionOf(linear, element.index, element.field) + 1);
}

/** The element at a position of the order, or, where it is padding, the next one behind it; null where none follows. */
export function elementFrom(linear: Linearization, position: number): Entry | null {
  const next = nextEntry(linear, position);
  return next === null ? null : entryAt(linear, next);
}

/** The element before in memory, padding left out; null before the first one. */
export function previousElement(linear: Linearization, element: Entry): Entry | null {
  const digits = linear.digitsOf(element.index, element.field);
  const place = digits.findIndex((value) => value > 0);
  if (place < 0) return null;
  digits[place] = (digits[place] ?? 0) - 1;
  digits.fill(0, 0, place);
  // The faster digits become as large as their dimensions allow, the slowest of them first.
  const index = linear.dims.map(() => 0);
  let field = 0;
  for (let at = digits.length - 1; at >= 0; at -= 1) {
    const digit = linear.digits[at];
    if (digit === undefined) continue;
    const dim = digit.part === "F" ? -1 : linear.dimension(digit.dim);
    if (at < place) {
      const room = dim < 0 ? Infinity : ((linear.dims[dim]?.size ?? 1) - 1 - (index[dim] ?? 0)) / digit.step;
      digits[at] = Math.min(digit.extent - 1, Math.floor(room));
    }
    if (dim < 0) field = digits[at] ?? 0;
    else index[dim] = (index[dim] ?? 0) + (digits[at] ?? 0) * digit.step;
  }
  return { index, field };
}

/** How one gets from an element to another: "x + 1", "y + 1, x − 7", "re to im". */
export function stepText(linear: Linearization, from: Entry, to: Entry): string {
  const up: string[] = [];
  const down: string[] = [];
  for (let dim = linear.dims.length - 1; dim >= 0; dim -= 1) {
    const way = (to.index[dim] ?? 0) - (from.index[dim] ?? 0);
    const name = linear.dims[dim]?.name ?? "";
    if (way > 0) up.push(`${name} + ${formatCount(way)}`);
    if (way < 0) down.push(`${name} − ${formatCount(-way)}`);
  }
  const fields =
    to.field === from.field ? [] : [`${linear.fields[from.field]?.name ?? ""} to ${linear.fields[to.field]?.name ?? ""}`];
  return [...fields, ...up, ...down].join(", ");
}

/** The elements that begin in the bytes from `first` up to `end`, and the one that `first` lies in; at most `most`. */
export function elementsIn(linear: Linearization, first: number, end: number, most = 4096): Entry[] {
  const found: Entry[] = [];
  let position: number | null = positionAt(linear, first);
  while (found.length < most) {
    position = nextEntry(linear, position);
    const element = position === null ? null : entryAt(linear, position);
    if (position === null || element === null || linear.offset(element.index, element.field) >= end) break;
    found.push(element);
    position += 1;
  }
  return found;
}

/** The element that holds a byte, or the next one behind it where the byte is padding. */
export function elementAtOrAfter(linear: Linearization, byte: number): Entry | null {
  return byte < 0 || byte >= linear.nbytes ? null : elementFrom(linear, positionAt(linear, byte));
}

/** The position in the order of what holds a byte, padding included. */
export function positionAt(linear: Linearization, byte: number): number {
  const inner = linear.innerCount;
  const turn = inner * linear.entryBytes;
  const turns = Math.floor(byte / turn);
  let rest = byte - turns * turn;
  let field = 0;
  for (; field < linear.fields.length - 1; field += 1) {
    const room = inner * (linear.fields[field]?.size ?? 1);
    if (rest < room) break;
    rest -= room;
  }
  return (turns * linear.fields.length + field) * inner + Math.floor(rest / (linear.fields[field]?.size ?? 1));
}

/** The bytes of each field among those from `first` up to `end`, padding included. */
export function fieldShares(linear: Linearization, first: number, end: number): number[] {
  const inner = linear.innerCount;
  const turn = inner * linear.entryBytes;
  const below = (byte: number, start: number, size: number): number => {
    const turns = Math.floor(byte / turn);
    return turns * inner * size + Math.max(0, Math.min(inner * size, byte - turns * turn - inner * start));
  };
  let start = 0;
  return linear.fields.map(({ size }) => {
    const share = below(end, start, size) - below(first, start, size);
    start += size;
    return share;
  });
}
