// How the elements that are drawn go over a hop: step by step, in the order of the memory that they leave.
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import { type RequestBox, runAlong } from "#model/layouts/requests.ts";

/** The elements that a picture draws, by their places in memory; null where the place is padding. */
export interface Places {
  readonly count: number;
  elementAt(place: number): Entry | null;
}

/** What moves as one, numbered in the order in which it moves: the requests of a block, or the chunks of the whole array. */
export interface Steps {
  readonly count: number;
  /** The number of the step that moves an element; -1 where none of them does. */
  stepOf(element: Entry): number;
}

/**
 * The requests of the elements of a picture, in the order of their places; a request holds what lies in one `box` and one chunk.
 */
export function requestsOf(
  { dims }: Linearization,
  places: Places,
  box: RequestBox,
  chunkOf: (element: Entry) => number = () => 0,
): Steps {
  const nameOf = ({ index, field }: Entry): string =>
    `${chunkOf({ index, field })} ${dims.map(({ name }, dim) => runAlong(index[dim] ?? 0, box, name)).join()} ${box.fields === "all" ? "" : field}`;
  const numbers = new Map<string, number>();
  for (let place = 0; place < places.count; place += 1) {
    const element = places.elementAt(place);
    if (element === null) continue;
    const name = nameOf(element);
    if (!numbers.has(name)) numbers.set(name, numbers.size);
  }
  return { count: numbers.size, stepOf: (element) => numbers.get(nameOf(element)) ?? -1 };
}

/** By place of a picture: the number of the step that moves the element; -1 for padding. */
export function stepsOf(places: Places, { stepOf }: Steps): Int32Array {
  return Int32Array.from({ length: places.count }, (_, place) => {
    const element = places.elementAt(place);
    return element === null ? -1 : stepOf(element);
  });
}

/** By place of one picture: the place of the same element in another one; -1 where it has none. */
export function goalsOf(before: Places, after: Places): Int32Array {
  const keyOf = ({ index, field }: Entry): string => `${index.join()} ${field}`;
  const places = new Map<string, number>();
  for (let place = 0; place < after.count; place += 1) {
    const element = after.elementAt(place);
    if (element !== null) places.set(keyOf(element), place);
  }
  return Int32Array.from({ length: before.count }, (_, place) => {
    const element = before.elementAt(place);
    return element === null ? -1 : (places.get(keyOf(element)) ?? -1);
  });
}

/** How far a step has come, from 0 to 1: `at` counts the steps that are done, and each takes as long as `flight` of them. */
export function progressOf(step: number, at: number, flight: number): number {
  const begin = Math.max(0, step + 1 - flight);
  return Math.max(0, Math.min(1, (at - begin) / (step + 1 - begin)));
}

/** A number for every pixel of a picture, as lists of pixels: those of number n lie from `starts[n]` to before `starts[n + 1]`. */
export interface PixelLists {
  readonly starts: Int32Array;
  readonly pixels: Int32Array;
}

/** The pixels by number; negative ones are in no list. */
export function pixelLists(numbers: Int32Array, count: number): PixelLists {
  const starts = new Int32Array(count + 1);
  for (const number of numbers) if (number >= 0) starts[number + 1] = (starts[number + 1] ?? 0) + 1;
  for (let number = 0; number < count; number += 1) starts[number + 1] = (starts[number + 1] ?? 0) + (starts[number] ?? 0);
  const next = starts.slice();
  const pixels = new Int32Array(starts[count] ?? 0);
  numbers.forEach((number, pixel) => {
    if (number < 0) return;
    const at = next[number] ?? 0;
    pixels[at] = pixel;
    next[number] = at + 1;
  });
  return { starts, pixels };
}
