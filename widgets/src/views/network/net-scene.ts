// What stands on the drawing of networks: their routers, the memories at them, and memories with a place of their own.

import { grown, type Point, type Rect, union } from "#lib/geometry.ts";
import type { NetworkPart, ShownNetwork } from "#model/types.ts";
import { type GridShape, gridShape, LETTERS } from "./grid-shape.ts";

/** A memory with a box of its own: it hangs on a switch or beside another memory, or has no port. */
export const STATION = { width: 92, height: 28 } as const;
const STATION_APART = { x: 18, y: 14 } as const;
const NETWORKS_APART = 64;
/** Between routers of a tree or of listed links. */
const HOST = 26;
const LEVEL = 74;
const IN_CIRCLE = 74;
const SWITCH = { width: 30, least: 90 } as const;
const LEAST_IN_COLUMN = 8;
/** Nodes above switches stand side by side where there are no more than this number. */
const MOST_ABOVE = 12;

export interface PlacedNetwork {
  readonly network: ShownNetwork;
  readonly number: number;
  readonly box: Rect;
  /** Where its routers lie; of a switch, its middle. */
  readonly at: (router: number) => Point;
  readonly grid: GridShape | null;
}

export interface Station {
  readonly name: string;
  readonly place: Point;
}

/** Where a memory lies: at a router, or at a station. */
export interface Home {
  readonly network: number;
  readonly router: number;
}

export interface NetScene {
  readonly networks: readonly PlacedNetwork[];
  readonly stations: readonly Station[];
  readonly bounds: Rect;
  readonly names: readonly string[];
  /** Where a memory lies, by its name; null where it is not drawn. */
  readonly placeOf: (memory: string) => Point | null;
  readonly homeOf: (memory: string) => Home | null;
  /** The memory that lies at a router; null where that is a switch. */
  readonly memoryAt: (network: number, router: number) => string | null;
  /** The lines from stations to their routers. */
  readonly ports: readonly { readonly station: Station; readonly network: number; readonly router: number }[];
}

/** `wanted` are memories that are drawn in any case. */
export function netScene(part: NetworkPart, wanted: readonly string[]): NetScene {
  const homes = new Map<string, Home>();
  const residents = part.networks.map(() => new Map<number, string>());
  const ports = part.networks.map(portsOf);
  const away = part.networks.map((network, number) =>
    ports[number]!.filter(({ memory, router }) => {
      if (network.form === "switch" || homes.has(memory) || residents[number]!.has(router)) return true;
      homes.set(memory, { network: number, router });
      residents[number]!.set(router, memory);
      return false;
    }),
  );
  const names = [...new Set([...ports.flatMap((found) => found.map(({ memory }) => memory)), ...part.others])];
  const stations = new Map<string, Station>();
  const networks: PlacedNetwork[] = [];
  let [x, highest] = [0, 0];
  /** Stations beside what is drawn already: in columns as high as that. */
  const column = (memories: readonly string[]): void => {
    const fresh = memories.filter((memory) => !homes.has(memory) && !stations.has(memory));
    if (fresh.length === 0) return;
    const [across, down] = [STATION.width + STATION_APART.x, STATION.height + STATION_APART.y];
    const most = Math.max(LEAST_IN_COLUMN, Math.floor((highest + STATION_APART.y) / down));
    const columns = Math.ceil(fresh.length / most);
    const inColumn = Math.ceil(fresh.length / columns);
    const height = inColumn * down - STATION_APART.y;
    highest = Math.max(highest, height);
    const top = (highest - height) / 2;
    fresh.forEach((memory, place) => {
      const [line, row] = [Math.floor(place / inColumn), place % inColumn];
      const middle = { x: x + line * across + STATION.width / 2, y: top + row * down + STATION.height / 2 };
      stations.set(memory, { name: memory, place: middle });
    });
    x += columns * across - STATION_APART.x + NETWORKS_APART;
  };
  const nodes = groupsOf(names);
  if (nodes.size <= MOST_ABOVE && part.networks.every(({ form }) => form === "switch")) {
    // Nodes side by side, what has a port at the bottom, and the switches as bars below all of them.
    const [across, down] = [STATION.width + 3 * STATION_APART.x, STATION.height + 2 * STATION_APART.y];
    const ported = new Set(away.flatMap((found) => found.map(({ memory }) => memory)));
    const tallest = Math.max(...[...nodes.values()].map((members) => members.length));
    [...nodes.values()].forEach((members, place) => {
      const order = [...members].sort((one, other) => Number(ported.has(one)) - Number(ported.has(other)));
      order.forEach((memory, row) => {
        const y = (tallest - order.length + row) * down + STATION.height / 2;
        stations.set(memory, { name: memory, place: { x: place * across + STATION.width / 2, y } });
      });
    });
    x = nodes.size * across;
    part.networks.forEach((network, number) => {
      const box = {
        x: 0,
        y: tallest * down + 20 + number * 2 * SWITCH.width,
        width: x - 3 * STATION_APART.x,
        height: SWITCH.width,
      };
      const middle = { x: box.width / 2, y: box.y + box.height / 2 };
      networks.push({ network, number, box, grid: null, at: () => middle });
    });
  }
  part.networks.slice(networks.length).forEach((network, number) => {
    const rows = Math.min(LEAST_IN_COLUMN, away[number]!.length) * (STATION.height + STATION_APART.y);
    const placed = placedNetwork(network, number, x, Math.max(highest, rows));
    networks.push(placed);
    highest = Math.max(highest, placed.box.height);
    x = placed.box.x + placed.box.width + NETWORKS_APART;
    column(away[number]!.map(({ memory }) => memory));
  });
  column([...new Set([...part.others, ...wanted.filter((name) => name !== "")])]);
  const placeOf = (memory: string): Point | null => {
    const home = homes.get(memory);
    return home === undefined ? (stations.get(memory)?.place ?? null) : (networks[home.network]?.at(home.router) ?? null);
  };
  const boxes = [
    ...networks.map(({ box }) => box),
    ...[...stations.values()].map(({ place }) => ({
      x: place.x - STATION.width / 2,
      y: place.y - STATION.height / 2,
      ...STATION,
    })),
  ];
  return {
    networks,
    stations: [...stations.values()],
    bounds: grown(union(boxes) ?? { x: 0, y: 0, width: 100, height: 100 }, 12),
    names,
    placeOf,
    homeOf: (memory) => homes.get(memory) ?? null,
    memoryAt: (network, router) => residents[network]?.get(router) ?? null,
    ports: away.flatMap((found, network) =>
      found.flatMap(({ memory, router }) => {
        const station = stations.get(memory);
        return station === undefined ? [] : [{ station, network, router }];
      }),
    ),
  };
}

/** The memories with a port, each with its router. */
function portsOf({ ports }: ShownNetwork): { memory: string; router: number }[] {
  return ports.flatMap(({ router, count, before, number, after }) =>
    Array.from({ length: count }, (_, each) => ({
      memory: `${before}${number === null ? "" : number + each}${after}`,
      router: router + each,
    })),
  );
}

/** The memories of every node, by what stands before the last dot of their names. */
function groupsOf(names: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const name of names) {
    const node = name.includes(".") ? name.slice(0, name.lastIndexOf(".")) : "";
    const members = groups.get(node);
    if (members === undefined) groups.set(node, [name]);
    else members.push(name);
  }
  return groups;
}

/** Where the line of a port ends at its router; at a switch, the nearest place. Lines to several switches lie side by side. */
export function portEnd({ network, number, at, box }: PlacedNetwork, router: number, from: Point): Point {
  if (network.form !== "switch") return at(router);
  const near = (value: number, low: number, size: number): number => Math.max(low + 8, Math.min(low + size - 8, value));
  return box.width > box.height
    ? { x: near(from.x + 12 * number, box.x, box.width), y: box.y + box.height * 0.3 }
    : { x: box.x + box.width / 2, y: near(from.y, box.y, box.height) };
}

export const stationBox = ({ x, y }: Point): Rect => ({ x: x - STATION.width / 2, y: y - STATION.height / 2, ...STATION });

/** `room` is how high the drawing is so far: a switch is a bar beside it, and what is lower stands in the middle. */
function placedNetwork(network: ShownNetwork, number: number, x: number, room: number): PlacedNetwork {
  const shape = network.form === "grid" ? gridShape(network.sizes, network.wraps) : null;
  const places = network.form === "tree" ? treePlaces(network.sizes) : circlePlaces(network.routers);
  const all = union(places.map((place) => ({ x: place.x - HOST / 2, y: place.y - HOST / 2, width: HOST, height: HOST })));
  const size =
    shape ??
    (network.form === "switch"
      ? { width: SWITCH.width, height: Math.max(SWITCH.least, room * 0.8) }
      : { width: all?.width ?? HOST, height: all?.height ?? HOST });
  const y = Math.max(0, (room - size.height) / 2);
  const box = { x, y, width: size.width, height: size.height };
  const moved = (place: Point): Point => ({ x: place.x + x, y: place.y + y });
  if (shape !== null) return { network, number, box, grid: shape, at: (router) => moved(shape.at(router)) };
  const middle = moved({ x: size.width / 2, y: size.height / 2 });
  const origin = { x: all?.x ?? 0, y: all?.y ?? 0 };
  return {
    network,
    number,
    box,
    grid: null,
    at: (router) => {
      const place = places[router];
      return network.form === "switch" || place === undefined ? middle : moved({ x: place.x - origin.x, y: place.y - origin.y });
    },
  };
}

/** The levels of a fat tree one above the other, hosts at the bottom. */
function treePlaces(levels: readonly number[]): Point[] {
  const widest = Math.max(...levels) * HOST;
  return levels.flatMap((count, level) =>
    Array.from({ length: count }, (_, place) => ({
      x: (widest * (place + 0.5)) / count,
      y: (levels.length - 1 - level) * LEVEL,
    })),
  );
}

/** Routers in a circle; two rows of four for up to eight, as the GPUs of a node stand. */
function circlePlaces(count: number): Point[] {
  if (count <= 2) return Array.from({ length: count }, (_, place) => ({ x: place * 2 * IN_CIRCLE, y: 0 }));
  const radius = Math.max(1.2 * IN_CIRCLE, (count * IN_CIRCLE) / (2 * Math.PI));
  return Array.from({ length: count }, (_, place) => {
    const angle = (2 * Math.PI * (place + 0.5)) / count - Math.PI / 2;
    return { x: 1.5 * radius * Math.cos(angle), y: radius * Math.sin(angle) };
  });
}

/** How slices are read: "torus 4×4×4×4×2: C across, E side by side, D down; A and B from slice to slice; A, B, C, D wrap around." */
export function readingOf({ network, grid }: Pick<PlacedNetwork, "network" | "grid">): string {
  if (grid === null) return "";
  const letters = (dims: readonly number[]): string => dims.map((dim) => LETTERS[dim]).join(", ");
  const axis = (dims: readonly number[], words: string): string[] => (dims.length === 0 ? [] : [`${letters(dims)} ${words}`]);
  const parts = [...axis(grid.across, "across"), ...axis(grid.down, "down"), ...axis(grid.outer, "from slice to slice")];
  const around = grid.sizes.flatMap((size, dim) => (grid.wraps[dim] === true && size > 2 ? [dim] : []));
  const wraps =
    around.length === 0 ? "nothing wraps around" : `${letters(around)} wrap around: short ends at an edge go on at the other`;
  return `${network.words}: ${parts.join("; ")}. ${wraps.charAt(0).toUpperCase()}${wraps.slice(1)}.`;
}

/** A memory in words: "node5.sys at A0 B0 C1 D0 E1". */
export function describe(scene: NetScene, memory: string): string {
  const address = addressOf(scene, memory);
  return address === "" ? memory : `${memory} at ${address}`;
}

/** Where a memory is on its torus: "A0 B0 C1 D0 E1"; "" where it is on none. */
export function addressOf(scene: NetScene, memory: string): string {
  const home = scene.homeOf(memory);
  const grid = home === null ? null : (scene.networks[home.network]?.grid ?? null);
  if (home === null || grid === null) return "";
  return grid
    .coordinates(home.router)
    .map((place, dim) => `${LETTERS[dim]}${place}`)
    .join(" ");
}
