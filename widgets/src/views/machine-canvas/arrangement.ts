// Where memories lie that have no position of their own: by kind within a box, boxes in boxes, nodes in rows.

import { boxAround, grown, type Point, type Rect, union } from "#lib/geometry.ts";
import type { DrawnMemory } from "#model/types.ts";
import { type Box, boxesOf, nodesAmong } from "./boxes.ts";

/** How large a memory is drawn, how far apart its neighbours are, and the room around them in a box. */
export interface Measure {
  readonly width: number;
  readonly height: number;
  readonly across: number;
  readonly down: number;
  readonly pad: number;
}
const ROOMY: Measure = { width: 138, height: 46, across: 44, down: 52, pad: 16 };
/** Of nodes with many memories in boxes: the whole machine is to be read on a small screen. */
const DENSE: Measure = { width: 108, height: 44, across: 18, down: 46, pad: 10 };
const MOST_ROOMY = 12;
export const BOX = { width: ROOMY.width, height: ROOMY.height };
/** Room around the memories of a node, and for the title of a box. */
export const PADDING = 20;
export const TITLE = 26;
/** Between the title of a box and what it holds, and between boxes that hold resources only. */
const BELOW_TITLE = 6;
/** The height of a box that holds resources only. */
const STRIP = 31;
const APART = 64;
/** Memories, or boxes alike, in one row. */
const IN_ROW = 4;
/** How much wider than high a drawing is. */
const WIDER = 1.7;
/** Of two boxes that are this much wider than high, one lies below the other. */
const WIDE = 1.5;

/** The row of a kind in its node: GPU memory on top, files at the bottom, what talks to the network to the right. */
const ROWS: ReadonlyMap<string, readonly [row: number, column: number]> = new Map([
  ["FBM", [0, 0]],
  ["ZCM", [1, 0]],
  ["REG", [1, 2]],
  ["SYS", [2, 0]],
  ["DSK", [2, 2]],
]);

/** What lies in a box, with places from its top left corner. */
interface Block {
  readonly width: number;
  readonly height: number;
  readonly places: ReadonlyMap<string, Point>;
}

const rank = ({ kind }: DrawnMemory): number => {
  const [row, column] = ROWS.get(kind) ?? [1, 1];
  return 3 * row + column;
};

/** The memories of a node without boxes. */
function inNode(members: readonly DrawnMemory[], { width, height, across, down }: Measure): Block {
  const rows: DrawnMemory[][] = [[], [], []];
  for (const memory of members) rows[ROWS.get(memory.kind)?.[0] ?? 1]?.push(memory);
  const lines = rows
    .flatMap((row) =>
      chunked(
        [...row].sort((a, b) => rank(a) - rank(b)),
        IN_ROW,
      ),
    )
    .filter((line) => line.length > 0);
  const widest = Math.max(1, ...lines.map((line) => line.length));
  const whole = widest * (width + across) - across;
  const places = new Map<string, Point>();
  lines.forEach((line, at) => {
    // A row of two in a wider node stands at its ends, so that lines find their way between.
    const step = line.length === 2 && widest > 2 ? (widest - 1) * (width + across) : width + across;
    line.forEach((memory, place) => {
      const x = whole / 2 + (place - (line.length - 1) / 2) * step;
      places.set(memory.name, { x, y: height / 2 + at * (height + down) });
    });
  });
  return { width: whole, height: lines.length * (height + down) - down, places };
}

/** Blocks in rows, each row in the middle of its line. */
function stacked(rows: readonly (readonly Block[])[], { across, down }: Measure): Block {
  const widths = rows.map((row) => row.reduce((sum, block) => sum + block.width + across, -across));
  const width = Math.max(0, ...widths);
  const places = new Map<string, Point>();
  let top = 0;
  rows.forEach((row, number) => {
    const height = Math.max(...row.map((block) => block.height));
    let left = (width - (widths[number] ?? 0)) / 2;
    for (const block of row) {
      const lower = top + (height - block.height) / 2;
      for (const [name, { x, y }] of block.places) places.set(name, { x: left + x, y: lower + y });
      left += block.width + across;
    }
    top += height + down;
  });
  return { width, height: top - down, places };
}

/** What a box holds: boxes alike in rows, then its own memories, three or more of a kind in rows of their own. */
function contentsOf(box: Box, measure: Measure): Block {
  const inner = box.inner.filter(({ all }) => all.length > 0);
  if (box.within.length === 0 && inner.length === 0) return inNode(box.memories, measure);
  const alike: Block[][] = [];
  for (const block of inner.map((each) => framed(each, measure))) {
    const last = alike.at(-1);
    if (last?.[0]?.width === block.width && last[0].height === block.height) last.push(block);
    else alike.push([block]);
  }
  const rows: Block[][][] = [];
  for (const run of alike) {
    const { width = 1, height = 1 } = run[0] ?? {};
    // A few boxes make a square in a node, and a row in a box.
    const few = isColumn(run) ? 1 : box.within.length > 0 ? run.length : Math.ceil(Math.sqrt(run.length));
    rows.push(chunked(run, run.length > IN_ROW ? columnsFor(run.length, width, height) : few));
  }
  const kinds = new Map<string, DrawnMemory[]>();
  for (const memory of [...box.memories].sort((a, b) => rank(a) - rank(b)))
    kinds.set(memory.kind, [...(kinds.get(memory.kind) ?? []), memory]);
  const groups = [...kinds.values()];
  const many = groups.filter((group) => group.length > 2).flatMap((group) => chunked(group, IN_ROW));
  const few = chunked(groups.filter((group) => group.length <= 2).flat(), 2);
  const own = [...many, ...few].map((row) =>
    row.map(({ name }): Block => {
      const { width, height } = measure;
      return { width, height, places: new Map([[name, { x: width / 2, y: height / 2 }]]) };
    }),
  );
  const [upper, lower] = rows[0] ?? [];
  // Of two rows of boxes both are near to the memories between them.
  if (own.length > 0 && rows.length === 1 && upper && lower && rows[0]?.length === 2)
    return stacked([upper, ...own, lower], measure);
  const units = rows.map((run) => stacked(run, measure));
  if (own.length > 0) units.push(stacked(own, measure));
  // Further blocks stand beside the last one while the drawing does not get wider by it.
  const widest = Math.max(...units.map(({ width }) => width));
  const lines: Block[][] = [];
  for (const unit of units) {
    const line = lines.at(-1);
    const used = line?.reduce((sum, { width }) => sum + width + measure.across, 0) ?? Infinity;
    if (line !== undefined && used + unit.width <= widest) line.push(unit);
    else lines.push([unit]);
  }
  return stacked(lines, measure);
}

/** Whether boxes alike lie below each other: two wide ones. */
const isColumn = (run: readonly Block[]): boolean => run.length === 2 && (run[0]?.width ?? 0) > WIDE * (run[0]?.height ?? 0);

/** A box with its frame around what it holds. */
function framed(box: Box, measure: Measure): Block {
  const { width, height, places } = contentsOf(box, measure);
  const moved = new Map([...places].map(([name, { x, y }]) => [name, { x: x + measure.pad, y: y + TITLE + BELOW_TITLE }]));
  return {
    width: width + 2 * measure.pad,
    height: TITLE + BELOW_TITLE + height + stripsOf(box).length * (STRIP + BELOW_TITLE) + measure.pad,
    places: moved,
  };
}

/** The boxes inside a box that hold resources only. They are strips at its bottom. */
const stripsOf = (box: Box): Box[] =>
  box.inner.filter(({ all }) => all.length === 0).flatMap((each) => [each, ...stripsOf(each)]);

function chunked<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, part) => items.slice(part * size, (part + 1) * size));
}

export const boxOf = (centre: Point, { width, height }: { width: number; height: number } = BOX): Rect =>
  boxAround(centre, width, height);

/** How memories are drawn in these boxes. */
export const measureOf = (boxes: ReadonlyMap<string, Box>): Measure =>
  nodesAmong(boxes).some(({ inner, all }) => inner.length > 0 && all.length > MOST_ROOMY) ? DENSE : ROOMY;

/** The frames of boxes around their memories, by the keys of the boxes. */
export function framesOf(boxes: Iterable<Box>, places: ReadonlyMap<string, Point>, measure: Measure): Map<string, Rect> {
  const frames = new Map<string, Rect>();
  for (const box of [...boxes].reverse()) {
    const parts = [
      ...box.memories.map(({ name }) => boxOf(places.get(name) ?? { x: 0, y: 0 }, measure)),
      ...box.inner.flatMap(({ key }) => frames.get(key) ?? []),
    ];
    const held = union(parts);
    if (held === null) continue;
    const node = box.within.length === 0;
    const strips = stripsOf(box);
    const beside = grown(held, node ? PADDING : measure.pad);
    const above = TITLE + (node ? PADDING : BELOW_TITLE);
    const bottom = held.y + held.height;
    strips.forEach(({ key }, place) => {
      const y = bottom + BELOW_TITLE + place * (STRIP + BELOW_TITLE);
      frames.set(key, { ...held, y, height: STRIP });
    });
    const below = strips.length * (STRIP + BELOW_TITLE) + (node ? PADDING : measure.pad);
    frames.set(box.key, { ...beside, y: held.y - above, height: above + held.height + below });
  }
  return frames;
}

/** The columns with which nodes in rows are seen largest on a drawing that is wider than high. */
function columnsFor(count: number, width: number, height: number): number {
  const scale = (columns: number): number => Math.min(WIDER / (columns * width), 1 / (Math.ceil(count / columns) * height));
  let best = 1;
  for (let columns = 2; columns <= count; columns += 1) if (scale(columns) > scale(best)) best = columns;
  return best;
}

/** The centre of every memory: its own position where it has one. */
export function arranged(
  memories: readonly DrawnMemory[],
  boxes: ReadonlyMap<string, Box> = boxesOf(memories, []),
  measure: Measure = measureOf(boxes),
): Map<string, Point> {
  const places = new Map<string, Point>();
  for (const { name, place } of memories) if (place !== null) places.set(name, { x: place[0] ?? 0, y: place[1] ?? 0 });
  const fresh: Block[] = [];
  for (const node of nodesAmong(boxes)) {
    const without = node.all.filter((memory) => memory.place === null);
    if (without.length === node.all.length) fresh.push(contentsOf(node, measure));
    else for (const box of boxes.values()) if (box.node === node.node) placeBelow(box, node, places, measure);
  }
  if (fresh.length === 0) return places;
  const taken = union([...places.values()].map((place) => boxOf(place, measure)));
  const strips = Math.max(...nodesAmong(boxes).map((node) => stripsOf(node).length));
  const [beside, above] = [2 * PADDING + APART, 2 * PADDING + TITLE + APART + strips * (STRIP + BELOW_TITLE)];
  const width = Math.max(...fresh.map((block) => block.width)) + beside;
  const height = Math.max(...fresh.map((block) => block.height)) + above;
  const columns = columnsFor(fresh.length, width, height);
  const [left, top] = taken === null ? [0, 0] : [taken.x + taken.width + 2 * PADDING + APART, taken.y];
  fresh.forEach((block, number) => {
    const [dx, dy] = [left + (number % columns) * width, top + Math.floor(number / columns) * height];
    for (const [name, { x, y }] of block.places) places.set(name, { x: x + dx, y: y + dy });
  });
  return places;
}

/** New memories of a node that was arranged by hand stand below the others of their box, or of their node. */
function placeBelow(box: Box, node: Box, places: Map<string, Point>, { width, height, across, down }: Measure): void {
  const boxesOfPlaced = (members: readonly DrawnMemory[]): Rect | null =>
    union(members.flatMap(({ name }) => (places.has(name) ? [boxOf(places.get(name) as Point, { width, height })] : [])));
  const above = boxesOfPlaced(box.all) ?? boxesOfPlaced(node.all);
  if (above === null) return;
  box.memories
    .filter(({ name }) => !places.has(name))
    .forEach(({ name }, number) => {
      places.set(name, {
        x: above.x + width / 2 + (number % IN_ROW) * (width + across),
        y: above.y + above.height + down + height / 2 + Math.floor(number / IN_ROW) * (height + down),
      });
    });
}
