// How the stops of a path are arranged: in one row, as large as there is room; where there is little, hops that only keep the order
// fold into one arrow; and where even that is too wide, in rows that are read like lines of text.

/** Widths in CSS pixels: of a hop with its arrow, where there is room and where there is little, and what a step to another node adds. */
const HOP = 94;
const NARROW_HOP = 80;
const ROOMY_HOP = 132;
const CROSSING = 16;
/** The room at both ends of a row. */
const EDGE = 24;
/** Sides of the picture of a stop: the largest, one that can be read well, and the smallest. */
const MOST = 200;
const GOOD = 120;
const FAIR = 88;
const LEAST = 60;

/** The shown stops of a row by their places among all shown ones, the last one included. A hop leads from each row to the next. */
export interface Row {
  readonly from: number;
  readonly to: number;
}

export interface Arrangement {
  /** The numbers of the stops that are shown: between two of them lie one hop or, folded, several. */
  readonly stops: readonly number[];
  readonly rows: readonly Row[];
  /** The side of a picture, and the width of a hop. */
  readonly side: number;
  readonly hop: number;
}

/** What there is to arrange: the node of each stop, and which hops only keep the order. */
export interface Strung {
  readonly nodes: readonly number[];
  readonly keeps: readonly boolean[];
  /** A hop or a stop that has to be seen: hops around it are not folded. */
  readonly seen: { readonly hop: number | null; readonly stop: number | null };
}

/** `width` is the room in CSS pixels, 0 while it is not known; `high` is the largest side that the height allows. */
export function arranged(strung: Strung, width: number, high = MOST): Arrangement {
  const every = strung.nodes.map((_, stop) => stop);
  const folded = foldedStops(strung);
  const tallest = Math.max(LEAST, Math.min(MOST, high));
  if (width <= 0) return { stops: every, rows: [whole(every)], side: Math.min(GOOD, tallest), hop: HOP };
  const steps: readonly (readonly [readonly number[], number, number])[] = [
    [every, HOP, GOOD],
    [folded, HOP, FAIR],
    [every, NARROW_HOP, FAIR],
    [folded, NARROW_HOP, LEAST],
  ];
  for (const [stops, hop, least] of steps) {
    const side = sideOf(strung, stops, [whole(stops)], width, hop);
    if (side >= Math.min(least, tallest))
      return grown(strung, { stops, rows: [whole(stops)], side: Math.min(side, tallest), hop }, width);
  }
  for (let count = 2; count < folded.length; count += 1) {
    const rows = divided(folded.length, count);
    const side = sideOf(strung, folded, rows, width, NARROW_HOP);
    if (side >= LEAST) return { stops: folded, rows, side: Math.floor(Math.min(side, FAIR, tallest)), hop: NARROW_HOP };
  }
  return { stops: folded, rows: divided(folded.length, folded.length), side: LEAST, hop: NARROW_HOP };
}

const whole = (stops: readonly number[]): Row => ({ from: 0, to: stops.length - 1 });

/** The stops that stay where two or more hops in a row only keep the order. */
function foldedStops({ nodes, keeps, seen }: Strung): number[] {
  const around = (hop: number): [number, number] => {
    let [first, last] = [hop, hop];
    while (keeps[first - 1] === true) first -= 1;
    while (keeps[last + 1] === true) last += 1;
    return [first, last];
  };
  return nodes.flatMap((_, stop) => {
    if (keeps[stop - 1] !== true || keeps[stop] !== true) return [stop];
    const [first, last] = around(stop);
    const inside =
      (seen.hop !== null && seen.hop >= first && seen.hop <= last) ||
      (seen.stop !== null && seen.stop > first && seen.stop <= last);
    return inside ? [stop] : [];
  });
}

function divided(stops: number, count: number): Row[] {
  const each = Math.ceil(stops / count);
  return Array.from({ length: Math.ceil(stops / each) }, (_, row) => ({
    from: row * each,
    to: Math.min(stops, (row + 1) * each) - 1,
  }));
}

/** What the hops of a row take, the one to the next row included. */
function hopsWidth({ nodes }: Strung, stops: readonly number[], { from, to }: Row, hop: number): number {
  let width = EDGE;
  for (let at = from; at <= to && at + 1 < stops.length; at += 1)
    width += hop + (nodes[stops[at] ?? 0] === nodes[stops[at + 1] ?? 0] ? 0 : CROSSING);
  return width;
}

/** The side of a picture for which the fullest row fits. */
function sideOf(strung: Strung, stops: readonly number[], rows: readonly Row[], width: number, hop: number): number {
  return Math.floor(Math.min(...rows.map((row) => (width - hopsWidth(strung, stops, row, hop)) / (row.to - row.from + 1))));
}

/** What is left of the width goes to the words of the hops; their arrows stay as long as they are. */
function grown(strung: Strung, arrangement: Arrangement, width: number): Arrangement {
  const { stops, hop } = arrangement;
  const spare = width - rowWidth(strung, arrangement, whole(stops));
  const more = stops.length > 1 ? Math.floor(spare / (stops.length - 1)) : 0;
  return { ...arrangement, hop: Math.max(hop, Math.min(ROOMY_HOP, hop + more)) };
}

/** The width of a row. */
export function rowWidth(strung: Strung, { stops, side, hop }: Omit<Arrangement, "rows">, row: Row): number {
  return (row.to - row.from + 1) * side + hopsWidth(strung, stops, row, hop);
}
