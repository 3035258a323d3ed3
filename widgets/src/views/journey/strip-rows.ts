// How the stops of a path are arranged: in one row where they fit, else narrower, else in rows that are read like lines of text.

/** Least widths in CSS pixels; journey.css has the same ones. */
const ROOMY = { stop: 52, label: 136, hop: 92, crossing: 128 } as const;
const NARROW = { stop: 40, label: 104, hop: 76, crossing: 104 } as const;
/** More hops than this in a row are drawn narrower. */
const MOST_ROOMY = 6;

/** The stops of a row, the last one included. A hop leads from each row to the next. */
export interface Row {
  readonly from: number;
  readonly to: number;
}

export interface Arrangement {
  readonly narrow: boolean;
  readonly rows: readonly Row[];
}

/** `nodes` has the node of each stop; `width` is the room in CSS pixels, 0 while it is not known. */
export function arranged(nodes: readonly number[], width: number): Arrangement {
  const whole = { narrow: nodes.length - 1 > MOST_ROOMY, rows: [{ from: 0, to: nodes.length - 1 }] };
  if (width <= 0) return whole;
  for (let count = 1; count <= nodes.length; count += 1) {
    const rows = divided(nodes.length, count);
    for (const narrow of [false, true]) {
      if (!narrow && rows.some((row) => row.to - row.from > MOST_ROOMY)) continue;
      if (rows.every((row) => widthOf(nodes, row, narrow) <= width)) return { narrow, rows };
    }
  }
  return { narrow: true, rows: divided(nodes.length, nodes.length) };
}

function divided(stops: number, count: number): Row[] {
  const each = Math.ceil(stops / count);
  return Array.from({ length: Math.ceil(stops / each) }, (_, row) => ({
    from: row * each,
    to: Math.min(stops, (row + 1) * each) - 1,
  }));
}

/** The least width of a row: labels are wider than stops, so there is room at both ends. */
export function widthOf(nodes: readonly number[], { from, to }: Row, narrow: boolean): number {
  const { stop, label, hop, crossing } = narrow ? NARROW : ROOMY;
  let width = label + (to - from) * stop;
  for (let at = from; at <= to && at + 1 < nodes.length; at += 1) width += nodes[at] === nodes[at + 1] ? hop : crossing;
  return width;
}
