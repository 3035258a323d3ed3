// How layouts are drawn, in every view of the explorer: by index (an array, coloured by address) or by address (memory, coloured by
// what lies there), the whole or one block, and what the colours of memory say. It belongs to the view: it is neither saved nor undone.
import { type Signal, signal } from "@preact/signals";
import type { Connection } from "./connection.ts";
import { useView } from "./view.ts";

export type Way = "index" | "address" | "both";
export type Extent = "whole" | "block";
export type Lying = "value" | "index";

export interface PictureWay {
  readonly way: Way;
  readonly extent: Extent;
  readonly lying: Lying;
}

/** The colours of an array of the user, packed (alpha, blue, green, red). */
export interface OwnColours {
  /**
   * The colours of a picture of it. `indices` has for each dimension the indices of the coordinates in the picture, `fields` the
   * fields that are drawn.
   */
  readonly painter: (
    indices: readonly ArrayLike<number>[],
    fields: readonly number[],
  ) => (at: ArrayLike<number>, field: number) => number;
  /** Whether strips that are too narrow add up to one colour (red, green and blue). Otherwise they mix. */
  readonly adds: boolean;
  /** How many colours there are along each dimension, spread evenly. */
  readonly samples: readonly number[];
}

const DEFAULT: PictureWay = { way: "address", extent: "whole", lying: "value" };

const kept = new WeakMap<Connection, Signal<PictureWay>>();

/** The way of this view, and what changes it. A component that reads it is drawn again when it changes. */
export function usePictureWay(): PictureWay & { readonly change: (part: Partial<PictureWay>) => void } {
  const { connection } = useView();
  let way = kept.get(connection);
  if (way === undefined) kept.set(connection, (way = signal(DEFAULT)));
  const own = way;
  return {
    ...own.value,
    change: (part) => {
      own.value = { ...own.peek(), ...part };
    },
  };
}
