// What stands on the drawing of networks: their routers, the memories at them, and memories with a place of their own.
import "isoviz:shapes";

import { grown, type Point, type Rect, union } from "#lib/geometry.ts";
import type { NetworkPart, ShownNetwork } from "#model/types.ts";
import { routerAddress } from "./places.ts";
import { type Laid, type Line, type Room, shapeOf } from "./shape.ts";

/** A memory with a box of its own: it hangs on a switch or beside another memory, or has no port. */
export const STATION = { width: 92, height: 28 } as const;
const STATION_APART = { x: 18, y: 14 } as const;
const NETWORKS_APART = 64;
/** Between bars one below the other. */
const BARS_APART = 60;
const LEAST_IN_COLUMN = 8;
/** Nodes above switches stand side by side where there are no more than this number. */
const MOST_ABOVE = 12;
/** Around a network: between nodes, as a multiple of their size so that they do not meet in the corners, and to its lines. */
const AROUND = 1.45;
const TO_PORTS = 46;

export interface PlacedNetwork {
  readonly network: ShownNetwork;
  readonly number: number;
  readonly box: Rect;
  readonly laid: Laid;
  /** Whether memories lie at its routers; else they stand beside it. */
  readonly holds: boolean;
  /** Whether links from memories beside it are drawn only where these are pointed at. */
  readonly quiet: boolean;
  /** Where its routers lie. */
  readonly at: (router: number) => Point;
  /** Where the line from a memory beside it ends at a router. */
  readonly end: (router: number, from: Point) => Point;
  /** The lines of a link between two routers. */
  readonly lines: (from: number, to: number) => Line[];
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
  /** The networks that the transfer lies in; all of them where it lies beside them. */
  readonly used: Rect;
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
      if (!shapeOf(network).holds || homes.has(memory) || residents[number]!.has(router)) return true;
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
  const [only] = part.networks;
  if (only !== undefined && part.networks.length === 1 && shapeOf(only).surrounded) {
    const seated = surrounding([...nodes.values()], new Set(ports[0]!.map(({ memory }) => memory)), only);
    for (const station of seated.stations) stations.set(station.name, station);
    networks.push(seated.placed);
    [x, highest] = [seated.size.width + NETWORKS_APART, seated.size.height];
  } else if (nodes.size <= MOST_ABOVE && part.networks.every((network) => !shapeOf(network).holds)) {
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
    const room = { width: x - 3 * STATION_APART.x, height: 0 };
    part.networks.forEach((network, number) => {
      networks.push(placedNetwork(network, { ...room, number }, 0, tallest * down + 20 + number * BARS_APART));
    });
  }
  part.networks.slice(networks.length).forEach((network, number) => {
    const rows = Math.min(LEAST_IN_COLUMN, away[number]!.length) * (STATION.height + STATION_APART.y);
    const placed = placedNetwork(network, { width: 0, height: Math.max(highest, rows), number }, x);
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
  const [mine, inside] = [wanted.filter((name) => name !== ""), new Set<number>()];
  for (const name of mine) inside.add(homes.get(name)?.network ?? -1);
  const bounds = grown(union(boxes) ?? { x: 0, y: 0, width: 100, height: 100 }, 12);
  const used = inside.has(-1) ? null : union([...inside].flatMap((number) => networks[number]?.box ?? []));
  return {
    networks,
    stations: [...stations.values()],
    bounds,
    used: used === null ? bounds : grown(used, 12),
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

/** A network with nodes around it in an ellipse; what has a port is nearest to the network. */
function surrounding(
  nodes: readonly (readonly string[])[],
  ported: ReadonlySet<string>,
  network: ShownNetwork,
): { stations: Station[]; placed: PlacedNetwork; size: { width: number; height: number } } {
  const row = STATION.height + 4;
  const tall = Math.max(1, ...nodes.map((members) => members.length)) * row;
  const least = shapeOf(network).lay(network, { width: 0, height: 0, number: 0 }).width / 2 + TO_PORTS;
  const across = (size: number): number => Math.max(least + size / 2, (nodes.length * (size + 12) * AROUND) / (2 * Math.PI));
  const [wide, high] = [across(STATION.width), across(tall)];
  const middle = { x: wide + STATION.width / 2, y: high + tall / 2 };
  const stations = nodes.flatMap((members, node) => {
    const turned = 2 * Math.PI * (node / nodes.length - 0.25);
    const place = { x: middle.x + wide * Math.cos(turned), y: middle.y + high * Math.sin(turned) };
    const outwards = place.y > middle.y + 1 ? 1 : -1;
    const order = [...members].sort((one, other) => Number(ported.has(other)) - Number(ported.has(one)));
    return order.map((name, at) => ({
      name,
      place: { x: place.x, y: place.y + outwards * (at - (order.length - 1) / 2) * row },
    }));
  });
  const room = 2 * (Math.min(wide - STATION.width / 2, high - tall / 2) - TO_PORTS);
  const at = placedNetwork(network, { width: room, height: room, number: 0 }, 0, 0);
  const placed = placedNetwork(
    network,
    { width: room, height: room, number: 0 },
    middle.x - at.box.width / 2,
    middle.y - at.box.height / 2,
  );
  return { stations, placed, size: { width: 2 * middle.x, height: 2 * middle.y } };
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

export const stationBox = ({ x, y }: Point): Rect => ({ x: x - STATION.width / 2, y: y - STATION.height / 2, ...STATION });

/** A network at a place; without `y`, what is lower than its room stands in the middle. */
function placedNetwork(network: ShownNetwork, room: Room, x: number, y?: number): PlacedNetwork {
  const { holds, quiet, lay } = shapeOf(network);
  const laid = lay(network, room);
  const { width, height } = laid;
  const box = { x, y: y ?? Math.max(0, (room.height - height) / 2), width, height };
  const moved = (place: Point): Point => ({ x: place.x + box.x, y: place.y + box.y });
  return {
    network,
    number: room.number,
    box,
    laid,
    holds,
    quiet: quiet(network),
    at: (router) => moved(laid.at(router)),
    end: (router, from) => moved(laid.end(router, { x: from.x - box.x, y: from.y - box.y })),
    lines: (from, to) =>
      laid.lines(from, to).map((line) => ({
        ...line,
        from: moved(line.from),
        to: moved(line.to),
        bend: line.bend === null ? null : moved(line.bend),
      })),
  };
}

/** A memory in words: "node5.sys at A0 B0 C1 D0 E1". */
export function describe(scene: NetScene, memory: string): string {
  const address = addressOf(scene, memory);
  return address === "" ? memory : `${memory} at ${address}`;
}

/** Where a memory is on its network: "A0 B0 C1 D0 E1"; "" where it lies at no router. */
export function addressOf(scene: NetScene, memory: string): string {
  const home = scene.homeOf(memory);
  const placed = home === null ? undefined : scene.networks[home.network];
  return home === null || placed === undefined ? "" : routerAddress(placed.network, home.router);
}
