// What stands on the canvas: memories, the frames of their nodes, channels as curves with a width, and bundles between nodes.

import type { CanvasPart, DrawnMemory, PlanPart } from "#model/types.ts";
import { hopsOf, stopsOf } from "#model/words.ts";
import { boxOf, frameOf, nodesOf } from "./arrangement.ts";
import { between, type Curve, crosses, grown, loop, type Point, type Rect } from "./geometry.ts";

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
  /** Its line lies in one for all channels from node to node, and is drawn only when a memory at its ends is selected. */
  gathered: boolean;
  curve: Curve;
}

/** The channels from one node to another, as one line. */
export interface Bundle {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  readonly width: number;
  readonly edges: readonly Edge[];
  /** Whether it stands for its channels also where nodes are open. */
  readonly gathers: boolean;
}

export interface Scene {
  readonly memories: readonly DrawnMemory[];
  readonly nodes: ReadonlyMap<number, readonly DrawnMemory[]>;
  readonly places: Map<string, Point>;
  readonly frames: Map<number, Rect>;
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
/** Lines from one node to another that are told apart; more of them, with several channels each, are one line. */
const MOST_TOLD_APART = 3;

/** Machines with more memories have straight lines only: a line that makes way for each box is looked for box by box. */
const MOST_BENT = 60;
const BENDS = [0, 46, -46, 92, -92, 138, -138];

export function sceneOf(part: CanvasPart, places: Map<string, Point>): Scene {
  const { memories } = part;
  const nodes = nodesOf(memories);
  const nodeOf = new Map(memories.map((memory) => [memory.name, memory.node]));
  const frames = new Map<number, Rect>();
  for (const [node, members] of nodes) frames.set(node, frameOf(members.map(({ name }) => placeOf(places, name))));
  const boxes =
    memories.length <= MOST_BENT ? memories.map(({ name }) => ({ name, box: grown(boxOf(placeOf(places, name)), 3) })) : [];
  const words = new Map(part.channelKinds.map((kind) => [kind.name, kind.words]));
  const seen = new Map<string, number>();
  const pairs = new Map<string, number>();
  for (const { source, destination } of part.channels)
    pairs.set(`${source} ${destination}`, (pairs.get(`${source} ${destination}`) ?? 0) + 1);
  const shared = new Map<string, Edge[]>();
  const edges = part.channels.map((channel, index): Edge => {
    const source = memories[channel.source]?.name ?? "";
    const destination = memories[channel.destination]?.name ?? "";
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
      return edge;
    }
    if (source === destination) return { ...base, bend: 0, loop: place, curve: loop(boxOf(placeOf(places, source)), place) };
    // Of two directions each keeps to its right.
    const both = pairs.has(`${channel.destination} ${channel.source}`);
    let bend = (both ? 7 : 0) + (many ? 0 : 13 * place);
    const ends = [boxOf(placeOf(places, source)), boxOf(placeOf(places, destination))] as const;
    if (boxes.length > 0) {
      const others = boxes.filter(({ name }) => name !== source && name !== destination).map(({ box }) => box);
      const side = both ? BENDS.filter((more) => more >= 0) : BENDS;
      const free = side.find((more) => !crosses(between(...ends, bend + more), others));
      bend += free ?? 0;
    }
    const edge: Edge = { ...base, bend, loop: null, curve: between(...ends, bend) };
    if (many) {
      beside.push(edge);
      shared.set(key, beside);
    }
    return edge;
  });
  const touching = new Map<string, Edge[]>(memories.map(({ name }) => [name, []]));
  const bundles = new Map<string, { from: number; to: number; edges: Edge[] }>();
  for (const edge of edges) {
    touching.get(edge.source)?.push(edge);
    if (edge.destination !== edge.source) touching.get(edge.destination)?.push(edge);
    const [from, to] = [nodeOf.get(edge.source) ?? 0, nodeOf.get(edge.destination) ?? 0];
    if (from === to) continue;
    const known = bundles.get(`${from} ${to}`);
    if (known === undefined) bundles.set(`${from} ${to}`, { from, to, edges: [edge] });
    else known.edges.push(edge);
  }
  const lines = edges.filter((edge) => edge.beside.length === 0 || edge.beside[0] === edge);
  const bundled = [...bundles.values()].map((each): Bundle => {
    const gathers =
      each.edges.some(({ beside }) => beside.length > 0) &&
      each.edges.filter((edge) => edge.beside.length === 0 || edge.beside[0] === edge).length > MOST_TOLD_APART;
    if (gathers) for (const edge of each.edges) edge.gathered = true;
    return { ...each, gathers, count: each.edges.length, width: Math.max(...each.edges.map(({ width }) => width)) };
  });
  return { memories, nodes, places, frames, edges, lines, bundles: bundled, touching, nodeOf };
}

export const placeOf = (places: ReadonlyMap<string, Point>, name: string): Point => places.get(name) ?? { x: 0, y: 0 };

/** Draws the lines of memories anew that have moved, and the frames of their nodes. */
export function moved(scene: Scene, names: Iterable<string>): void {
  const nodes = new Set<number>();
  for (const name of names) {
    nodes.add(scene.nodeOf.get(name) ?? 0);
    for (const edge of scene.touching.get(name) ?? []) edge.curve = curveOf(scene, edge);
  }
  for (const node of nodes)
    scene.frames.set(node, frameOf((scene.nodes.get(node) ?? []).map(({ name }) => placeOf(scene.places, name))));
}

function curveOf({ places }: Scene, edge: Edge): Curve {
  const source = boxOf(placeOf(places, edge.source));
  return edge.loop === null ? between(source, boxOf(placeOf(places, edge.destination)), edge.bend) : loop(source, edge.loop);
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
