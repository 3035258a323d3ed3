// A switch that is watched: the moves of a cycle by their kinds, the way of every packet, and what the last cycles had.
import { counted, formatCount } from "#model/units.ts";
import { Switch, type SwitchShape } from "./switch.ts";
import type { DrawnPackets, SwitchTraffic } from "./traffic.ts";

/** What a packet does in a cycle. It stays in its cylinder where a bit is still wrong, and where it is deflected. */
export const MOVES = ["enters", "inwards", "stays", "deflected", "circles", "leaves"] as const;
export type MoveKind = (typeof MOVES)[number];

/** Cycles that are remembered, and packets that wait at an input at most. */
export const SPAN = 200;
export const BACKLOG = 32;

/** A packet's way: its places, cylinder · heights + height, and the moves to them, from the node where it entered on. */
export interface Way {
  readonly number: number;
  readonly input: number;
  readonly output: number;
  /** The first cycle that finds it in the switch. */
  readonly since: number;
  readonly places: number[];
  readonly kinds: MoveKind[];
  deflections: number;
  left: boolean;
}

/** A move: its packet's way, and the places that it goes from and to, −1 outside of the switch. */
export interface Move {
  readonly way: Way;
  readonly kind: MoveKind;
  readonly from: number;
  readonly to: number;
  /** The angle at the end of the cycle. */
  readonly angle: number;
  /** Of a deflected packet: the place within that it wanted, and that is taken. −1 of all others. */
  readonly signal: number;
}

interface Passed {
  readonly loads: number[];
  readonly delivered: number;
  readonly latency: number;
  readonly total: number;
}

/** How a way is made up: hops = inwards + bits + 2 · deflections + round. */
export function partsOf({ heights, angles, inputs, outputs }: SwitchShape, way: Pick<Way, "input" | "output" | "deflections">) {
  const inwards = Math.log2(heights);
  let bits = 0;
  for (let differ = (way.input ^ way.output) % heights; differ > 0; differ >>= 1) bits += differ & 1;
  const [begin, end] = [inputs[Math.floor(way.input / heights)]!, outputs[Math.floor(way.output / heights)]!];
  const there = inwards + bits + 2 * way.deflections;
  const round = (((end - begin - there) % angles) + angles) % angles;
  return { inwards, bits, round, hops: there + round };
}

const digits = (height: number, bits: number): string => height.toString(2).padStart(bits, "0").slice(-bits);

/** What became of a packet, in words. */
export function wayWords(shape: SwitchShape, way: Way): string {
  const { inwards, bits, round, hops } = partsOf(shape, way);
  const done = way.places.length - 1;
  const [from, to] = [way.input % shape.heights, way.output % shape.heights];
  const width = Math.log2(shape.heights);
  const sum = `${inwards} inwards + ${bits} for ${bits === 1 ? "the bit that differs" : "the bits that differ"} + 2 × ${way.deflections} for deflections + ${round} round to its angle = ${hops}`;
  const state = way.left
    ? `It has left after ${counted(done, "hop")}`
    : `It has gone ${counted(done, "hop")}. If nothing deflects it again, they will be`;
  return `Packet ${formatCount(way.number)} goes from input ${way.input} (height ${digits(from, width)}) to output ${way.output} (height ${digits(to, width)}). ${state}: ${sum}.`;
}

export class Play {
  readonly found: Switch;
  moves: Move[] = [];
  readonly passed: Passed[] = [];
  private readonly ways: (Way | undefined)[] = [];

  constructor(
    readonly shape: SwitchShape,
    readonly traffic: DrawnPackets,
  ) {
    this.found = new Switch(shape, BACKLOG);
  }

  step(): void {
    const { found, shape, ways } = this;
    const { flights, cells, bits } = found;
    found.step(this.traffic);
    const moves: Move[] = [];
    let [latency, total] = [0, 0];
    for (const row of found.left) {
      const way = ways[row]!;
      way.left = true;
      latency += found.cycle - 1 - flights.entered[row]!;
      total += found.cycle - 1 - flights.arrived[row]!;
      moves.push({ way, kind: "leaves", from: way.places.at(-1)!, to: -1, angle: flights.angle[row]!, signal: -1 });
    }
    const { angles, heights } = shape;
    for (let cylinder = 0; cylinder < cells.length; cylinder++) {
      const here = cells[cylinder]!;
      for (let cell = 0; cell < here.length; cell++) {
        const row = here[cell]! >> bits;
        if (row < 0) continue;
        const [height, slot] = [Math.floor(cell / angles), cell % angles];
        const to = cylinder * heights + height;
        let way = ways[row];
        let kind: MoveKind = "enters";
        let [from, signal] = [-1, -1];
        if (way === undefined || way.number !== flights.number[row]) {
          const [number, input, output] = [flights.number[row]!, flights.input[row]!, flights.output[row]!];
          way = { number, input, output, since: found.cycle, places: [], kinds: [], deflections: 0, left: false };
          ways[row] = way;
        } else {
          from = way.places.at(-1)!;
          if (from < cylinder * heights) kind = "inwards";
          else if (cylinder === cells.length - 1) kind = "circles";
          else if (flights.turned[row] === found.cycle - 1) {
            kind = "deflected";
            signal = from + heights;
          } else kind = "stays";
          way.deflections = flights.deflections[row]!;
        }
        way.places.push(to);
        way.kinds.push(kind);
        moves.push({ way, kind, from, to, angle: (slot + found.cycle) % angles, signal });
      }
    }
    this.moves = moves;
    const loads = Array.from(found.load, (count) => count / (heights * angles));
    this.passed.push({ loads, delivered: found.left.length, latency, total });
    if (this.passed.length > SPAN) this.passed.shift();
  }

  /** Per port and cycle, and the means of packets that left, over the cycles that are remembered; NaN where there were none. */
  recent(): { throughput: number; latency: number; total: number } {
    const sum = (each: (passed: Passed) => number): number => this.passed.reduce((all, passed) => all + each(passed), 0);
    const delivered = sum((passed) => passed.delivered);
    const ports = this.shape.heights * this.shape.inputs.length;
    return {
      throughput: delivered / ports / this.passed.length,
      latency: sum((passed) => passed.latency) / delivered,
      total: sum((passed) => passed.total) / delivered,
    };
  }
}

/** A point of the curve: chances of arrival, what is delivered per port and cycle, and mean cycles without and with the wait. */
export interface LoadPoint {
  readonly load: number;
  readonly throughput: number;
  readonly latency: number;
  readonly total: number;
}

export const LOADS = [
  0.02, 0.05, 0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.22, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.85, 1,
] as const;
/** Moves that a point of the curve may cost, about, and cycles between two looks at the clock. */
const WORK = 1_200_000;
const SLICE = 8;

/** The curve of a switch, point by point; null between them, so that a page can do something else meanwhile. */
export function* curveOf(shape: SwitchShape, trafficAt: (load: number) => SwitchTraffic): Generator<LoadPoint | null> {
  const ports = shape.heights * shape.inputs.length;
  const nodes = (Math.log2(shape.heights) + 1) * shape.heights * shape.angles;
  const cycles = Math.max(150, Math.min(1500, Math.round(WORK / nodes)));
  for (const load of LOADS) {
    const found = new Switch(shape, BACKLOG);
    const traffic = trafficAt(load);
    let [delivered, latency, total] = [0, 0, 0];
    for (let cycle = 0; cycle < 2 * cycles; cycle++) {
      found.step(traffic);
      if (cycle % SLICE === 0) yield null;
      if (cycle < cycles) continue;
      delivered += found.left.length;
      for (const row of found.left) {
        latency += cycle - found.flights.entered[row]!;
        total += cycle - found.flights.arrived[row]!;
      }
    }
    yield { load, throughput: delivered / ports / cycles, latency: latency / delivered, total: total / delivered };
  }
}
