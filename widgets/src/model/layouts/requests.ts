// Requests: the entries that one contiguous run of a copy between two layouts holds.

import type { Mode } from "./compare.ts";
import { compare } from "./compare.ts";
import type { Linearization } from "./linearization.ts";

/** The entries of one contiguous run. It holds all fields of its entries, or elements of one field. */
export interface RequestBox {
  /** By dimension: how many coordinates the run holds. */
  readonly extents: ReadonlyMap<string, number>;
  /** By dimension: the distance of these coordinates; 1 where they are neighbours. */
  readonly steps: ReadonlyMap<string, number>;
  readonly entries: number;
  readonly fields: "one" | "all";
}

/** The box of entries that one contiguous run between two layouts holds. */
export function requestBox(a: Linearization, b: Linearization): RequestBox {
  const { prefix, prefixCount } = compare(a, b);
  const [extents, steps] = [new Map<string, number>(), new Map<string, number>()];
  for (const { name } of a.dims) {
    const own = prefix.filter((part): part is Mode => part !== "F" && part.dim === name);
    extents.set(
      name,
      own.reduce((product, mode) => product * mode.extent, 1),
    );
    steps.set(name, own.length === 0 ? 1 : Math.min(...own.map((mode) => mode.step)));
  }
  return { extents, steps, entries: prefixCount, fields: prefix.includes("F") ? "all" : "one" };
}

/** A part of an instance: a box that begins at the index `first` and has these sizes. */
export interface PartOfInstance {
  readonly linear: Linearization;
  readonly first: readonly number[];
  readonly sizes: readonly number[];
}

/** The box of entries of a part that are contiguous in its instance. A digit that the part cuts counts with what it has of it. */
export function contiguousBox({ linear, first, sizes }: PartOfInstance): RequestBox {
  const extents = new Map(linear.dims.map(({ name }) => [name, 1]));
  const steps = new Map(extents);
  let [entries, fields]: [number, RequestBox["fields"]] = [1, "one"];
  for (const digit of linear.digits) {
    if (digit.part === "F") {
      fields = "all";
      continue;
    }
    const dim = linear.dimension(digit.dim);
    const [from, size, whole] = [first[dim] ?? 0, sizes[dim] ?? 1, linear.dims[dim]?.size ?? 1];
    const span = digit.step * digit.extent;
    const isCut = size < whole && (from % span > 0 || size % span > 0);
    const taken = isCut ? Math.min(digit.extent, Math.max(1, Math.floor(size / digit.step))) : digit.extent;
    const before = extents.get(digit.dim) ?? 1;
    steps.set(digit.dim, before === 1 ? digit.step : Math.min(steps.get(digit.dim) ?? 1, digit.step));
    extents.set(digit.dim, before * taken);
    entries *= taken;
    if (isCut) break;
  }
  return { extents, steps, entries, fields };
}

/** The smaller one of boxes that all begin with the fastest digits of one order; `fields` is the number of fields. */
export function smallestBox(boxes: readonly RequestBox[], fields: number): RequestBox {
  const elements = (box: RequestBox): number => box.entries * (box.fields === "all" ? fields : 1);
  return boxes.reduce((least, box) => (elements(box) < elements(least) ? box : least));
}

/** The first index of the run that holds an entry: boxes repeat from the origin of the index space. */
export function requestOrigin(box: RequestBox, linear: Linearization, index: readonly number[]): number[] {
  return linear.dims.map(({ name }, dim) => {
    const [i, extent, step] = [index[dim] ?? 0, box.extents.get(name) ?? 1, box.steps.get(name) ?? 1];
    return i - (Math.floor(i / step) % extent) * step;
  });
}

/** The number of the run along a dimension that has a coordinate. */
export function runAlong(at: number, box: RequestBox, dim: string): number {
  const [extent, step] = [box.extents.get(dim) ?? 1, box.steps.get(dim) ?? 1];
  return Math.floor(at / (step * extent)) * step + (at % step);
}

/** In how many runs the entries of a block go that begins at index 0; `sizes` are its coordinates in the order of the dimensions. */
export function runsOfBlock(box: RequestBox, { dims, fields }: Linearization, sizes: readonly number[]): number {
  return dims.reduce(
    (product, { name }, dim) => {
      const [extent, step, size] = [box.extents.get(name) ?? 1, box.steps.get(name) ?? 1, sizes[dim] ?? 1];
      const whole = Math.floor(size / (step * extent));
      return product * (whole * step + Math.min(step, size - whole * step * extent));
    },
    box.fields === "all" ? 1 : fields.length,
  );
}
