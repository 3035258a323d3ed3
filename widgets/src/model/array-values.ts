// The values of an array of the user: as numbers they stand in the cells of the grid, as levels they colour pictures.
import type { Linearization } from "./layouts/linearization.ts";

/** Values for pictures: for each field a byte per sample, in base 64. 0 is `low`, 254 is `high`, 255 is none. */
export interface ArrayLevels {
  /** Samples along each dimension. */
  readonly sizes: readonly number[];
  readonly columns: readonly (string | null)[];
  readonly low: readonly number[];
  readonly high: readonly number[];
  /** What the fields are, or the indices of the dimension `along`: "red", "green", "blue", "alpha", "grey". Empty: a scale is meant. */
  readonly colours: readonly string[];
  readonly along: string;
}

/** Values as text, where they are few: for each field those of all indices, in C order of the dimensions. */
export interface ArrayValues {
  readonly dims: readonly string[];
  readonly sizes: readonly number[];
  readonly fields: readonly string[];
  readonly texts: readonly (readonly string[])[];
  readonly levels: ArrayLevels;
}

/** The text of each entry, and the longest of them. */
export interface CellValues {
  readonly of: (index: readonly number[], field: number) => string;
  readonly longest: string;
}

/** What lies in the entries, in terms of a layout. The level of an entry is that of its sample, in the column of its field. */
export interface EntryLevels {
  /** By field: 0 is the lower end of its range, `NO_LEVEL` - 1 the upper one; `NO_LEVEL` is no number. Null: none has one. */
  readonly columns: readonly (Uint8Array | null)[];
  /** What an index of a dimension adds to the place of the sample. */
  readonly sample: (dim: number, index: number) => number;
  /** In a photo: which of "red", "green", "blue", "alpha" and "grey" the fields are, or the indices of the dimension `along`. */
  readonly colours: readonly string[];
  readonly along: number;
  /** Samples along each dimension. */
  readonly samples: readonly number[];
  /** The range of each field. */
  readonly ranges: readonly { readonly from: number; readonly to: number }[];
}

export const NO_LEVEL = 255;

/** For each dimension of a layout its place in the values; null where they belong to an array of other sizes or fields. */
function placesOf(values: ArrayValues, linear: Linearization): { dims: number[]; fields: number[] } | null {
  const dims = linear.dims.map(({ name, size }) => {
    const place = values.dims.indexOf(name);
    return values.sizes[place] === size ? place : -1;
  });
  const fields = linear.fields.map(({ name }) => values.fields.indexOf(name));
  const fit = linear.dims.length === values.dims.length && !dims.includes(-1) && !fields.includes(-1);
  return fit ? { dims, fields } : null;
}

/** The strides of an array in C order with these sizes. */
const strides = (sizes: readonly number[]): number[] =>
  sizes.map((_, place) => sizes.slice(place + 1).reduce((product, each) => product * each, 1));

/** The values as text in terms of a layout; null where there are none, or where they belong to an array of other sizes or fields. */
export function cellValues(values: ArrayValues | null, linear: Linearization | null): CellValues | null {
  const places = values === null || linear === null || values.texts.length === 0 ? null : placesOf(values, linear);
  if (values === null || places === null) return null;
  const steps = strides(values.sizes);
  const columns = places.fields.map((place) => values.texts[place] ?? []);
  const ofDim = places.dims.map((place) => steps[place] ?? 0);
  return {
    of: (index, field) => columns[field]?.[index.reduce((sum, at, dim) => sum + at * (ofDim[dim] ?? 0), 0)] ?? "",
    longest: values.texts.flat().reduce((long, text) => (text.length > long.length ? text : long), ""),
  };
}

/** The values for pictures in terms of a layout; null where there are none, or where they belong to an array of other sizes or fields. */
export function entryLevels(values: ArrayValues | null, linear: Linearization | null): EntryLevels | null {
  const places = values === null || linear === null ? null : placesOf(values, linear);
  if (values === null || linear === null || places === null) return null;
  const { levels } = values;
  const steps = strides(levels.sizes);
  const along = linear.dims.findIndex(({ name }) => name === levels.along);
  return {
    columns: places.fields.map((place) => bytesOf(levels, place)),
    sample: (dim, index) => {
      const place = places.dims[dim] ?? 0;
      return Math.floor((index * (levels.sizes[place] ?? 1)) / (values.sizes[place] ?? 1)) * (steps[place] ?? 0);
    },
    colours: along < 0 && levels.colours.length > 0 ? places.fields.map((place) => levels.colours[place] ?? "") : levels.colours,
    along,
    samples: places.dims.map((place) => levels.sizes[place] ?? 1),
    ranges: places.fields.map((place) => ({ from: levels.low[place] ?? 0, to: levels.high[place] ?? 0 })),
  };
}

const decoded = new WeakMap<ArrayLevels, (Uint8Array | null)[]>();

/** The levels of a field. All of them are decoded once. */
function bytesOf(levels: ArrayLevels, field: number): Uint8Array | null {
  let known = decoded.get(levels);
  if (known === undefined) {
    known = levels.columns.map((text) => (text === null ? null : Uint8Array.from(atob(text), (each) => each.charCodeAt(0))));
    decoded.set(levels, known);
  }
  return known[field] ?? null;
}
