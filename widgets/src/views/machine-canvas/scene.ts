// What stands on the canvas: memories, the frames of boxes, channels as curves with a width, and bundles between boxes.

import { between, type Curve, crosses, grown, lineOn, loop, type Point, type Rect, type Way } from "#lib/geometry.ts";
import type { CanvasPart, DrawnMemory, PlanPart } from "#model/types.ts";
import { counted, formatRate } from "#model/units.ts";
import { hopsOf, stopsOf } from "#model/words.ts";
import { arranged, boxOf, framesOf, type Measure, measureOf } from "./arrangement.ts";
import { type Box, boxesOf, chainOf, nodesAmong } from "./boxes.ts";

/** A channel as a line. */
export interface Edge {
  readonly index: number;
  readonly name: string;
  readonly kind: string;
  readonly source: string;
  readonly destination: string;
  readonly rate: number;
  readonly width: number;
  readonly bend: number;
  /** The number of a self-loop among those of its memory; null for other channels. */
  readonly loop: number | null;
  /** The channels on the same line, this one among them: those between the same two memories in one direction where they are many. */
  readonly beside: readonly Edge[];
  /** Its line lies in one for all channels between two boxes, and is drawn only when a memory at its ends or that line is selected. */
  gathered: boolean;
  curve: Curve;
}

/** The channels between two parts of a machine, both ways: nodes, boxes, or memories beside boxes. */
export interface Bundle {
  readonly key: string;
  /** The ends: the key of a box, or a colon and the name of a memory. */
  readonly from: string;
  readonly to: string;
  readonly count: number;
  /** How many of them lead from the first end to the other. */
  readonly there: number;
  readonly width: number;
  readonly edges: readonly Edge[];
  /** Whether there are channels in both directions. */
  readonly both: boolean;
  /** Whether it stands for its channels also where nodes are open. */
  readonly gathers: boolean;
  readonly way: Way;
  curve: Curve;
}

export interface Scene {
  readonly memories: readonly DrawnMemory[];
  /** Nodes, and the boxes in them, by their keys. */
  readonly boxes: ReadonlyMap<string, Box>;
  readonly nodes: readonly Box[];
  readonly measure: Measure;
  /** Whether a node has boxes inside. */
  readonly boxed: boolean;
  readonly places: Map<string, Point>;
  /** The frames of boxes by their keys. */
  readonly frames: Map<string, Rect>;
  readonly edges: readonly Edge[];
  /** The channels that are drawn one by one: of several on one line, the first. */
  readonly lines: readonly Edge[];
  readonly bundles: readonly Bundle[];
  readonly touching: ReadonlyMap<string, readonly Edge[]>;
  readonly nodeOf: ReadonlyMap<string, number>;
}

/** The width of a line by throughput: about a pixel more for each factor of ten above 10 MB/s. */
export function widthOf(rate: number): number {
  return Math.max(0.8, Math.min(6, 0.8 + 1.05 * (Math.log10(Math.max(rate, 1)) - 7)));
}

/** Channels between the same two memories that lie side by side; more of them are one line. */
const MOST_BESIDE = 2;
/** Lines from one node to another that are told apart; more of them are one line. */
const MOST_TOLD_APART = 3;
/** Nodes among which a line makes way for each other one; among more, lines are straight. */
const MOST_AVOIDED = 12;

/** Machines with more memories have straight lines only: a line that makes way for each box is looked for box by box. */
const MOST_BENT = 60;
const BENDS = [0, 46, -46, 92, -92, 138, -138];
/** The ways of a bundle between two boxes, the best first. */
const WAYS: readonly Way[] = [
  { kind: "across", bend: 0 },
  ...[10, 18, 28, 40].map((bend): Way => ({ kind: "over", bend })),
  ...BENDS.map((bend): Way => ({ kind: "centres", bend })),
];

/** What is drawn of a machine, of which `only` some memories and channels may be wanted: all of it where that is null. */
export function sceneOf(part: CanvasPart, moved: ReadonlyMap<string, Point> = new Map(), only: Route | null = null): Scene {
  const memories = only === null ? part.memories : part.memories.filter(({ name }) => only.stops.has(name));
  const wanted = part.channels.map(({ name }) => only === null || only.hops.has(name));
  const used = new Set(part.channels.flatMap(({ uses }, index) => (wanted[index] ? uses.map(([place = -1]) => place) : [])));
  const boxes = boxesOf(
    memories,
    part.resources.map((each, place) => (only === null || used.has(place) ? each : null)),
  );
  const nodes = nodesAmong(boxes);
  const measure = measureOf(boxes);
  const places = arranged(memories, boxes, measure);
  for (const [name, place] of moved) if (places.has(name)) places.set(name, place);
  const boxed = nodes.some(({ inner }) => inner.length > 0);
  const nodeOf = new Map(memories.map((memory) => [memory.name, memory.node]));
  const frames = framesOf(boxes.values(), places, measure);
  const scene = { memories, boxes, nodes, measure, boxed, places, frames, nodeOf };
  const obstacles =
    memories.length <= MOST_BENT ? memories.map(({ name }) => ({ name, box: grown(memoryBox(scene, name), 3) })) : [];
  const words = new Map(part.channelKinds.map((kind) => [kind.name, kind.words]));
  const seen = new Map<string, number>();
  const pairs = new Map<string, number>();
  part.channels.forEach(({ source, destination }, index) => {
    if (wanted[index]) pairs.set(`${source} ${destination}`, (pairs.get(`${source} ${destination}`) ?? 0) + 1);
  });
  const shared = new Map<string, Edge[]>();
  const edges = part.channels.flatMap((channel, index): Edge[] => {
    if (!wanted[index]) return [];
    const source = part.memories[channel.source]?.name ?? "";
    const destination = part.memories[channel.destination]?.name ?? "";
    const rate = part.functions[channel.function]?.bandwidth ?? 0;
    const key = `${channel.source} ${channel.destination}`;
    const place = seen.get(key) ?? 0;
    seen.set(key, place + 1);
    const many = (pairs.get(key) ?? 0) > MOST_BESIDE && source !== destination;
    const first = many ? shared.get(key)?.[0] : undefined;
    const beside: Edge[] = shared.get(key) ?? [];
    const own = { index, name: channel.name, kind: words.get(channel.kind) ?? channel.kind, source, destination, rate };
    const base = { ...own, width: widthOf(rate), beside, gathered: false };
    if (first !== undefined) {
      const edge: Edge = { ...base, bend: first.bend, loop: null, curve: first.curve };
      beside.push(edge);
      return [edge];
    }
    // Of two directions each keeps to its right.
    const both = pairs.has(`${channel.destination} ${channel.source}`);
    let bend = source === destination ? 0 : (both ? 7 : 0) + (many ? 0 : 13 * place);
    const ends = [memoryBox(scene, source), memoryBox(scene, destination)] as const;
    if (obstacles.length > 0 && source !== destination) {
      const others = obstacles.filter(({ name }) => name !== source && name !== destination).map(({ box }) => box);
      bend += freeBend(ends, bend, others, both);
    }
    const rest = { ...base, bend, loop: source === destination ? place : null };
    const edge: Edge = { ...rest, curve: curveOf(scene, rest) };
    if (many) {
      beside.push(edge);
      shared.set(key, beside);
    }
    return [edge];
  });
  const touching = new Map<string, Edge[]>(memories.map(({ name }) => [name, []]));
  for (const edge of edges) {
    touching.get(edge.source)?.push(edge);
    if (edge.destination !== edge.source) touching.get(edge.destination)?.push(edge);
  }
  const lines = edges.filter((edge) => edge.beside.length === 0 || edge.beside[0] === edge);
  return { ...scene, edges, lines, bundles: bundlesOf(scene, edges), touching };
}

type Placed = Pick<Scene, "memories" | "boxes" | "nodes" | "measure" | "boxed" | "places" | "frames">;

/** How much more a line bends to make way for these boxes; 0 where it cannot. */
function freeBend(ends: readonly [Rect, Rect], bend: number, others: readonly Rect[], oneSided: boolean): number {
  const tried = oneSided ? BENDS.filter((more) => more >= 0) : BENDS;
  return tried.find((more) => !crosses(between(...ends, bend + more), others)) ?? 0;
}

/** The ends of a channel as parts that lie in the same box: its memories, or the boxes around them. */
function endsOf(chains: ReadonlyMap<string, readonly string[]>, { source, destination }: Edge): [string, string] {
  const [from, to] = [chains.get(source) ?? [], chains.get(destination) ?? []];
  const depth = from.findIndex((key, place) => key !== to[place]);
  return [from[depth] ?? "", to[depth] ?? ""];
}

function bundlesOf(scene: Placed, edges: readonly Edge[]): Bundle[] {
  const { boxed } = scene;
  const chains = new Map(scene.memories.map((memory) => [memory.name, [...chainOf(memory), `:${memory.name}`]]));
  const found = new Map<string, { from: string; to: string; edges: Edge[]; both: boolean }>();
  for (const edge of edges) {
    if (edge.loop !== null) continue;
    const [from, to] = endsOf(chains, edge);
    if (!boxed && from.startsWith(":")) continue; // memories of a node without boxes: each channel is a line
    const back = found.get(`${to} ${from}`);
    const known = back ?? found.get(`${from} ${to}`);
    if (back !== undefined) back.both = true;
    if (known === undefined) found.set(`${from} ${to}`, { from, to, edges: [edge], both: false });
    else known.edges.push(edge);
  }
  return [...found].map(([key, each]): Bundle => {
    const thence = (edge: Edge): boolean => endsOf(chains, edge)[0] === each.from;
    const lines = each.edges.filter((edge) => edge.beside.length === 0 || edge.beside[0] === edge);
    const [there, out] = [each.edges.filter(thence).length, lines.filter(thence).length];
    const gathers = boxed ? each.edges.length > 1 : Math.max(out, lines.length - out) > MOST_TOLD_APART;
    if (gathers) for (const edge of each.edges) edge.gathered = true;
    const ends = [endBox(scene, each.from), endBox(scene, each.to)] as const;
    const way: Way = boxed
      ? freeWay(ends, besides(scene, each))
      : scene.nodes.length <= MOST_AVOIDED
        ? freeWay(ends, otherNodes(scene, each))
        : { kind: "centres", bend: 0 };
    const width = Math.max(...each.edges.map((edge) => edge.width));
    return { ...each, key, gathers, count: each.edges.length, there, width, way, curve: curveAlong(way, ends) };
  });
}

/** The best way between two boxes that goes through none of the others. */
function freeWay(ends: readonly [Rect, Rect], others: readonly Rect[]): Way {
  const isFree = (way: Way): boolean => {
    const curve = lineOn(way, ...ends);
    return curve !== null && !crosses(curve, others);
  };
  return WAYS.find(isFree) ?? { kind: "centres", bend: 0 };
}

/** The line of a bundle. Boxes that were moved may face each other no more. */
const curveAlong = (way: Way, ends: readonly [Rect, Rect]): Curve => lineOn(way, ...ends) ?? between(...ends, 0);

/** The other parts of the box that two parts lie in. */
function besides(scene: Placed, { from, to }: { from: string; to: string }): Rect[] {
  const outer = [...scene.boxes.values()].find(
    ({ inner, memories }) => inner.some(({ key }) => key === from) || memories.some(({ name }) => `:${name}` === from),
  );
  const parts = [...(outer?.inner ?? []).map(({ key }) => key), ...(outer?.memories ?? []).map(({ name }) => `:${name}`)];
  return parts.filter((each) => each !== from && each !== to).map((each) => grown(endBox(scene, each), 3));
}

/** The other nodes of a machine without boxes. */
const otherNodes = (scene: Placed, { from, to }: { from: string; to: string }): Rect[] =>
  scene.nodes.filter(({ key }) => key !== from && key !== to).map(({ key }) => grown(frameOf(scene, key), 3));

const endBox = (scene: Placed, end: string): Rect => (end.startsWith(":") ? memoryBox(scene, end.slice(1)) : frameOf(scene, end));

/** The frame of a box. */
export const frameOf = ({ frames }: Pick<Scene, "frames">, key: string): Rect =>
  frames.get(key) ?? { x: 0, y: 0, width: 0, height: 0 };

/** The end of a bundle in words: "socket 1", "node 0", "node0.dsk". */
export function endName(end: string): string {
  if (end.startsWith(":")) return end.slice(1);
  return end.includes("/") ? end.slice(end.lastIndexOf("/") + 1) : `node ${end}`;
}

/** How many channels a bundle has: "9 channels each way". */
export const countWords = ({ count, there }: Pick<Bundle, "count" | "there">): string =>
  2 * there === count ? `${counted(there, "channel")} each way` : counted(count, "channel");

/** How many channels a bundle has, and how fast they are: "12 channels, 20 to 55 GB/s". */
export function bundleWords(bundle: Bundle): string {
  const { edges } = bundle;
  const rates = edges.map(({ rate }) => rate);
  const [least, most] = [formatRate(Math.min(...rates)), formatRate(Math.max(...rates))];
  const [number = "", unit] = least.split(" ");
  const range = least === most ? most : `${unit === most.split(" ")[1] ? number : least} to ${most}`;
  return `${countWords(bundle)}, ${range}`;
}

export const placeOf = (places: ReadonlyMap<string, Point>, name: string): Point => places.get(name) ?? { x: 0, y: 0 };

/** The box of a memory. */
export const memoryBox = ({ places, measure }: Pick<Scene, "places" | "measure">, name: string): Rect =>
  boxOf(placeOf(places, name), measure);

/** Draws the lines of memories anew that have moved, and the boxes around them. */
export function moved(scene: Scene, names: readonly string[]): void {
  const nodes = new Set(names.map((name) => scene.nodeOf.get(name) ?? 0));
  const boxes = [...scene.boxes.values()].filter(({ node }) => nodes.has(node));
  for (const [key, frame] of framesOf(boxes, scene.places, scene.measure)) scene.frames.set(key, frame);
  for (const name of names) for (const edge of scene.touching.get(name) ?? []) edge.curve = curveOf(scene, edge);
  // A bundle is between two nodes, or within one.
  const isMoved = (memory: string): boolean => nodes.has(scene.nodeOf.get(memory) ?? 0);
  for (const bundle of scene.bundles)
    if (bundle.edges.slice(0, 1).some(({ source, destination }) => isMoved(source) || isMoved(destination)))
      bundle.curve = curveAlong(bundle.way, [endBox(scene, bundle.from), endBox(scene, bundle.to)]);
}

function curveOf(scene: Pick<Scene, "places" | "measure">, edge: Pick<Edge, "source" | "destination" | "loop" | "bend">): Curve {
  const source = memoryBox(scene, edge.source);
  if (edge.loop !== null) return loop(source, edge.loop);
  return between(source, memoryBox(scene, edge.destination), edge.bend);
}

/** What the plan makes of a machine: the hops by channel, and the stops by memory, with their numbers. */
export interface Route {
  readonly hops: ReadonlyMap<string, { number: number; slowest: boolean; converts: boolean }>;
  readonly stops: ReadonlyMap<string, number>;
}

export const NO_ROUTE: Route = { hops: new Map(), stops: new Map() };

export function routeOf(plan: PlanPart | null): Route {
  if (plan === null) return NO_ROUTE;
  const hops = new Map<string, { number: number; slowest: boolean; converts: boolean }>();
  for (const { number, hop } of hopsOf(plan))
    if (!hops.has(hop.channel)) hops.set(hop.channel, { number, slowest: hop.bottleneck, converts: hop.order === "converts" });
  const stops = new Map<string, number>();
  for (const { number, stop } of stopsOf(plan)) if (!stops.has(stop.memory)) stops.set(stop.memory, number);
  return { hops, stops };
}
