// The switch of a Data Vortex, cycle by cycle: the same packets and the same seed as in Python (isoviz.vortex) give the same run.
//
// As there, a cycle is done in place, the innermost cylinder first, in the frame that turns with the packets: a packet stays in its
// slot (angle − cycle) mod A.
import type { SwitchTraffic } from "./traffic.ts";

/** Heights, angles, and the angles at which packets enter and leave: port p is at `inputs[p / heights | 0]`, height p mod heights. */
export interface SwitchShape {
  readonly heights: number;
  readonly angles: number;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

/** Whole numbers of the packets in flight, by their rows; a row is used again when its packet has left. */
export class Flights {
  /** A number for each packet, in the order in which they entered. */
  readonly number: Float64Array;
  readonly input: Int32Array;
  readonly output: Int32Array;
  /** The angle that it goes to. */
  readonly angle: Int32Array;
  /** The cycles in which it arrived at its input, entered, and was deflected last (−1: never). */
  readonly arrived: Float64Array;
  readonly entered: Float64Array;
  readonly turned: Float64Array;
  readonly deflections: Int32Array;

  constructor(count: number) {
    const whole = () => new Int32Array(count);
    const large = () => new Float64Array(count);
    [this.input, this.output, this.angle, this.deflections] = [whole(), whole(), whole(), whole()];
    [this.number, this.arrived, this.entered, this.turned] = [large(), large(), large(), large()];
  }
}

/** A switch and the packets in it. */
export class Switch {
  readonly cylinders: number;
  /** The next cycle. */
  cycle = 0;
  /** By cylinder, the outermost first, and by cell, height · angles + slot: row of the packet << `bits` | height it goes to; or −1. */
  readonly cells: Int32Array[];
  readonly bits: number;
  readonly flights: Flights;
  /** The rows of the packets that left in the last cycle: they hold until the next one. */
  left: number[] = [];
  /** Packets by cylinder, before the last cycle. */
  readonly load: Int32Array;
  offered = 0;
  refused = 0;
  entered = 0;
  delivered = 0;
  /** Moves from node to node, and those that a signal forced. */
  hops = 0;
  deflections = 0;
  private readonly queues: number[][];
  private readonly free: number[];

  /** At most `backlog` packets wait at an input. Heights and nodes must fit a word: 4,096 heights at one angle do. */
  constructor(
    readonly shape: SwitchShape,
    readonly backlog = Number.POSITIVE_INFINITY,
  ) {
    const { heights, angles, inputs } = shape;
    this.bits = Math.log2(heights);
    this.cylinders = this.bits + 1;
    this.cells = Array.from({ length: this.cylinders }, () => new Int32Array(heights * angles).fill(-1));
    const rows = (this.cylinders + 1) * heights * angles; // with those of packets that have just left
    if (rows << this.bits !== rows * heights)
      throw new RangeError(`a switch of ${heights} heights and ${angles} angles is too large`);
    this.flights = new Flights(rows);
    this.free = Array.from({ length: rows }, (_, row) => rows - 1 - row);
    this.load = new Int32Array(this.cylinders);
    this.queues = inputs.flatMap(() => Array.from({ length: heights }, () => []));
  }

  /** The row of the packet at a node, −1 where there is none. */
  at(cylinder: number, height: number, angle: number): number {
    return this.cells[cylinder]![height * this.shape.angles + this.slot(angle, this.cycle)]! >> this.bits;
  }

  /** The packets that wait at an input. */
  waiting(port: number): number {
    return this.queues[port]!.length;
  }

  /** One cycle: all packets move, then new ones arrive and enter. */
  step(traffic: SwitchTraffic): void {
    for (const row of this.left) this.free.push(row);
    this.left = [];
    this.leave();
    for (let cylinder = this.cylinders - 2; cylinder >= 0; cylinder--) this.move(cylinder);
    this.enter(traffic);
    this.cycle += 1;
  }

  private slot(angle: number, cycle: number): number {
    const { angles } = this.shape;
    return (((angle - cycle) % angles) + angles) % angles;
  }

  private leave(): void {
    const { angles } = this.shape;
    const [inner, goes] = [this.cells[this.cylinders - 1]!, this.flights.angle];
    let there = 0;
    for (let base = 0; base < inner.length; base += angles) {
      for (let slot = 0, at = this.cycle % angles; slot < angles; slot++, at = at + 1 === angles ? 0 : at + 1) {
        const word = inner[base + slot]!;
        if (word < 0) continue;
        there += 1;
        if (goes[word >> this.bits] !== at) continue;
        this.left.push(word >> this.bits);
        inner[base + slot] = -1;
      }
    }
    this.delivered += this.left.length;
    this.hops += there - this.left.length;
    this.load[this.cylinders - 1] = there;
  }

  private move(cylinder: number): void {
    const level = this.cylinders - 2 - cylinder;
    const step = this.shape.angles << level;
    const [here, within, bits, { turned, deflections }] = [
      this.cells[cylinder]!,
      this.cells[cylinder + 1]!,
      this.bits,
      this.flights,
    ];
    let [there, bent] = [0, 0];
    for (let base = 0; base < here.length; base += 2 * step) {
      for (let low = base, high = base + step; low < base + step; low++, high++) {
        // The heights of a pair differ in the bit of this cylinder. Masks are −1 for yes and 0 for no: branches would be guessed
        // wrong every other time.
        const [first, second, freeLow, freeHigh] = [here[low]!, here[high]!, within[low]!, within[high]!];
        const firstRight = ~(first >> 31) & (((first >> level) & 1) - 1);
        const secondRight = ~(second >> 31) & -((second >> level) & 1);
        const firstIn = firstRight & (freeLow >> 31);
        const secondIn = secondRight & (freeHigh >> 31);
        within[low] = (first & firstIn) | (freeLow & ~firstIn);
        within[high] = (second & secondIn) | (freeHigh & ~secondIn);
        here[high] = first | firstIn;
        here[low] = second | secondIn;
        there += 2 + (first >> 31) + (second >> 31);
        if (firstRight !== firstIn) {
          bent += 1;
          deflections[first >> bits]! += 1;
          turned[first >> bits] = this.cycle;
        }
        if (secondRight !== secondIn) {
          bent += 1;
          deflections[second >> bits]! += 1;
          turned[second >> bits] = this.cycle;
        }
      }
    }
    this.load[cylinder] = there;
    this.hops += there;
    this.deflections += bent;
  }

  private enter(traffic: SwitchTraffic): void {
    const { heights, angles, inputs, outputs } = this.shape;
    const [outer, flights] = [this.cells[0]!, this.flights];
    for (let number = 0, port = 0; number < inputs.length; number++) {
      const slot = this.slot(inputs[number]!, this.cycle + 1);
      for (let height = 0; height < heights; height++, port++) {
        const queue = this.queues[port]!;
        for (let arriving = traffic.arriving(port, this.cycle); arriving > 0; arriving--) {
          this.offered += 1;
          if (queue.length < this.backlog) queue.push(this.cycle);
          else this.refused += 1;
        }
        const cell = height * angles + slot;
        if (queue.length === 0 || outer[cell]! >= 0) continue;
        const [row, output] = [this.free.pop()!, traffic.output(port)];
        flights.number[row] = this.entered;
        flights.input[row] = port;
        flights.output[row] = output;
        flights.angle[row] = outputs[Math.floor(output / heights)]!;
        flights.arrived[row] = queue.shift()!;
        flights.entered[row] = this.cycle;
        flights.turned[row] = -1;
        flights.deflections[row] = 0;
        outer[cell] = (row << this.bits) | (output % heights);
        this.entered += 1;
      }
    }
  }
}
