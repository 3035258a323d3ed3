// What a reader can choose about the picture. Both ends of a transfer share one value, so that they can be compared.
import type { ByName } from "#model/by-name.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Extent } from "#model/picture-way.ts";
import type { Side } from "#model/settings.ts";

export type ColourBy = "offset" | "digit" | "field" | "chunk" | "line" | "page" | "sector";

/**
 * `across` and `down` are dimensions, null for those of the picture of memory. `fixed` says where the other dimensions stand.
 * `digit` is the component whose values are coloured. `fields` shows all fields ("auto": in each cell where there is room, else side
 * by side; "cells", "panels") or one ("only:re"). `warp` is the dimension along which the lanes of a warp take entries, null for the
 * one to the right; each lane takes `lane` bytes.
 */
export interface ViewOptions {
  readonly across: string | null;
  readonly down: string | null;
  readonly fixed: ByName<number>;
  readonly colour: ColourBy;
  readonly digit: string | null;
  readonly warp: string | null;
  readonly lane: number;
  readonly fields: string;
  readonly numbers: "offset" | "order" | "value" | "none";
  readonly order: boolean;
  readonly runs: boolean;
  readonly chunks: boolean;
  /** Whether both ends show the same part of the array. */
  readonly linked: boolean;
  /** Whether dragging on the grid chooses what moves. */
  readonly choosing: boolean;
  /** The end whose order in memory is played. */
  readonly plays: Side;
  readonly playing: boolean;
  /** How much the pictures show; null for what the whole explorer shows. */
  readonly extent: Extent | null;
}

export const OPTIONS: ViewOptions = {
  across: null,
  down: null,
  fixed: new Map(),
  colour: "offset",
  digit: null,
  warp: null,
  lane: 4,
  fields: "auto",
  numbers: "offset",
  order: true,
  runs: true,
  chunks: true,
  linked: true,
  choosing: false,
  plays: "source",
  playing: false,
  extent: null,
};

/** A cache line, in bytes. */
export const CACHE_LINE = 64;

/** The number of the digit that is coloured: the chosen one, else one of its dimension, else the slowest of a dimension. */
export function colouredDigit(linear: Linearization, chosen: string | null): number {
  const named = linear.digits.findIndex((digit) => digit.text === chosen);
  if (named >= 0) return named;
  const dim = (chosen ?? "").replace(/=.*$/, "").replace(/_(in|out|\p{Nd}+)$/u, "");
  const places = linear.digits.map((digit, place) => ({ digit, place })).filter(({ digit }) => digit.part !== "F");
  const own = places.filter(({ digit }) => digit.dim === dim);
  return (own.length > 0 ? own : places).at(-1)?.place ?? 0;
}
