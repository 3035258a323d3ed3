// The kinds of traffic that are offered to a switch that is watched.
import type { SwitchShape } from "./switch.ts";
import { DrawnPackets } from "./traffic.ts";

/** By name: what it is, in words. */
export const KINDS = {
  uniform: "Uniform: to all outputs alike",
  hot: "Hot spot: 10 % of all packets go to one output",
  bursty: "Bursts of 16 packets",
  permutation: "Permutation: every input has an output of its own",
  words: "Transposition, a word to each node in turn",
  nodes: "Transposition, node after node",
  first: "Transposition, all begin with node 0",
} as const;
export type Kind = keyof typeof KINDS;

const HOT_SHARE = 0.1;
const BURST = 16;
/** Words for a node before those of the next one. */
const WORDS = 64;

/** Packets of a kind. `load`: the chance that one arrives at an input in a cycle; `chances.load` may change later. */
export function packetsOf(kind: Kind, shape: SwitchShape, load: number, seed: number): DrawnPackets {
  const [ports, outputs] = [shape.heights * shape.inputs.length, shape.heights * shape.outputs.length];
  if (kind === "words" || kind === "nodes" || kind === "first") return new Transposed(ports, outputs, kind, load, seed);
  if (kind === "hot") return new DrawnPackets(ports, outputs, { load, share: HOT_SHARE, port: outputs >> 1 }, seed);
  if (kind === "bursty") return new DrawnPackets(ports, outputs, { load, burst: BURST }, seed);
  const to = kind === "permutation" ? shuffled(Math.max(ports, outputs), seed).map((port) => port % outputs) : [];
  return new DrawnPackets(ports, outputs, { load, to }, seed);
}

/** Every input sends to the outputs in turn, again and again: the orders of `isoviz.vortex.Transposition`. */
class Transposed extends DrawnPackets {
  private readonly sent: Float64Array;

  constructor(
    ports: number,
    outputs: number,
    private readonly order: "words" | "nodes" | "first",
    load: number,
    seed: number,
  ) {
    super(ports, outputs, { load }, seed);
    this.sent = new Float64Array(ports);
  }

  override output(port: number): number {
    const turn = this.sent[port]!++;
    if (this.order === "words") return (port + turn) % this.outputs;
    return ((this.order === "first" ? 0 : port) + Math.floor(turn / WORDS)) % this.outputs;
  }
}

/** The numbers below `count` in an order that the seed draws. */
function shuffled(count: number, seed: number): number[] {
  const numbers = Array.from({ length: count }, (_, place) => place);
  const draw = new DrawnPackets(1, count, { load: 1 }, seed);
  for (let place = count - 1; place > 0; place--) {
    const other = draw.output(0) % (place + 1);
    [numbers[place], numbers[other]] = [numbers[other]!, numbers[place]!];
  }
  return numbers;
}
