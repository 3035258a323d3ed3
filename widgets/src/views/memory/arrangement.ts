// Which digit of a layout goes across in a picture of memory, and which one down, level by level.

import { type Digit, FIELDS, type OrderDigit } from "./digits.ts";

/** Digits of a level: cells are level 0. A digit alone may be wrapped: `across` and `down` are two parts of it. */
export interface Level {
  readonly across: OrderDigit | null;
  readonly down: OrderDigit | null;
}

/** The strips inside a cell, and the levels. */
export interface Arranged {
  readonly inside: OrderDigit | null;
  readonly levels: readonly Level[];
}

/** The most values of a whole dimension that lies inside the cell. It has to vary fastest. */
const CHANNELS = 4;
/** A row of more cells than this that has nothing below it is wrapped to about a square. */
export const LONG = 64;
/** The fewest cells along a side of a tile, on average over the picture. */
const CELLS_OF_TILE = 24;

export interface Shape {
  readonly inside: Digit | null;
  readonly levels: readonly { readonly across: Digit; readonly down: Digit | null }[];
}

/** Which digit goes across and which goes down, level by level. */
export function arrangement(digits: readonly Digit[], whole: (dim: number) => number): Shape {
  const [first] = digits;
  const channels = (digit: Digit): boolean => digit.extent <= CHANNELS && digit.step === 1 && digit.extent === whole(digit.dim);
  const inside = first !== undefined && digits.length > 1 && (first.dim === FIELDS || channels(first)) ? first : null;
  const rest = inside === null ? digits : digits.slice(1);
  const levels: Shape["levels"][number][] = [];
  for (let at = 0; at < rest.length; at += 1) {
    const across = rest[at] as Digit;
    const next = rest[at + 1];
    // Fields that vary slowest are planes: each is a tile of its own.
    const planes = next?.dim === FIELDS && at + 2 === rest.length;
    const down = next !== undefined && next.dim !== across.dim && !planes ? next : null;
    if (down !== null) at += 1;
    levels.push({ across, down });
  }
  return { inside, levels };
}

/** The levels as they are drawn. A digit that is alone on its level is wrapped into rows where that comes nearer to a square. */
export function wrapped(shape: Shape, digits: readonly Digit[], order: readonly OrderDigit[]): Arranged {
  const drawn = (digit: Digit): OrderDigit => order[digits.indexOf(digit)] as OrderDigit;
  let [wide, high] = [1, 1];
  const levels = shape.levels.map(({ across, down }, number): Level => {
    const own = drawn(across);
    const columns =
      down !== null
        ? own.extent
        : number > 0
          ? nearestToSquare(own.extent, wide, high)
          : own.extent > LONG
            ? wrapWidth(own.extent)
            : own.extent;
    const rows = Math.ceil(own.extent / columns);
    const level: Level =
      down !== null
        ? { across: own, down: drawn(down) }
        : {
            across: columns > 1 ? { ...own, extent: columns } : null,
            down: rows > 1 ? { ...own, extent: rows, weight: own.weight * columns } : null,
          };
    wide *= level.across?.extent ?? 1;
    high *= level.down?.extent ?? 1;
    return level;
  });
  return { inside: shape.inside === null ? null : drawn(shape.inside), levels };
}

/** The divisor of a number of tiles that, as the length of a row, makes the whole nearest to a square. */
function nearestToSquare(extent: number, wide: number, high: number): number {
  let [best, least] = [extent, Infinity];
  const look = (columns: number): void => {
    const [width, height] = [columns * wide, (extent / columns) * high];
    const ratio = width > height ? width / height : height / width;
    if (ratio < least || (ratio === least && columns > best)) [best, least] = [columns, ratio];
  };
  for (let divisor = 1; divisor * divisor <= extent && divisor <= 1 << 16; divisor += 1) {
    if (extent % divisor !== 0) continue;
    look(divisor);
    look(extent / divisor);
  }
  return best;
}

/** The length of a row of a 1-D array of many elements: a power of two, so that the array is about square. */
export function wrapWidth(extent: number): number {
  let width = 1;
  while (width * width < extent) width *= 2;
  return width;
}

/** Shortens digits until about `side` cells stand along a side, and few enough tiles that their gaps are seen. */
export function shorten(shape: Shape, shown: Map<Digit, number>, side: number): void {
  const most = Math.max(2, Math.floor(side / CELLS_OF_TILE));
  const [cells, ...tiles] = shape.levels;
  if (cells === undefined) return;
  const across: Digit[] = [];
  const down: Digit[] = [];
  const both: Digit[] = [];
  const wraps = cells.down === null && cells.across.extent > LONG;
  let wide = wraps ? wrapWidth(cells.across.extent) : cells.across.extent;
  let high = wraps ? Math.ceil(cells.across.extent / wide) : (cells.down?.extent ?? 1);
  for (const level of tiles) {
    // A digit alone stands in a row, in a column, or in rows.
    const columns = level.down !== null ? level.across.extent : nearestToSquare(level.across.extent, wide, high);
    const rows = level.down !== null ? level.down.extent : level.across.extent / columns;
    const row = level.down !== null || rows === 1 ? across : columns === 1 ? down : both;
    row.push(level.across);
    if (level.down !== null) down.push(level.down);
    wide *= columns;
    high *= rows;
  }
  const extent = (digit: Digit): number => shown.get(digit) ?? 1;
  const product = (digits: readonly Digit[]): number => digits.reduce((all, digit) => all * extent(digit), 1);
  for (const axis of [
    [...across, ...both],
    [...down, ...both],
  ]) {
    let fair = 2;
    while (axis.length > 0 && (fair + 1) ** axis.length <= most) fair += 1;
    for (const digit of axis) shown.set(digit, Math.min(extent(digit), both.includes(digit) ? fair * fair : fair));
  }
  const squares = both.reduce((all, digit) => all * Math.ceil(Math.sqrt(extent(digit))), 1);
  const room = (axis: readonly Digit[]): number => Math.max(2, Math.floor(side / (product(axis) * squares)));
  shown.set(cells.across, Math.min(extent(cells.across), wraps ? room(across) * room(down) : room(across)));
  if (cells.down !== null) shown.set(cells.down, Math.min(extent(cells.down), room(down)));
}
