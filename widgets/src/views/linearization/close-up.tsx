// A close look at one block of a layout: a few of its entries, coloured by their place in the order, and the order as a line through
// them. Two layouts look alike here where they have the same order inside of a block, however far apart its entries lie in memory.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useDark } from "#lib/hooks.ts";
import type { ByName } from "#model/by-name.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { cssOf, offsetScale } from "./drawing/scales.ts";

/** How many coordinates a side shows. With two fields beside each other there are fewer: their line goes to and fro. */
const ALONG = 5;
const BESIDE = { across: 2, down: 4 };
/** At most so many fields are drawn in a small picture and in a close look; of more, the first and the last one. */
const MOST_FIELDS = 3;
const MOST_CLOSE = 2;

interface Place {
  readonly column: number;
  readonly row: number;
}

/** Entries of a block in the order in which memory holds them, on a grid of columns and rows. Fields stand beside each other. */
export interface CloseLook {
  readonly columns: number;
  readonly rows: number;
  /** Columns of one field: between fields there is a gap. */
  readonly each: number;
  readonly order: readonly Place[];
}

/** The fields of a small picture. */
export function shownFields(linear: Linearization, most = MOST_FIELDS): number[] {
  const last = linear.fields.length - 1;
  return last < most ? linear.fields.map((_, field) => field) : [0, last];
}

/** `dims` go right and down, the other dimensions stand at 0; `block` has the coordinates of a block by dimension. */
export function closeLook(linear: Linearization, dims: readonly string[], block: ByName<number>): CloseLook {
  const fields = shownFields(linear, MOST_CLOSE);
  const alone = fields.length === 1;
  const along = (dim: string | undefined, most: number): number[] => {
    const size = linear.dims.find(({ name }) => name === dim)?.size ?? 1;
    const extent = Math.min(size, block.get(dim ?? "") ?? size);
    const count = Math.min(most, extent);
    return Array.from({ length: count }, (_, step) => Math.floor((step * extent) / count));
  };
  const [across = "", down] = dims;
  // One dimension alone has its fields below each other.
  const wraps = down === undefined || !linear.dims.some(({ name, size }) => name === down && size > 1);
  const columns = along(across, wraps || alone ? ALONG : BESIDE.across);
  const rows = wraps ? [0] : along(down, alone ? ALONG : BESIDE.down);
  const found: (Place & { offset: number })[] = [];
  fields.forEach((field, panel) => {
    columns.forEach((x, column) => {
      rows.forEach((y, row) => {
        const index = linear.dims.map(({ name }) => (name === across ? x : name === down && !wraps ? y : 0));
        const place = wraps ? { column, row: panel } : { column: panel * columns.length + column, row };
        found.push({ ...place, offset: linear.offset(index, field) });
      });
    });
  });
  found.sort((one, other) => one.offset - other.offset);
  return {
    columns: wraps ? columns.length : columns.length * fields.length,
    rows: wraps ? fields.length : rows.length,
    each: columns.length,
    order: found.map(({ column, row }) => ({ column, row })),
  };
}

/** Units of the drawing; it is as large as its style says. */
const SIZE = 100;
const GAP = 6;

interface CloseUpProps {
  linear: Linearization | null;
  dims: readonly string[];
  block: ByName<number>;
}

export function CloseUp({ linear, dims, block }: CloseUpProps): JSX.Element | null {
  const dark = useDark();
  const key = JSON.stringify([dims, [...block]]);
  const look = useMemo(() => (linear === null ? null : closeLook(linear, dims, block)), [linear, key]);
  if (look === null) return null;
  const { columns, rows, each, order } = look;
  const scale = offsetScale(dark);
  const gaps = columns / each - 1;
  const [wide, high] = [(SIZE - GAP * gaps) / columns, SIZE / rows];
  const left = (column: number): number => column * wide + GAP * Math.floor(column / each);
  const middle = ({ column, row }: Place): string => `${(left(column) + wide / 2).toFixed(1)},${((row + 0.5) * high).toFixed(1)}`;
  const line = order.map(middle).join(" ");
  const [cx, cy] = (line.split(" ")[0] ?? "0,0").split(",");
  return (
    <svg
      class="iv-close-up"
      viewBox={`0 0 ${SIZE} ${SIZE}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      data-order={order.map(({ column, row }) => `${column}.${row}`).join(" ")}
    >
      {order.map(({ column, row }, place) => (
        <rect
          key={`${column}.${row}`}
          x={left(column)}
          y={row * high}
          width={wide + 0.4}
          height={high + 0.4}
          fill={cssOf(scale[Math.round((place / Math.max(1, order.length - 1)) * (scale.length - 1))] ?? 0)}
        />
      ))}
      <polyline class="iv-close-up-rim" points={line} />
      <polyline class="iv-close-up-line" points={line} />
      <circle cx={cx} cy={cy} r="7" />
    </svg>
  );
}
