// Requests: the entries that one contiguous run of a copy between two layouts holds.

import type { Mode } from "./compare.ts";
import { compare } from "./compare.ts";
import type { Linearization } from "./linearization.ts";

/** The entries of one contiguous run. It holds all fields of its entries, or elements of one field. */
export interface RequestBox {
  /** By dimension: how many coordinates the run holds. */
  readonly extents: Readonly<Record<string, number>>;
  /** By dimension: the distance of these coordinates; 1 where they are neighbours. */
  readonly steps: Readonly<Record<string, number>>;
  readonly entries: number;
  readonly fields: "one" | "all";
}

/** The box of entries that one contiguous run between two layouts holds. */
export function requestBox(a: Linearization, b: Linearization): RequestBox {
  const { prefix, prefixCount } = compare(a, b);
  const extents: Record<string, number> = {};
  const steps: Record<string, number> = {};
  for (const { name } of a.dims) {
    const own = prefix.filter((part): part is Mode => part !== "F" && part.dim === name);
    extents[name] = own.reduce((product, mode) => product * mode.extent, 1);
    steps[name] = own.length === 0 ? 1 : Math.min(...own.map((mode) => mode.step));
  }
  return { extents, steps, entries: prefixCount, fields: prefix.includes("F") ? "all" : "one" };
}

/** The first index of the run that holds an entry: boxes repeat from the origin of the index space. */
export function requestOrigin(box: RequestBox, linear: Linearization, index: readonly number[]): number[] {
  return linear.dims.map(({ name }, dim) => {
    const [i, extent, step] = [index[dim] ?? 0, box.extents[name] ?? 1, box.steps[name] ?? 1];
    return i - (Math.floor(i / step) % extent) * step;
  });
}
