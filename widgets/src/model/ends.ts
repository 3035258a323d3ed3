// The layout at an end as it is shown at once: read in the browser, with the kernel's problem where it has one.
//
// The last right layout stays for as long as the text is wrong: chips and pictures show it, greyed, and do not jump.

import { type Common, common } from "#model/layouts/compare.ts";
import { type Linearization, linearize } from "#model/layouts/linearization.ts";
import { type Part, parse } from "#model/layouts/notation.ts";
import { type Dimension, type Field, MOST_DIMENSIONS } from "#model/layouts/spaces.ts";
import type { Connection } from "./connection.ts";
import type { Side } from "./settings.ts";
import type { ShownProblem, ShownRow, ShownSettings, Snapshot } from "./types.ts";
import { parseCount } from "./units.ts";

/** What is right to show of one end. */
export interface LayoutAtEnd {
  /** As typed. */
  readonly text: string;
  /** The components of the text, or of the last right text. */
  readonly parts: readonly Part[];
  /** They on the spaces; null before there is one, and where it has more bytes than a browser can count. */
  readonly linear: Linearization | null;
  readonly problem: ShownProblem | null;
  /** Whether the text is wrong and `parts` are older. */
  readonly stale: boolean;
}

/** The spaces of the array: those that are typed, or the last right ones. */
export interface Spaces {
  readonly dims: readonly Dimension[];
  readonly fields: readonly Field[];
}

const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const DIGIT = /^.+_(in|out|\p{Nd}+)$/u;

/** Why a row cannot be, in words, and which of its two texts causes that. */
export interface RowProblem {
  readonly about: "name" | "value";
  readonly message: string;
}

/** What is wrong with a row of the index space; null where it can be. */
export function dimensionProblem(row: ShownRow, rows: readonly ShownRow[]): RowProblem | null {
  const { name } = row;
  const wrong = (about: RowProblem["about"], message: string): RowProblem => ({ about, message });
  if (rows.find((other) => other.name === name)?.key !== row.key)
    return wrong("name", `Two dimensions are called '${name}'; give this one another name`);
  if (name === "") return wrong("name", "The name is missing");
  if (!NAME.test(name)) return wrong("name", "A name has letters, digits and underscores, such as x");
  if (name === "F") return wrong("name", "F stands for the field space; choose another name");
  if (DIGIT.test(name)) return wrong("name", "The name would read as a digit in layouts; choose another name");
  const size = parseCount(row.value);
  if (row.value.trim() === "") return wrong("value", "The size is missing; expected a whole number of at least 1");
  if (size === null || size < 1n) return wrong("value", "Not a size; expected one such as 4096, 4Ki, 1e3");
  if (size >= 2n ** 63n) return wrong("value", "More than 2^63 - 1, the most that offsets can count");
  return null;
}

/** The dimensions that are typed; null where a row is wrong. */
export function typedDimensions(rows: readonly ShownRow[]): Dimension[] | null {
  if (rows.length > MOST_DIMENSIONS || rows.some((row) => dimensionProblem(row, rows) !== null)) return null;
  return rows.map(({ name, value }) => ({ name, size: Number(parseCount(value)) }));
}

/** The spaces to show: what is typed as far as it is right. The kernel alone knows how many bytes a dtype has. */
export function spacesOf(settings: ShownSettings, snapshot: Snapshot): Spaces {
  const { dims, fieldSizes } = snapshot.panes.layout;
  const last = dims.map(([name, size]) => ({ name, size }));
  return { dims: typedDimensions(settings.dimensions) ?? last, fields: fieldSizes };
}

/** Whether an instance is small enough for its offsets to be whole numbers in a browser, with padding. */
function isCountable({ dims, fields }: Spaces): boolean {
  const entry = fields.reduce((sum, field) => sum + field.size, 0);
  return dims.reduce((product, dim) => product * dim.size, entry) < 2 ** 52;
}

/** A text read on the spaces; `last` is what was right before, `kernel` what the kernel says (undefined: nothing yet). */
export function readEnd(
  text: string,
  spaces: Spaces,
  last: LayoutAtEnd | null,
  kernel: ShownProblem | null | undefined,
): LayoutAtEnd {
  const counted = isCountable(spaces);
  const read = counted ? linearize(text, spaces.dims, spaces.fields) : null;
  const parsed = parse(text);
  const own = read?.problem ?? parsed.problem;
  const problem = kernel !== undefined ? kernel : own === null ? null : { message: own.message, text, position: own.position };
  const parts = parsed.parts;
  if (parts !== null && (problem === null || last === null || last.parts.length === 0))
    return { text, parts, linear: read?.linear ?? null, problem, stale: problem !== null };
  return { text, parts: last?.parts ?? [], linear: last?.linear ?? null, problem, stale: true };
}

type Known = { key: readonly unknown[]; end: LayoutAtEnd; right: LayoutAtEnd | null };
const known = new WeakMap<Connection, Partial<Record<Side, Known>>>();

/** The layout at an end, with what the person has just done. All parts of a view get the same object until something changes. */
export function layoutAtEnd(connection: Connection, snapshot: Snapshot, side: Side): LayoutAtEnd {
  const { settings } = connection;
  const text = settings[side].layout;
  const { dims, fieldSizes } = snapshot.panes.layout;
  const right = snapshot.panes.layout[side]?.text ?? "";
  const told = snapshot.faults.problems[`${side}-layout`];
  // The kernel's word counts once it has seen what is shown; until then a problem of this very text stays.
  const seen = text === snapshot.settings[side].layout && settings.dimensions === snapshot.settings.dimensions;
  const kernel = seen && snapshot.frame.settled ? (told ?? null) : seen && told?.text === text ? told : undefined;
  const kernelKey = kernel === undefined ? undefined : JSON.stringify(kernel);
  const key = [text, settings.dimensions, dims, fieldSizes, right, kernelKey];
  let all = known.get(connection);
  if (all === undefined) known.set(connection, (all = {}));
  const before = all[side];
  if (before?.key.every((each, place) => each === key[place])) return before.end;
  const spaces = spacesOf(settings, snapshot);
  const last =
    before?.right ??
    (right === ""
      ? null
      : readEnd(right, { dims: dims.map(([name, size]) => ({ name, size })), fields: fieldSizes }, null, null));
  const end = readEnd(text, spaces, last, kernel);
  all[side] = { key, end, right: end.stale ? last : end };
  return end;
}

/** What two ends have in common, and whether they are one and the same layout. */
export interface Kept extends Common {
  readonly same: boolean;
}

/** What an end has in common with the other one, as they were right last; null where they are on different spaces. */
export function keptByBoth(own: Pick<LayoutAtEnd, "linear">, other: Pick<LayoutAtEnd, "linear">): Kept | null {
  const [a, b] = [own.linear, other.linear];
  if (a === null || b === null) return null;
  const alike =
    a.dims.length === b.dims.length &&
    a.dims.every((dim, place) => dim.name === b.dims[place]?.name && dim.size === b.dims[place]?.size);
  if (!alike || a.fields.length !== b.fields.length) return null;
  const found = common(a, b);
  return { ...found, same: found.prefix === a.digits.length && found.suffix === a.digits.length && a.nbytes === b.nbytes };
}
