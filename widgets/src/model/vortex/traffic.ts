// What is sent through a switch of a Data Vortex: a list, or packets that are drawn as in Python (isoviz.vortex.traffic).

/** Packets for the inputs of a switch. */
export interface SwitchTraffic {
  /** How many arrive at an input in a cycle; asked once, in the order of cycles and ports. */
  arriving(port: number, cycle: number): number;
  /** The output of the packet that enters next at an input. */
  output(port: number): number;
}

/** A list: by packet its input, its output, and the cycle of its arrival. */
export class ListedPackets implements SwitchTraffic {
  /** By input: the packets in the order in which they arrive. */
  readonly order: number[][];
  private readonly come: Int32Array;
  private readonly gone: Int32Array;

  constructor(
    ports: number,
    inputs: ArrayLike<number>,
    readonly outputs: ArrayLike<number>,
    readonly cycles: ArrayLike<number>,
  ) {
    this.order = Array.from({ length: ports }, () => []);
    for (let packet = 0; packet < inputs.length; packet++) this.order[inputs[packet]!]!.push(packet);
    for (const packets of this.order) packets.sort((one, other) => cycles[one]! - cycles[other]! || one - other);
    [this.come, this.gone] = [new Int32Array(ports), new Int32Array(ports)];
  }

  arriving(port: number, cycle: number): number {
    const packets = this.order[port]!;
    const before = this.come[port]!;
    let place = before;
    while (place < packets.length && this.cycles[packets[place]!]! <= cycle) place += 1;
    this.come[port] = place;
    return place - before;
  }

  output(port: number): number {
    return this.outputs[this.order[port]![this.gone[port]!++]!]!;
  }
}

/** Chances from 0 to 1, the mean length of bursts (0: none), the hot port and its share, the output of each input (−1: drawn). */
export interface Chances {
  load: number;
  burst?: number;
  share?: number;
  port?: number;
  to?: readonly number[];
}

/** Packets that are drawn cycle by cycle. Chances may change while a switch runs. */
export class DrawnPackets implements SwitchTraffic {
  private readonly state: Uint32Array;
  private readonly on: Uint8Array;

  /** `seed`: a whole number below 2³². */
  constructor(
    ports: number,
    readonly outputs: number,
    public chances: Chances,
    seed: number,
  ) {
    this.on = new Uint8Array(ports);
    this.state = Uint32Array.from([1, 2, 3, 4], (step) => {
      let word = seed + Math.imul(step, 0x9e3779b9);
      word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
      word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
      return word ^ (word >>> 16);
    });
  }

  arriving(port: number): number {
    const { load, burst = 0 } = this.chances;
    if (burst === 0) return load >= 1 || this.happens(load) ? 1 : 0;
    if (this.on[port] === 0) this.on[port] = this.happens(load && 1 / (1 + (burst * (1 - load)) / load)) ? 1 : 0;
    if (this.on[port] === 0) return 0;
    this.on[port] = this.happens(load < 1 ? 1 / burst : 0) ? 0 : 1;
    return 1;
  }

  output(port: number): number {
    const { share = 0, port: hot = 0, to } = this.chances;
    const fixed = to?.[port] ?? -1;
    if (fixed >= 0) return fixed;
    if (scaled(share) > 0 && this.happens(share)) return hot;
    return Math.floor((this.random() * this.outputs) / 2 ** 32);
  }

  private happens(chance: number): boolean {
    return this.random() < scaled(chance);
  }

  /** 32 random bits (xoshiro128**, Blackman and Vigna). */
  private random(): number {
    const { state } = this;
    const [s0, s1, s2, s3] = [state[0]!, state[1]!, state[2]! ^ state[0]!, state[3]! ^ state[1]!];
    const turned = Math.imul(s1, 5);
    state[1] = s1 ^ s2;
    state[0] = s0 ^ s3;
    state[2] = s2 ^ (s1 << 9);
    state[3] = (s3 << 11) | (s3 >>> 21);
    return Math.imul((turned << 7) | (turned >>> 25), 9) >>> 0;
  }
}

/** A chance as a whole number of 2³²nds. */
function scaled(chance: number): number {
  return Math.floor(chance * 2 ** 32 + 0.5);
}
