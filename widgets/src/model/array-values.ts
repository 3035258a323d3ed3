// The values of an array of the user, which stand in the cells of the grid.
import type { Linearization } from "./layouts/linearization.ts";

/** Values as text: for each field those of all indices, in C order of the dimensions. */
export interface ArrayValues {
  readonly dims: readonly string[];
  readonly sizes: readonly number[];
  readonly fields: readonly string[];
  readonly texts: readonly (readonly string[])[];
}

/** The text of each entry, and the longest of them. */
export interface CellValues {
  readonly of: (index: readonly number[], field: number) => string;
  readonly longest: string;
}

/** The values in terms of a layout; null where there are none, or where they belong to an array of other sizes or fields. */
export function cellValues(values: ArrayValues | null, linear: Linearization | null): CellValues | null {
  if (values === null || linear === null || linear.dims.length !== values.dims.length) return null;
  const strides = linear.dims.map(({ name, size }) => {
    const place = values.dims.indexOf(name);
    if (place < 0 || values.sizes[place] !== size) return null;
    return values.sizes.slice(place + 1).reduce((product, each) => product * each, 1);
  });
  const columns = linear.fields.map(({ name }) => values.texts[values.fields.indexOf(name)]);
  if (strides.includes(null) || columns.includes(undefined)) return null;
  return {
    of: (index, field) => columns[field]?.[index.reduce((sum, at, dim) => sum + at * (strides[dim] ?? 0), 0)] ?? "",
    longest: values.texts.flat().reduce((long, text) => (text.length > long.length ? text : long), ""),
  };
}
