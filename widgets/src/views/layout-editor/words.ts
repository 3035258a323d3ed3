// What there is to say about a layout and its components, and which blocks they can have: pure functions.
import { divisors } from "#model/layouts/edits.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { type Component, componentName, type Part, partText } from "#model/layouts/notation.ts";
import type { Dimension } from "#model/layouts/spaces.ts";
import { counted, formatBytes, formatCount } from "#model/units.ts";

/** A name for a component that stays while its block and its place change. */
export function partKey(part: Part): string {
  return part === "F" ? "F" : `${part.dim}:${part.rank}`;
}

/** What can be done with a component of a dimension. */
export interface DigitState {
  readonly part: Component;
  /** "whole": not split. "inner": has a block. "top": counts the blocks. */
  readonly kind: "whole" | "inner" | "top";
  readonly size: number;
  /** The product of the blocks of the digits below it. */
  readonly step: number;
  readonly extent: number;
  /** The largest block that it can have ("inner"), or that can be split off. */
  readonly most: number;
  /** Blocks worth offering, ascending. */
  readonly choices: readonly number[];
}

/** A component on its dimension; null for F and for a dimension that is not there. */
export function digitState(parts: readonly Part[], at: number, dims: readonly Dimension[]): DigitState | null {
  const part = parts[at];
  if (part === undefined || part === "F") return null;
  const size = dims.find((dim) => dim.name === part.dim)?.size;
  if (size === undefined) return null;
  const own = parts.filter((each): each is Component => each !== "F" && each.dim === part.dim);
  const product = (chosen: readonly Component[]): number => chosen.reduce((all, each) => all * (each.extent ?? 1), 1);
  const step = product(own.filter((each) => each.rank < part.rank));
  if (part.extent !== null) {
    const most = Math.max(1, Math.floor(size / product(own.filter((each) => each !== part))));
    const choices = blockChoices(size % step === 0 ? size / step : most, most, part.extent);
    return { part, kind: "inner", size, step, extent: part.extent, most, choices };
  }
  const extent = Math.ceil(size / step);
  const most = Math.max(1, Math.floor(size / step));
  return {
    part,
    kind: part.label === "" ? "whole" : "top",
    size,
    step,
    extent,
    most,
    choices: splitChoices(extent, most, false),
  };
}

/** The blocks that a digit may be split into: of a digit with a block only those that divide it. */
export function splitsOf(state: DigitState): readonly number[] {
  return state.kind === "inner" ? splitChoices(state.extent, state.extent, true) : state.choices;
}

/** A divisor farther than this from the middle gives way to a power of two, with padding. */
const FAR = Math.log(4);

/** The block that a split begins with: in the middle of what there is. Null where nothing can be split off. */
export function firstSplit(state: DigitState): number | null {
  const aim = Math.log(state.extent) / 2;
  const far = (block: number): number => Math.abs(Math.log(block) - aim);
  const nearest = (choices: readonly number[]): number | null =>
    choices.reduce<number | null>((best, block) => (best === null || far(block) <= far(best) ? block : best), null);
  const even = nearest(splitsOf(state));
  if (state.kind === "inner" || (even !== null && far(even) <= FAR)) return even;
  return nearest(powersOfTwo(Math.min(state.most, state.extent - 1)).filter((block) => block > 1)) ?? even;
}

/** Fewer divisors than these are too few to slide over: powers of two join them. */
const ENOUGH = 4;

/** The divisors of `n` up to `most` with the block that is there; of a number with few of them, powers of two as well. */
export function blockChoices(n: number, most: number, block: number): number[] {
  const found = divisors(n).filter((each) => each <= most);
  const more = found.length < ENOUGH ? powersOfTwo(most) : [];
  return [...new Set([...found, ...more, block])].sort((one, other) => one - other);
}

function splitChoices(extent: number, most: number, even: boolean): number[] {
  const found = divisors(extent).filter((each) => each > 1 && each < extent && each <= most);
  if (even || found.length > 0) return found;
  return powersOfTwo(Math.min(most, extent - 1)).filter((each) => each > 1);
}

function powersOfTwo(most: number): number[] {
  const found: number[] = [];
  for (let power = 1; power <= most; power *= 2) found.push(power);
  return found;
}

/** What a component is, in a sentence. */
export function digitWords({ part, kind, size, step, extent }: DigitState): string {
  if (kind === "whole") return `${part.dim} is whole: ${formatCount(size)} in a row`;
  return kind === "top" ? blocksWords(size, step) : blocksWords(size, step * extent);
}

/** What a split off block makes of a dimension, in words. */
export function splitWords({ size, step }: DigitState, block: number): string {
  return `gives ${blocksWords(size, step * block)}`;
}

function blocksWords(size: number, block: number): string {
  return `${counted(Math.ceil(size / block), "block")} of ${formatCount(block)}${lastBlock(size, block)}`;
}

/** "; the last has 3" where blocks do not divide their dimension. */
function lastBlock(size: number, block: number): string {
  return size % block === 0 ? "" : `; the last has ${formatCount(size % block)}`;
}

/** What padding there is: "the last block of x has 3 of 4"; "" where there is none. */
export function paddingWords(linear: Linearization): string {
  if (linear.nbytes === linear.payload) return "";
  const short = linear.dims.flatMap(({ name, size }) => {
    const top = linear.digits.filter((digit) => digit.dim === name).reduce((step, digit) => Math.max(step, digit.step), 1);
    return size % top === 0 ? [] : [`the last block of ${name} holds ${formatCount(size % top)} of ${formatCount(top)}`];
  });
  return `${formatBytes(linear.nbytes - linear.payload)}; ${short.join(", ")}`;
}

/** What a chip says to those who do not see it. */
export function chipLabel(part: Part, place: number, count: number): string {
  const where = place === 0 ? ", fastest" : place === count - 1 ? ", slowest" : "";
  return `${partText(part)}, ${place + 1} of ${count}${where}`;
}

/** The number that was typed for a block, or what is wrong with it. */
export function blockEntry(text: string, most: number): { block: number; problem: null } | { block: null; problem: string } {
  const trimmed = text.trim().replaceAll(",", "");
  const block = Number(trimmed);
  const wrong = (problem: string): { block: null; problem: string } => ({ block: null, problem });
  if (!/^[0-9]+$/.test(trimmed) || block < 1) return wrong(`expected a whole number from 1 to ${formatCount(most)}`);
  return block > most ? wrong(`at most ${formatCount(most)} fit here`) : { block, problem: null };
}

/** The name of a digit as a label: "x_in". */
export function digitName(part: Part): string {
  return part === "F" ? "F" : componentName(part);
}
