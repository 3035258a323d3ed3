// Layouts on spaces: the map from (index, field) to bytes and back, the twin of isoviz/layouts/layout.py.
//
// A digit faster than F has the stride (product of the extents before it) × (bytes of the field), a slower one (product of the
// extents before it) × |F|, and F contributes (product of the extents before it) × (bytes of the fields before the field).

import { cut, listed, quoted, sentence } from "./error-text.ts";
import type { Part, TextProblem } from "./notation.ts";
import { endOf, layoutText, namedDimensions, parse, partText, textProblem } from "./notation.ts";
import type { Dimension, Field } from "./spaces.ts";
import { MOST_DIMENSIONS } from "./spaces.ts";

/** A component on the spaces: coordinate i has the digit `floor(i / step) % extent`. F has the dimension "F" and step 0. */
export interface Digit {
  readonly part: Part;
  readonly text: string;
  readonly dim: string;
  readonly extent: number;
  readonly step: number;
}

/** The content of a byte: the index of its point, the number of its field, and the number of the byte in the element. */
export interface Location {
  readonly index: readonly number[];
  readonly field: number;
  readonly byte: number;
}

export type Linearized =
  | { readonly linear: Linearization; readonly problem: null }
  | { readonly linear: null; readonly problem: TextProblem };

/** A layout on an index space and a field space. `linearize` makes it. */
export class Linearization {
  readonly dims: readonly Dimension[];
  readonly fields: readonly Field[];
  /** The components, fastest first. */
  readonly digits: readonly Digit[];
  /** Bytes allocated, padding included. */
  readonly nbytes: number;
  /** Bytes of the entries, without padding. */
  readonly payload: number;
  /** |F|: bytes of one entry. */
  readonly entryBytes: number;
  /** By digit: the product of the extents of the digits of dimensions before it. */
  private readonly before: readonly number[];
  /** By dimension: the places of its digits, fastest digit first. */
  private readonly places: readonly (readonly number[])[];
  /** By digit: the number of its dimension; -1 for F. */
  private readonly owners: readonly number[];
  private readonly fieldsAt: number;
  private readonly starts: readonly number[];

  constructor(digits: readonly Digit[], dims: readonly Dimension[], fields: readonly Field[]) {
    this.digits = digits;
    this.dims = dims;
    this.fields = fields;
    let count = 1;
    const before: number[] = [];
    for (const digit of digits) {
      before.push(count);
      if (digit.part !== "F") count *= digit.extent;
    }
    let entryBytes = 0;
    const starts: number[] = [];
    for (const field of fields) {
      starts.push(entryBytes);
      entryBytes += field.size;
    }
    this.before = before;
    this.starts = starts;
    this.entryBytes = entryBytes;
    this.nbytes = count * entryBytes;
    this.payload = dims.reduce((product, dim) => product * dim.size, entryBytes);
    this.fieldsAt = digits.findIndex((digit) => digit.part === "F");
    this.owners = digits.map((digit) => (digit.part === "F" ? -1 : dims.findIndex((dim) => dim.name === digit.dim)));
    this.places = dims.map((dim) =>
      digits
        .map((_, place) => place)
        .filter((place) => digits[place]?.part !== "F" && digits[place]?.dim === dim.name)
        .sort((one, other) => rankOf(digits[one]) - rankOf(digits[other])),
    );
  }

  /** Entries allocated, padding included. */
  get count(): number {
    return this.nbytes / this.entryBytes;
  }

  /** Entries between two neighbouring fields of one point: the product of the extents faster than F. */
  get innerCount(): number {
    return this.before[this.fieldsAt] ?? 1;
  }

  /** The bytes between two neighbours along a digit; 0 for F. */
  stride(digit: number, field: number): number {
    if (digit === this.fieldsAt) return 0;
    const unit = digit < this.fieldsAt ? (this.fields[field]?.size ?? 0) : this.entryBytes;
    return (this.before[digit] ?? 0) * unit;
  }

  /** The byte offset of a field at index (0, …, 0). */
  base(field: number): number {
    return this.innerCount * (this.starts[field] ?? 0);
  }

  /** The byte offset of an element; `index` is in the order of `dims`. */
  offset(index: readonly number[], field: number): number {
    let total = this.base(field);
    for (let dim = 0; dim < this.places.length; dim += 1) {
      const places = this.places[dim] as readonly number[];
      let rest = index[dim] as number;
      for (let k = 0; k < places.length; k += 1) {
        const place = places[k] as number;
        if (k === places.length - 1) {
          total += rest * this.stride(place, field);
          break;
        }
        const extent = (this.digits[place] as Digit).extent;
        const above = Math.floor(rest / extent);
        total += (rest - above * extent) * this.stride(place, field);
        rest = above;
      }
    }
    return total;
  }

  /** What each coordinate of a dimension adds to the offset of a field: the offset is `base` and the sum of these. */
  contributions(dim: number, field: number): (i: number) => number {
    const places = this.places[dim] ?? [];
    const extents: number[] = [];
    const strides: number[] = [];
    for (const place of places) {
      const stride = this.stride(place, field);
      const extent = (this.digits[place] as Digit).extent;
      const last = strides.length - 1;
      const end = last < 0 ? -1 : (strides[last] as number) * (extents[last] as number);
      if (stride === end) {
        extents[last] = (extents[last] as number) * extent; // digits that follow one another in memory count as one
      } else {
        strides.push(stride);
        extents.push(extent);
      }
    }
    const [first = 0, second = 0] = strides;
    const [inner = 1] = extents;
    if (strides.length < 2) return (i) => i * first;
    if (strides.length === 2)
      return (i) => {
        const above = Math.floor(i / inner);
        return (i - above * inner) * first + above * second;
      };
    return (i) => {
      let rest = i;
      let total = 0;
      for (let k = 0; k < strides.length - 1; k += 1) {
        const extent = extents[k] as number;
        const above = Math.floor(rest / extent);
        total += (rest - above * extent) * (strides[k] as number);
        rest = above;
      }
      return total + rest * (strides[strides.length - 1] as number);
    };
  }

  /** The value of each digit at an entry; that of F is the number of the field. */
  digitsOf(index: readonly number[], field: number): number[] {
    return this.digits.map((digit, place) => {
      if (digit.part === "F") return field;
      const above = Math.floor((index[this.owners[place] as number] as number) / digit.step);
      return above % digit.extent;
    });
  }

  /** The content of a byte; null for padding and for bytes outside. */
  at(byte: number): Location | null {
    const index = new Array<number>(this.dims.length).fill(0);
    const field = this.fieldAt(byte, index);
    if (field < 0) return null;
    return { index, field, byte: this.byteAt(byte, field) };
  }

  /**
   * The field at a byte, with the index of its point written to `index`; -1 for padding and for bytes outside. It allocates
   * nothing.
   */
  fieldAt(byte: number, index: number[]): number {
    if (!(byte >= 0 && byte < this.nbytes)) return -1;
    const period = this.innerCount * this.entryBytes;
    const block = Math.floor(byte / period);
    const rest = byte - block * period;
    let field = this.fields.length - 1;
    while (field > 0 && (this.starts[field] as number) * this.innerCount > rest) field -= 1;
    const size = (this.fields[field] as Field).size;
    let number = Math.floor((rest - (this.starts[field] as number) * this.innerCount) / size);
    for (let dim = 0; dim < this.dims.length; dim += 1) index[dim] = 0;
    for (let place = 0; place < this.digits.length; place += 1) {
      const digit = this.digits[place] as Digit;
      const dim = this.owners[place] as number;
      if (dim < 0) {
        number = block;
        continue;
      }
      const above = Math.floor(number / digit.extent);
      index[dim] = (index[dim] as number) + (number - above * digit.extent) * digit.step;
      number = above;
    }
    for (let dim = 0; dim < this.dims.length; dim += 1)
      if ((index[dim] as number) >= (this.dims[dim] as Dimension).size) return -1;
    return field;
  }

  /** The number of a byte within its element of a field. */
  private byteAt(byte: number, field: number): number {
    const rest = byte % (this.innerCount * this.entryBytes);
    return (rest - (this.starts[field] as number) * this.innerCount) % (this.fields[field] as Field).size;
  }

  /** The number of a dimension in `dims`; -1 for F and for unknown ones. */
  dimension(name: string): number {
    return this.dims.findIndex((dim) => dim.name === name);
  }

  /** The digits of a dimension by their places in the layout, fastest digit first. */
  placesOf(dim: number): readonly number[] {
    return this.places[dim] ?? [];
  }

  toString(): string {
    return layoutText(this.digits.map((digit) => digit.part));
  }
}

function rankOf(digit: Digit | undefined): number {
  return digit === undefined || digit.part === "F" ? 0 : digit.part.rank;
}

/** The layout that a text describes on an index space and a field space, or what is wrong. */
export function linearize(text: string, dims: readonly Dimension[], fields: readonly Field[]): Linearized {
  const refused = (problem: TextProblem): Linearized => ({ linear: null, problem });
  const names = namedDimensions(text);
  // A name that is no dimension is the mistake, whatever else follows from it.
  const unknown = names.find(({ dim }) => !dims.some(({ name }) => name === dim));
  if (unknown !== undefined) {
    const expected = listed(dims.map(({ name }) => name)) || "F alone";
    return refused(textProblem(unknown.position, `${quoted(unknown.dim)} is not a dimension`, expected));
  }
  const { parts, problem } = parse(text);
  if (problem !== null) return refused(problem);
  const missing = dims.find(({ name }) => !names.some(({ dim }) => dim === name));
  if (missing !== undefined) return refused({ message: `Dimension ${quoted(missing.name)} is missing`, position: endOf(text) });
  if (dims.length > MOST_DIMENSIONS)
    return refused({
      message: `${dims.length} dimensions are too many; the explorer shows up to ${MOST_DIMENSIONS}`,
      position: 0,
    });
  if (fields.length === 0) return refused({ message: "The fields are missing", position: 0 });
  const unsized = [...dims, ...fields].find(({ size }) => !(size >= 1));
  if (unsized !== undefined) return refused({ message: `The size of ${quoted(unsized.name)} is missing`, position: 0 });
  const components = parts.filter((part) => part !== "F");
  const steps = new Map<Part, { step: number; extent: number }>();
  for (const { name, size } of dims) {
    let step = 1;
    for (const part of components.filter(({ dim }) => dim === name).sort((one, other) => one.rank - other.rank)) {
      const block = part.extent ?? 1;
      if (step * block > size) {
        const through = step > 1 ? ` (with the digits below it, ${step * block})` : "";
        const problem = `block ${partText(part)}${through} is larger than dimension ${quoted(name)} of size ${size}`;
        return refused(
          textProblem(names[components.indexOf(part)]?.position ?? 0, problem, `at most ${Math.floor(size / step)}`),
        );
      }
      steps.set(part, { step, extent: part.extent ?? Math.ceil(size / step) });
      step *= block;
    }
  }
  const digits = parts.map((part): Digit => {
    if (part === "F") return { part, text: "F", dim: "F", extent: fields.length, step: 0 };
    const { step, extent } = steps.get(part) as { step: number; extent: number };
    return { part, text: partText(part), dim: part.dim, extent, step };
  });
  const linear = new Linearization(digits, dims, fields);
  return Number.isSafeInteger(linear.nbytes) ? { linear, problem: null } : refused(tooLarge(linear));
}

function tooLarge(linear: Linearization): TextProblem {
  let nbytes = BigInt(linear.entryBytes);
  for (const digit of linear.digits) if (digit.part !== "F") nbytes *= BigInt(digit.extent);
  const most = nbytes >= 2n ** 63n ? "at most 2^63 - 1" : "at most 2^53, which the browser can count";
  return { message: sentence(`the layout has ${cut(String(nbytes))} bytes; expected ${most}`), position: 0 };
}
