// Where memories lie that have no position of their own: by kind within a node, nodes in rows.
import type { DrawnMemory } from "#model/types.ts";
import { boxAround, grown, type Point, type Rect, union } from "./geometry.ts";

export const BOX = { width: 138, height: 46 };
const ACROSS = BOX.width + 44;
const DOWN = BOX.height + 52;
/** Room around the memories of a node, and for its title. */
export const PADDING = 20;
export const TITLE = 26;
const APART = 64;
/** GPU memories in one row. */
const IN_ROW = 4;
/** How much wider than high a drawing is. */
const WIDER = 1.7;

/** The row of a kind in its node: GPU memory on top, files at the bottom, what talks to the network to the right. */
const ROWS: Record<string, readonly [row: number, column: number]> = {
  FBM: [0, 0],
  ZCM: [1, 0],
  REG: [1, 2],
  SYS: [2, 0],
  DSK: [2, 2],
};

/** The centres of the memories of a node, around the origin. */
function inNode(members: readonly DrawnMemory[]): Map<string, Point> {
  const rows: DrawnMemory[][] = [[], [], []];
  const rank = (memory: DrawnMemory): number => ROWS[memory.kind]?.[1] ?? 1;
  for (const memory of members) rows[ROWS[memory.kind]?.[0] ?? 1]?.push(memory);
  const lines = rows
    .flatMap((row) =>
      chunked(
        [...row].sort((a, b) => rank(a) - rank(b)),
        IN_ROW,
      ),
    )
    .filter((line) => line.length > 0);
  const widest = Math.max(1, ...lines.map((line) => line.length));
  const places = new Map<string, Point>();
  lines.forEach((line, down) => {
    // A row of two in a wider node stands at its ends, so that lines find their way between.
    const step = line.length === 2 && widest > 2 ? ((widest - 1) * ACROSS) / 1 : ACROSS;
    line.forEach((memory, place) => {
      places.set(memory.name, { x: (place - (line.length - 1) / 2) * step, y: down * DOWN });
    });
  });
  return places;
}

function chunked<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, part) => items.slice(part * size, (part + 1) * size));
}

export const boxOf = (centre: Point): Rect => boxAround(centre, BOX.width, BOX.height);

/** The frame of a node around its memories. */
export function frameOf(centres: Iterable<Point>): Rect {
  const inner = grown(union([...centres].map(boxOf)) ?? { x: 0, y: 0, width: 0, height: 0 }, PADDING);
  return { ...inner, y: inner.y - TITLE, height: inner.height + TITLE };
}

/** The members of every node, by its number, in order. */
export function nodesOf<T extends { node: number }>(memories: readonly T[]): Map<number, T[]> {
  const found = new Map<number, T[]>();
  for (const memory of [...memories].sort((a, b) => a.node - b.node)) {
    const members = found.get(memory.node);
    if (members === undefined) found.set(memory.node, [memory]);
    else members.push(memory);
  }
  return found;
}

/** The columns with which nodes in rows are seen largest on a drawing that is wider than high. */
function columnsFor(count: number, width: number, height: number): number {
  const scale = (columns: number): number => Math.min(WIDER / (columns * width), 1 / (Math.ceil(count / columns) * height));
  let best = 1;
  for (let columns = 2; columns <= count; columns += 1) if (scale(columns) > scale(best)) best = columns;
  return best;
}

/** The centre of every memory: its own position where it has one. */
export function arranged(memories: readonly DrawnMemory[]): Map<string, Point> {
  const places = new Map<string, Point>();
  for (const { name, place } of memories) if (place !== null) places.set(name, { x: place[0] ?? 0, y: place[1] ?? 0 });
  const fresh: { members: DrawnMemory[]; own: Map<string, Point>; frame: Rect }[] = [];
  for (const members of nodesOf(memories).values()) {
    const without = members.filter((memory) => memory.place === null);
    if (without.length === 0) continue;
    if (without.length === members.length) {
      const own = inNode(members);
      fresh.push({ members, own, frame: frameOf(own.values()) });
      continue;
    }
    // New memories of a node that was arranged by hand stand below its others.
    const there = union(members.flatMap(({ name }) => (places.has(name) ? [boxOf(places.get(name) as Point)] : [])));
    if (there === null) continue;
    without.forEach(({ name }, place) => {
      places.set(name, {
        x: there.x + BOX.width / 2 + (place % IN_ROW) * ACROSS,
        y: there.y + there.height + DOWN - BOX.height / 2 + Math.floor(place / IN_ROW) * DOWN,
      });
    });
  }
  if (fresh.length === 0) return places;
  const taken = union([...places.values()].map(boxOf));
  const width = Math.max(...fresh.map(({ frame }) => frame.width)) + APART;
  const height = Math.max(...fresh.map(({ frame }) => frame.height)) + APART;
  const columns = columnsFor(fresh.length, width, height);
  const [left, top] = taken === null ? [0, 0] : [taken.x + taken.width + PADDING + APART, taken.y - PADDING - TITLE];
  fresh.forEach(({ own, frame }, place) => {
    const dx = left + (place % columns) * width - frame.x;
    const dy = top + Math.floor(place / columns) * height - frame.y;
    for (const [name, { x, y }] of own) places.set(name, { x: x + dx, y: y + dy });
  });
  return places;
}

/** The memory nearest to another one in a direction of the keyboard, or null where there is none. */
export function neighbour(places: ReadonlyMap<string, Point>, from: string, key: string): string | null {
  const here = places.get(from);
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  if (here === undefined || way === undefined) return null;
  const [wx = 0, wy = 0] = way;
  let best: string | null = null;
  let least = Infinity;
  for (const [name, { x, y }] of places) {
    const ahead = (x - here.x) * wx + (y - here.y) * wy;
    if (name === from || ahead < 1) continue;
    const aside = Math.abs((x - here.x) * wy) + Math.abs((y - here.y) * wx);
    if (aside > 4 * ahead) continue;
    const cost = ahead + 2 * aside;
    if (cost < least) [least, best] = [cost, name];
  }
  return best;
}
