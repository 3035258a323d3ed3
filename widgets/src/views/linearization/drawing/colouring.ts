// What a colour says: a number of each element (offset, value of a digit, chunk, cache line, page, sector, field) and the colour of that
// number.
import { type ByName, byName } from "#model/by-name.ts";
import type { ChunkNumbers } from "#model/layouts/chunks.ts";
import { PAGE, SECTOR } from "#model/layouts/hardware.ts";
import type { Digit, Linearization } from "#model/layouts/linearization.ts";
import type { Named, ShownColour } from "#model/types.ts";
import { type GridModel, type Separable, separable } from "#views/linearization/geometry/model.ts";
import { CACHE_LINE, type ColourBy, colouredDigit, type ViewOptions } from "#views/linearization/options.ts";
import { alternating, dimensionScale, fieldColour, lineColours, offsetScale, packed, rgbOf } from "#views/memory/scales.ts";

/**
 * How elements are coloured. `value` is the number of an element. Numbers of a ramp go through `scale` from `from` to `from + top`. Numbers of
 * steps are cut into pieces of `piece`; pieces go round in `colours`, or through `scale` with `others` for every second one.
 */
export interface Colouring {
  readonly by: ColourBy;
  readonly linear: Linearization;
  readonly value: (index: readonly number[], field: number) => number;
  /** The weight of each digit of a dimension, for each field, and what a field adds. */
  readonly weights: (dim: string, field: number) => readonly { step: number; extent: number; weight: number }[];
  readonly base: (field: number) => number;
  readonly scale: Uint32Array;
  readonly others: Uint32Array | null;
  readonly colours: Uint32Array | null;
  readonly from: number;
  readonly top: number;
  /** The first byte that colours tell, and the first one behind them. */
  readonly bytes: readonly [number, number];
  /** 0: a ramp. */
  readonly piece: number;
  /** For colours by digit: its number. */
  readonly digit: number;
}

/** What colours depend on. */
export interface ColouringInputs {
  readonly options: Pick<ViewOptions, "colour" | "digit">;
  readonly palette: Named<ShownColour>;
  readonly chunks: ChunkNumbers | null;
  readonly dark: boolean;
}

/** The bytes of the pieces of memory that colours tell apart. */
const PIECES = { line: CACHE_LINE, page: PAGE, sector: SECTOR };

export function colouring(linear: Linearization, inputs: ColouringInputs): Colouring {
  const { options, palette, chunks, dark } = inputs;
  const scale = offsetScale(dark);
  const digit = colouredDigit(linear, options.digit);
  const byOffset = {
    linear,
    value: (index: readonly number[], field: number) => linear.offset(index, field),
    weights: (dim: string, field: number) =>
      linear.digits.flatMap((each, place) =>
        each.part !== "F" && each.dim === dim
          ? [{ step: each.step, extent: each.extent, weight: linear.stride(place, field) }]
          : [],
      ),
    base: (field: number) => linear.base(field),
    scale,
    others: null,
    colours: null,
    from: 0,
    bytes: [0, linear.nbytes] as const,
    piece: 0,
    digit,
  };
  if (options.colour === "digit") return byDigit(byOffset, linear, digit, palette, dark);
  if (options.colour === "line" || options.colour === "page" || options.colour === "sector")
    return { ...byOffset, by: options.colour, top: linear.nbytes, piece: PIECES[options.colour], colours: lineColours(dark) };
  if (options.colour === "field")
    return {
      ...byOffset,
      by: "field",
      value: (_index, field) => field,
      weights: () => [],
      base: (field) => field,
      colours: Uint32Array.from(linear.fields, ({ name }, field) => packed(rgbOf(fieldColour(field, name)))),
      top: Math.max(1, linear.fields.length - 1),
      piece: 1,
    };
  if (options.colour === "chunk" && chunks !== null) return byChunk(byOffset, linear, chunks, scale, dark);
  const least = Math.min(...linear.fields.map((field) => field.size));
  return { ...byOffset, by: "offset", top: Math.max(1, linear.nbytes - least) };
}

/**
 * The same colours for a picture of a part of an array: `ranges` has the coordinates [from, to) of a dimension, all where it is left
 * out. In place of an offset stands its rank among what is in view, so that the scale is used from end to end.
 */
export function inView(colours: Colouring, ranges: ByName<readonly [number, number]>): Colouring {
  if (colours.by !== "offset") return colours;
  const { linear } = colours;
  let count = 1;
  const places = linear.digits.map((digit) => {
    const size = linear.dims[linear.dimension(digit.dim)]?.size ?? 1;
    const [low, high] = digit.part === "F" ? [0, linear.fields.length - 1] : valuesIn(digit, ranges.get(digit.dim) ?? [0, size]);
    const weight = count;
    count *= high - low + 1;
    return { ...digit, low, high, weight };
  });
  const fields = places.find(({ part }) => part === "F")?.weight ?? 1;
  const shift = places.reduce((sum, { low, weight }) => sum - low * weight, 0);
  return {
    ...colours,
    value: (index, field) =>
      linear.digitsOf(index, field).reduce((sum, value, place) => sum + value * (places[place]?.weight ?? 0), shift),
    weights: (dim) => places.filter(({ part, dim: own }) => part !== "F" && own === dim),
    base: (field) => field * fields + shift,
    from: 0,
    top: Math.max(1, count - 1),
    bytes: bytesIn(linear, places),
  };
}

/** The first byte of what has these values of its digits, and the first one behind it. */
function bytesIn(linear: Linearization, places: readonly { part: unknown; low: number; high: number }[]): [number, number] {
  let [from, end] = [Infinity, 0];
  for (const [field, { size }] of linear.fields.entries()) {
    let [low, high] = [linear.base(field), linear.base(field) + size];
    for (const [place, digit] of places.entries()) {
      low += digit.low * linear.stride(place, field);
      high += digit.high * linear.stride(place, field);
    }
    [from, end] = [Math.min(from, low), Math.max(end, high)];
  }
  return [from, Math.min(end, linear.nbytes)];
}

/** The least and the greatest value of a digit over some coordinates. */
function valuesIn({ step, extent }: Digit, [from, to]: readonly [number, number]): [number, number] {
  const [first, last] = [Math.floor(from / step), Math.floor((to - 1) / step)];
  const [low, high] = [first % extent, last % extent];
  return last - first >= extent || low > high ? [0, extent - 1] : [low, high];
}

function byDigit(
  common: Omit<Colouring, "by" | "top">,
  linear: Linearization,
  digit: number,
  palette: Named<ShownColour>,
  dark: boolean,
): Colouring {
  const shown = linear.digits[digit];
  const isField = shown?.part === "F";
  const colour = byName(palette).get(shown?.dim ?? "")?.[dark ? "dark" : "light"] ?? "#808080";
  const own = { step: shown?.step ?? 1, extent: shown?.extent ?? 1, weight: 1 };
  return {
    ...common,
    by: "digit",
    value: (index, field) => linear.digitsOf(index, field)[digit] ?? 0,
    weights: (dim) => (!isField && dim === shown?.dim ? [own] : []),
    base: (field) => (isField ? field : 0),
    scale: dimensionScale(colour, dark),
    top: Math.max(1, (shown?.extent ?? 1) - 1),
  };
}

function byChunk(
  common: Omit<Colouring, "by" | "top">,
  linear: Linearization,
  chunks: ChunkNumbers,
  scale: Uint32Array,
  dark: boolean,
): Colouring {
  let weight = 1;
  const digits = chunks.digits.map((each) => {
    const own = { ...each, weight };
    weight *= each.extent;
    return own;
  });
  const fields = digits.find((each) => each.dim === "F");
  const base = (field: number): number =>
    fields === undefined ? 0 : (Math.floor(field / Math.max(1, fields.step)) % fields.extent) * fields.weight;
  return {
    ...common,
    by: "chunk",
    value: (index, field) =>
      digits.reduce((sum, each) => {
        if (each.dim === "F") return sum;
        const at = index[linear.dimension(each.dim)] ?? 0;
        return sum + (Math.floor(at / each.step) % each.extent) * each.weight;
      }, base(field)),
    weights: (dim) => digits.filter((each) => each.dim === dim),
    base,
    others: alternating(scale, dark),
    top: Math.max(1, (chunks.count - 1) * chunks.perChunk),
    piece: chunks.perChunk,
  };
}

/** The sums over column and row that the grid is drawn from, for each field. */
export function separables(model: GridModel, colours: Colouring): Separable[] {
  return colours.linear.fields.map((_, field) => separable(model, colours.base(field), (dim) => colours.weights(dim, field)));
}

/** The packed colour of a number. `low` and `high` are the smallest and the largest number of what shares the colour. */
export function colourOf(colours: Colouring, mean: number, low = mean, high = mean): number {
  const { scale, piece } = colours;
  const last = scale.length - 1;
  const place = (value: number): number => Math.max(0, Math.min(last, Math.round(((value - colours.from) / colours.top) * last)));
  if (piece === 0) return scale[place(mean)] ?? 0;
  const first = Math.floor(low / piece);
  const same = first === Math.floor(high / piece);
  if (colours.colours !== null) {
    const around = colours.by === "field" ? colours.colours.length : colours.colours.length - 1;
    return colours.colours[same ? first % around : around] ?? colours.colours[around - 1] ?? 0;
  }
  if (!same) return scale[place(mean)] ?? 0;
  return ((first % 2 === 0 ? scale : colours.others) ?? scale)[place(first * piece)] ?? 0;
}

/** The packed colour of an element. */
export function elementColour(colours: Colouring, index: readonly number[], field: number): number {
  return colourOf(colours, colours.value(index, field));
}
