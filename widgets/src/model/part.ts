// What moves of an array: from what was typed to numbers and back. Pure functions.
import type { ShownPart, ShownRange, ShownTransfer } from "./types.ts";
import { formatCount, parseCount } from "./units.ts";

export const EVERYTHING: ShownPart = { ranges: [], leftOut: [] };

/** The indices of one dimension that move: at the source from `first` on, at the destination from `to` on. */
export interface DimRange {
  readonly row: number;
  readonly dim: string;
  readonly size: number;
  readonly first: number;
  readonly extent: number;
  readonly to: number;
}

export function rangeOf(part: ShownPart, row: number): ShownRange {
  return part.ranges.find((each) => each.row === row) ?? { row, first: "", extent: "", to: "" };
}

/** Whether all entries move to where they were, with all their fields. */
export function isEverything(part: ShownPart): boolean {
  return part.ranges.length === 0 && part.leftOut.length === 0;
}

/** The number that a text stands for; null where it is none, or more than can be counted here. */
function number(text: string, usual: number): number | null {
  const found = text.trim() === "" ? BigInt(usual) : parseCount(text);
  return found === null || found >= 10n ** 15n ? null : Number(found);
}

/** The ranges of all dimensions; null where one of them cannot be. */
export function rangesOf(transfer: Pick<ShownTransfer, "dimensions" | "part">): DimRange[] | null {
  const found: DimRange[] = [];
  for (const row of transfer.dimensions) {
    const typed = rangeOf(transfer.part, row.key);
    const size = number(row.value, -1);
    const first = number(typed.first, 0);
    if (size === null || size < 1 || first === null) return null;
    const extent = number(typed.extent, size - first);
    const to = number(typed.to, first);
    if (extent === null || to === null || extent < 1 || first + extent > size || to + extent > size) return null;
    found.push({ row: row.key, dim: row.name, size, first, extent, to });
  }
  return found;
}

/** The part with other ranges, as short as it can be said. Ranges that are not named stay. */
export function withRanges(part: ShownPart, ranges: readonly DimRange[]): ShownPart {
  const rows = new Set(ranges.map((range) => range.row));
  const kept = part.ranges.filter((range) => !rows.has(range.row));
  const typed = ranges.map(({ row, size, first, extent, to }) => ({
    row,
    first: first === 0 ? "" : String(first),
    extent: first + extent === size ? "" : String(extent),
    to: to === first ? "" : String(to),
  }));
  return { ...part, ranges: ordered([...kept, ...typed]) };
}

/** The part with one text of a dimension changed. */
export function withText(part: ShownPart, row: number, change: Partial<ShownRange>): ShownPart {
  const rest = part.ranges.filter((range) => range.row !== row);
  return { ...part, ranges: ordered([...rest, { ...rangeOf(part, row), ...change }]) };
}

/** The part in which a field moves, or stays. */
export function withField(part: ShownPart, field: number, moves: boolean): ShownPart {
  const rest = part.leftOut.filter((key) => key !== field);
  return { ...part, leftOut: moves ? rest : [...rest, field].sort((a, b) => a - b) };
}

function ordered(ranges: readonly ShownRange[]): ShownRange[] {
  return ranges.filter(({ first, extent, to }) => (first + extent + to).trim() !== "").sort((a, b) => a.row - b.row);
}

/** What moves in a few words: "300 × 2,048 of 2,048 × 2,048, without im"; "" where everything moves. */
export function partWords(transfer: Pick<ShownTransfer, "dimensions" | "fields" | "part">): string {
  const { part, fields } = transfer;
  if (isEverything(part)) return "";
  const left = fields.filter((field) => part.leftOut.includes(field.key)).map((field) => field.name);
  const moved = fields.filter((field) => !part.leftOut.includes(field.key)).map((field) => field.name);
  const of = left.length === 0 ? "" : left.length <= moved.length ? `without ${left.join(", ")}` : `only ${moved.join(", ")}`;
  const ranges = rangesOf(transfer);
  if (ranges === null) return ["a part", of].filter((each) => each !== "").join(", ");
  const whole = ranges.every(({ size, extent }) => extent === size);
  const shape = ranges.map(({ extent }) => formatCount(extent)).join(" × ");
  const all = ranges.map(({ size }) => formatCount(size)).join(" × ");
  return [whole ? "" : `${shape} of ${all}`, of].filter((each) => each !== "").join(", ");
}

/** Where a box begins that was moved by some indices: it stays inside. */
export function movedTo(range: DimRange, to: number): DimRange {
  return { ...range, to: Math.max(0, Math.min(range.size - range.extent, to)) };
}

/** The range with other indices at the source; it keeps the same indices at the destination where it did, and stays inside there. */
export function selected(range: DimRange, first: number, last: number): DimRange {
  const [low, high] = first <= last ? [first, last] : [last, first];
  const extent = high - low + 1;
  const same = range.to === range.first;
  return { ...range, first: low, extent, to: same ? low : Math.min(range.to, range.size - extent) };
}
