// What lies in memory, as colours: the value of an element, or its rank in the array.
//
// An array without values has a generated picture: a landscape with a large letter F, so that everybody sees whether it stands or lies.
// It belongs to the array, never to a layout: the last axis goes across and an earlier one down. The last axis of an array is the first
// dimension of its index space (x, then y, then z).
// The Python twin is isoviz/figures/layouts/memory_picture.py: equal colours, to the bit.

import { type Linearization, linearize } from "#model/layouts/linearization.ts";
import type { Lying, OwnColours } from "#model/picture-way.ts";
import { LONG, wrapWidth } from "./arrangement.ts";
import type { MemoryMap } from "./memory-map.ts";
import { fieldColour, offsetScale, packed, rgbOf } from "./scales.ts";

/** The colour of an element, packed. `at` has its coordinates in the model of the picture, `field` is a field of the model. */
export interface Paint {
  readonly element: (at: ArrayLike<number>, field: number) => number;
  /** Whether strips that are too narrow add up to one colour (red, green and blue). Otherwise they mix. */
  readonly adds: boolean;
  /** The same colours to look up, for large pictures; null where there would be more than `most`. They are worked out when asked for. */
  readonly table?: (most: number) => Table | null;
}

/** Colours by the sum of what the coordinates add: `parts` has it for each dimension, and behind them for the field. */
export interface Table {
  readonly colours: Uint32Array;
  readonly parts: readonly Float64Array[];
}

/** What a table tells apart along a dimension (or of the fields): `count` cases, the case of a coordinate, and one of each case. */
interface Cases {
  readonly slot: number;
  readonly count: number;
  readonly caseOf: (at: number) => number;
  readonly one: (number: number) => number;
}

/** The table of a picture. `known` keeps its colours for the other layouts of the same array. */
function tableOf(
  map: MemoryMap,
  element: Paint["element"],
  cases: readonly Cases[],
  most: number,
  known: Map<string, Uint32Array>,
  name: string,
): Table | null {
  const dims = map.sizes.length;
  const total = cases.reduce((product, { count }) => product * count, 1);
  if (total > most) return null;
  const parts = [...map.sizes, map.fieldCount].map((size) => new Float64Array(size));
  let weight = 1;
  for (const { slot, count, caseOf } of cases) {
    const part = parts[slot] as Float64Array;
    for (let at = 0; at < part.length; at += 1) part[at] = caseOf(at) * weight;
    weight *= count;
  }
  const key = `${name} ${cases.map(({ slot, count }) => `${slot}/${count}`).join()}`;
  let colours = known.get(key);
  if (colours === undefined) {
    colours = new Uint32Array(total);
    const at = new Float64Array(dims + 1);
    for (let number = 0; number < total; number += 1) {
      let rest = number;
      for (const { slot, count, one } of cases) {
        const above = Math.floor(rest / count);
        at[slot] = one(rest - above * count);
        rest = above;
      }
      colours[number] = element(at, at[dims] as number);
    }
    if (known.size > 20) known.clear();
    known.set(key, colours);
  }
  return { colours, parts };
}

const generatedTables = new Map<string, Uint32Array>();
const ownTables = new WeakMap<OwnColours, Map<string, Uint32Array>>();

/** All coordinates of a dimension (or all fields), each for itself. */
const each = (slot: number, count: number): Cases => ({ slot, count, caseOf: (at) => at, one: (at) => at });

/** A dimension in at most `count` pieces of about the same length. */
const pieces = (slot: number, size: number, count: number): Cases => ({
  ...{ slot, count },
  caseOf: (at) => Math.floor((at * count) / size),
  one: (number) => Math.ceil((number * size) / count),
});

export interface PaintInputs {
  readonly lying: Lying;
  /** The user's array; null where it has no values to show. */
  readonly own: OwnColours | null;
  /** The layouts at both ends: two dimensions that change places between them are drawn. */
  readonly ends: readonly [Linearization, Linearization] | null;
  readonly dark: boolean;
}

export function paintOf(map: MemoryMap, inputs: PaintInputs): Paint {
  const paint =
    inputs.lying === "index"
      ? byRank(map, inputs.dark)
      : inputs.own === null
        ? generated(map, inputs.ends)
        : ownColours(map, inputs.own);
  const gaps = Array.from({ length: map.fieldCount }, (_, field) => isGap(map.linear.fields[map.field(field)]?.name ?? ""));
  if (!gaps.includes(true)) return paint;
  const nothing = neutral(inputs.dark);
  return { ...paint, element: (at, field) => (gaps[field] ? nothing : paint.element(at, field)), table: () => null };
}

/** The colour of a place where nothing lies. */
export const neutral = (dark: boolean): number => (dark ? 0xff37302a : 0xffece7e2);

/** Whether a field stands for bytes of a struct that no field has. */
const isGap = (name: string): boolean => name.startsWith("(gap at ");

/** The colours of a photo. Its fields are these, or the places along one of its dimensions. */
const COLOURS = ["red", "green", "blue"];

/** The colour of one byte of a photo. Opacity is drawn as a grey, and adds nothing to the colour of a pixel. */
export function photoColour(colour: string, level: number): number {
  const value = Math.round(level * 255);
  const place = COLOURS.indexOf(colour);
  if (place >= 0) return ((255 << 24) | (value << (8 * place))) >>> 0;
  return (((colour === "alpha" ? UNMIXED : 255) << 24) | (value << 16) | (value << 8) | value) >>> 0;
}

/** Marks a colour that stays out of mixtures. */
export const UNMIXED = 254;

/** The picture of the user's array is laid evenly over the model. */
function ownColours(map: MemoryMap, own: OwnColours): Paint {
  const indices = map.sizes.map((size, dim) => {
    const whole = map.wholes[dim] ?? size;
    return Float64Array.from({ length: size }, (_, at) => (size === whole ? at : Math.floor(((at + 0.5) * whole) / size)));
  });
  const fields = Array.from({ length: map.fieldCount }, (_, field) => map.field(field));
  const element = own.painter(indices, fields);
  const cases = (): Cases[] => [
    ...map.sizes.map((size, dim) => {
      const samples = Math.min(size, own.samples[dim] ?? size);
      return size === map.linear.dims[dim]?.size ? pieces(dim, size, samples) : each(dim, size);
    }),
    each(map.sizes.length, map.fieldCount),
  ];
  const known = ownTables.get(own) ?? new Map<string, Uint32Array>();
  ownTables.set(own, known);
  return {
    adds: own.adds,
    element,
    table: (most) => tableOf(map, element, cases(), most, known, `${map.sizes} ${map.wholes} ${fields}`),
  };
}

function byRank(map: MemoryMap, dark: boolean): Paint {
  const scale = offsetScale(dark);
  const { sizes, fieldCount } = map;
  const top = Math.max(1, sizes.reduce((product, size) => product * size, fieldCount) - 1);
  const last = scale.length - 1;
  let weight = last / top;
  const parts: Float64Array[] = [fieldCount, ...sizes].map((size) => {
    const part = Float64Array.from({ length: size }, (_, at) => at * weight);
    weight *= size;
    return part;
  });
  parts.push(parts.shift() as Float64Array); // the field is fastest, and the last one of the parts
  return {
    adds: false,
    element: (at, field) => {
      let rank = (parts[sizes.length] as Float64Array)[field] as number;
      for (let dim = 0; dim < sizes.length; dim += 1) rank += (parts[dim] as Float64Array)[at[dim] as number] as number;
      return scale[Math.round(rank)] as number;
    },
    table: () => ({ colours: scale, parts }),
  };
}

// ---- by index: the array, coloured by address

/** The layout in which the array itself is drawn: its own order. */
export function arrayOrder({ dims, fields }: Linearization): Linearization | null {
  return linearize(`<${["F", ...dims.map(({ name }) => name)].join(", ")}>`, dims, fields).linear;
}

/** The colours of an array by the addresses of a layout: the rank of an address among those that are drawn. */
export function byAddress(map: MemoryMap, linear: Linearization, dark: boolean): Paint {
  const scale = offsetScale(dark);
  const { sizes, fieldCount } = map;
  const offsets: number[] = [];
  for (let place = 0; place < map.count; place += 1) {
    const entry = map.elementAt(place);
    offsets.push(entry === null ? -1 : linear.offset(entry.index, entry.field));
  }
  const ranked = [...offsets.keys()].sort((one, other) => (offsets[one] as number) - (offsets[other] as number));
  const colours = new Uint32Array(offsets.length);
  const last = Math.max(1, ranked.length - 1);
  ranked.forEach((place, rank) => {
    colours[place] = scale[Math.round((rank / last) * (scale.length - 1))] as number;
  });
  return {
    adds: false,
    element: (at, field) => {
      let place = 0;
      for (let dim = sizes.length - 1; dim >= 0; dim -= 1) place = place * (sizes[dim] as number) + (at[dim] as number);
      return colours[place * fieldCount + field] as number;
    },
  };
}

// ---- the generated picture

/** The dimensions along which the picture lies. `down` is -1 for an array of one dimension: it is folded. */
interface Axes {
  readonly across: number;
  readonly down: number;
}

/** The most coordinates of a short dimension. The picture does not lie along it if two dimensions are longer. */
const SHORT = 4;

/**
 * The axes follow the array: of two dimensions, the earlier one goes across and the later one down. Of more than two, those are drawn
 * that change places between the ends, or else the longest.
 */
export function pictureAxes(sizes: readonly number[], ends: readonly [Linearization, Linearization] | null): Axes {
  const size = (dim: number): number => sizes[dim] ?? 1;
  const dims = [...sizes.keys()];
  const longer = dims.filter((dim) => size(dim) > SHORT);
  const long = longer.length > 1 ? longer : dims.filter((dim) => size(dim) > 1);
  if (long.length < 2) return { across: long[0] ?? dims[0] ?? -1, down: -1 };
  const turned = ends === null ? null : turnedDims(long, ...ends);
  const pair = turned ?? [...long].sort((one, other) => size(other) - size(one) || one - other).slice(0, 2);
  const [across = -1, down = -1] = [...pair].sort((one, other) => one - other);
  return { across, down };
}

/**
 * The first two of some dimensions, in the order of one end, that the other end has in the other order. Where one dimension alone moves,
 * past several others, the picture lies along the first two of these: an image is then whole at one end.
 */
function turnedDims(dims: readonly number[], source: Linearization, destination: Linearization): [number, number] | null {
  const [before, after] = [source, destination].map((linear) => {
    const varying = linear.digits.filter(({ part, extent }) => part !== "F" && extent > 1);
    return [...new Set(varying.map(({ dim }) => linear.dimension(dim)))].filter((dim) => dims.includes(dim));
  }) as [number[], number[]];
  for (const [place, moved] of before.entries()) {
    const others = after.filter((dim) => dim !== moved);
    const to = after.indexOf(moved);
    if (Math.abs(to - place) > 1 && before.filter((dim) => dim !== moved).every((dim, at) => dim === others[at]))
      return others.slice(Math.min(place, to)).slice(0, 2) as [number, number];
  }
  for (const [place, slow] of before.entries())
    for (const fast of before.slice(0, place)) if (after.indexOf(slow) < after.indexOf(fast)) return [fast, slow];
  return null;
}

/** A dimension of three values beside the picture is its red, green and blue. */
const CHANNELS = 3;
/** The most points of the generated picture along a side. */
const MOST_POINTS = 512;

function generated(map: MemoryMap, ends: PaintInputs["ends"]): Paint {
  const { sizes, fieldCount } = map;
  const axes = pictureAxes(map.wholes, ends);
  const size = sizes[axes.across] ?? 1;
  const fold = axes.down < 0 && size > LONG ? wrapWidth(size) : 0;
  const wide = fold > 0 ? fold : size;
  const high = fold > 0 ? Math.ceil(size / fold) : (sizes[axes.down] ?? 1);
  const [columns, rows] = [Math.min(wide, MOST_POINTS), Math.min(high, MOST_POINTS)];
  const points = landscape(columns, rows);
  const beside = [...sizes.keys()].reverse().filter((dim) => dim !== axes.across && dim !== axes.down && (sizes[dim] ?? 1) > 1);
  const channels = fieldCount === 1 ? beside.filter((dim) => map.wholes[dim] === CHANNELS && sizes[dim] === CHANNELS) : [];
  const [channel = -1] = channels.length === 1 ? channels : [];
  const others = beside.filter((dim) => dim !== channel);
  const shades = Math.max(1, others.reduce((product, dim) => product * (sizes[dim] ?? 1), 1) - 1);
  const names = Array.from({ length: fieldCount }, (_, field) => map.linear.fields[map.field(field)]?.name ?? "");
  const isPhoto =
    COLOURS.every((colour) => names.includes(colour)) && names.every((name) => [...COLOURS, "alpha"].includes(name));
  const tints = names.map((_, field) => (fieldCount > 1 && !isPhoto ? rgbOf(fieldColour(map.field(field))) : null));
  const cases = (): Cases[] => {
    const beyond = [...others, ...(channel < 0 ? [] : [channel])].map((dim) => each(dim, sizes[dim] ?? 1));
    const picture =
      fold > 0
        ? [{ ...pieces(axes.across, wide, columns), caseOf: foldedPoint, count: columns * rows, one: onePoint }]
        : [
            ...(axes.across < 0 ? [] : [pieces(axes.across, wide, columns)]),
            ...(axes.down < 0 ? [] : [pieces(axes.down, high, rows)]),
          ];
    return [...picture, ...beyond, each(sizes.length, fieldCount)];
  };
  const foldedPoint = (at: number): number =>
    Math.floor((Math.floor(at / fold) * rows) / high) * columns + Math.floor(((at % fold) * columns) / wide);
  const onePoint = (point: number): number =>
    Math.ceil((Math.floor(point / columns) * high) / rows) * fold + Math.ceil(((point % columns) * wide) / columns);
  const element: Paint["element"] = (at, field) => {
    const along = axes.across < 0 ? 0 : (at[axes.across] as number);
    const u = fold > 0 ? along % fold : along;
    const v = fold > 0 ? Math.floor(along / fold) : axes.down < 0 ? 0 : (at[axes.down] as number);
    const point = points[Math.floor((v * rows) / high) * columns + Math.floor((u * columns) / wide)] as number;
    let [red, green, blue] = [point & 255, (point >> 8) & 255, (point >> 16) & 255];
    const tint = tints[field];
    if (tint) {
      const grey = (2 * red + 5 * green + blue) >> 3;
      // Dark places stay coloured: a field is known everywhere.
      const light = 90 + Math.floor((grey * 165) / 255);
      red = Math.floor((tint[0] * light) / 255);
      green = Math.floor((tint[1] * light) / 255);
      blue = Math.floor((tint[2] * light) / 255);
    }
    if (others.length > 0) {
      let rank = 0;
      for (const dim of others) rank = rank * (sizes[dim] as number) + (at[dim] as number);
      const light = 255 - Math.floor((rank * 140) / shades);
      red = Math.floor((red * light) / 255);
      green = Math.floor((green * light) / 255);
      blue = Math.floor((blue * light) / 255);
    }
    if (isPhoto) {
      const name = names[field] ?? "";
      return photoColour(name, name === "alpha" ? 1 : [red, green, blue][COLOURS.indexOf(name)]! / 255);
    }
    if (channel >= 0) {
      const own = at[channel] as number;
      red = own === 0 ? red : 0;
      green = own === 1 ? green : 0;
      blue = own === 2 ? blue : 0;
    }
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  };
  const table = (most: number): Table | null =>
    tableOf(map, element, cases(), most, generatedTables, `${sizes} ${fold} ${names} ${axes.across} ${axes.down}`);
  return { adds: isPhoto || channel >= 0, element, table };
}

const kept = new Map<string, Uint32Array>();

/** The landscape in points: each is the mean of nine colours in it. */
export function landscape(columns: number, rows: number): Uint32Array {
  const key = `${columns} ${rows}`;
  const known = kept.get(key);
  if (known !== undefined) return known;
  const across = Float64Array.from(
    { length: 3 * columns },
    (_, at) => ((Math.floor(at / 3) + ((at % 3) + 0.5) / 3) / columns) * 96,
  );
  const [mountains, snow, meadow] = [across.map(MOUNTAINS), across.map(SNOW), across.map(MEADOW)];
  const found = new Uint32Array(columns * rows);
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1) {
      let [red, green, blue] = [0, 0, 0];
      for (let part = 0; part < 9; part += 1) {
        const at = 3 * column + (part % 3);
        const x = across[at] as number;
        const y = ((row + (Math.floor(part / 3) + 0.5) / 3) / rows) * 96;
        const thing = thingAt(x, y, mountains[at] as number, snow[at] as number, meadow[at] as number);
        const share = y / 96;
        // All is a little darker to the right and downwards: no two places are quite alike.
        const light = 1 - (0.14 * x + 0.07 * y) / 96;
        red += Math.floor((thing < 0 ? 40 + 210 * share : thing >> 16) * light);
        green += Math.floor((thing < 0 ? 84 + 106 * share : (thing >> 8) & 255) * light);
        blue += Math.floor((thing < 0 ? 168 - 48 * share : thing & 255) * light);
      }
      found[row * columns + column] = packed([Math.floor(red / 9), Math.floor(green / 9), Math.floor(blue / 9)]);
    }
  if (kept.size > 60) kept.clear();
  kept.set(key, found);
  return found;
}

// The scene is 96 wide and 96 high; lines are heights at some places from left to right.
const MOUNTAINS = heights([0, 76, 38, 38, 52, 62, 66, 46, 96, 80], 96);
const SNOW = heights([28, 52, 35, 50, 39, 54, 43, 49, 48, 56], 0);
const MEADOW = heights([0, 80, 30, 72, 70, 82, 96, 76], 96);

/** The height of a line at a place; `beside` where the line is not. */
function heights(line: readonly number[], beside: number): (x: number) => number {
  return (x) => {
    for (let at = 2; at < line.length; at += 2) {
      const [left, right] = [line[at - 2] as number, line[at] as number];
      if (x < left || x > right) continue;
      const top = line[at - 1] as number;
      return top + (((line[at + 1] as number) - top) * (x - left)) / (right - left);
    }
    return beside;
  };
}

const LETTER = 0xffffff;
const SUN = 0xffecaa;
const ROCK = 0x3a4268;
const ICE = 0xecf0fa;
const GRASS = 0x247854;
const WALL = 0xb03428;
const ROOF = 0x701e1e;
const DOOR = 0xfadc8c;

/** What stands at a point of the scene, as a colour; -1 is the sky. */
function thingAt(x: number, y: number, mountain: number, snow: number, meadow: number): number {
  if (x >= 8 && y >= 8 && ((x < 16 && y < 50) || (x < 36 && y < 16) || (x < 30 && y >= 25 && y < 33))) return LETTER;
  if (x >= 72 && x < 78 && y >= 74 && y < 84) return DOOR;
  if (y < 68 && y >= 56 && x >= 75 - (y - 56) && x < 75 + (y - 56)) return ROOF;
  if (x >= 66 && x < 84 && y >= 68 && y < 84) return WALL;
  if (y >= meadow) return GRASS;
  if (y >= mountain) return y < snow ? ICE : ROCK;
  return (x - 74) * (x - 74) + (y - 22) * (y - 22) < 121 ? SUN : -1;
}
