// What lies in the user's array, as pixels: a photo in its colours, numbers on a scale, gaps as nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ArrayLevels, ArrayValues } from "#model/array-values.ts";
import { memoryPixels } from "#views/memory/draw-memory.ts";
import { memoryMap } from "#views/memory/memory-map.ts";
import { ownColours } from "#views/memory/own-colours.ts";
import { neutral, paintOf } from "#views/memory/paint.ts";
import { offsetScale } from "#views/memory/scales.ts";
import { layout } from "./linear.ts";

const [WIDE, HIGH] = [8, 6];
const text64 = (levels: number[]): string => btoa(String.fromCharCode(...levels));

/** A photo of 8 × 6 pixels whose fields have these levels, by pixel. */
function photo(fields: readonly string[], level: (field: number, x: number, y: number) => number): ArrayValues {
  const columns = fields.map((_, field) =>
    text64(Array.from({ length: WIDE * HIGH }, (_, place) => level(field, place % WIDE, Math.floor(place / WIDE)))),
  );
  const [low, high] = [fields.map(() => 0), fields.map(() => 255)];
  const levels: ArrayLevels = { sizes: [HIGH, WIDE], columns, low, high, colours: fields, along: "" };
  return { dims: ["y", "x"], sizes: [HIGH, WIDE], fields: [...fields], texts: [], levels };
}

function pixels(
  values: ArrayValues | null,
  text: string,
  fields: Record<string, number>,
  width: number,
  height: number,
): number[] {
  const map = memoryMap(layout(text, { x: WIDE, y: HIGH }, fields), { kind: "whole" });
  const out = new Uint32Array(width * height);
  const own = ownColours(values, map.linear, false);
  memoryPixels(out, width, height, map, paintOf(map, { lying: "value", own, ends: null, dark: false }), false);
  return [...out];
}

const RGB = { red: 1, green: 1, blue: 1 };
const [BLACK, RED, GREEN] = [0xff000000, 0xff0000ff, 0xff00ff00];

test("a red photo is red, and its bytes are red and black where they are seen one by one", () => {
  const red = photo(["red", "green", "blue"], (field) => (field === 0 ? 254 : 0));
  assert.deepEqual([...new Set(pixels(red, "<F, x, y>", RGB, WIDE, HIGH))], [RED]);
  const bytes = pixels(red, "<F, x, y>", RGB, WIDE * 9, HIGH * 9).slice(0, 9);
  assert.deepEqual(bytes, [RED, RED, RED, BLACK, BLACK, BLACK, BLACK, BLACK, BLACK]);
});

test("a photo stands as it is, lies where it is transposed, and is three pictures in planes", () => {
  // Red grows to the right, green downwards, blue is in one corner.
  const values = photo(["red", "green", "blue"], (field, x, y) => [x * 30, y * 40, x + y === 0 ? 254 : 0][field] as number);
  const colour = (x: number, y: number): number[] =>
    [x * 30, y * 40, x + y === 0 ? 254 : 0].map((each) => Math.round((each * 255) / 254));
  const packed = ([red = 0, green = 0, blue = 0]: number[]): number => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  const places = Array.from({ length: WIDE * HIGH }, (_, place) => [place % WIDE, Math.floor(place / WIDE)] as const);
  assert.deepEqual(
    pixels(values, "<F, x, y>", RGB, WIDE, HIGH),
    places.map(([x, y]) => packed(colour(x, y))),
  );
  const lying = Array.from({ length: WIDE * HIGH }, (_, place) => packed(colour(Math.floor(place / HIGH), place % HIGH)));
  assert.deepEqual(pixels(values, "<F, y, x>", RGB, HIGH, WIDE), lying);
  const planes = pixels(values, "<x, y, F>", RGB, WIDE * 10, HIGH * 30 + 40);
  const seen = (bits: number): Set<number> =>
    new Set(planes.filter((each) => each !== 0 && ((each >>> bits) & 255) > 0 && (each & 0xffffff & ~(255 << bits)) === 0));
  assert.ok(
    planes.every((each) => each === 0 || [0, 8, 16].filter((bits) => ((each >>> bits) & 255) > 0).length <= 1),
    "a byte has one colour",
  );
  assert.deepEqual(
    [seen(0).size, seen(8).size, seen(16).size],
    [WIDE - 1, HIGH - 1, 1],
    "each picture has the values of its colour",
  );
});

test("opacity is seen where it lies, and does not change the colour of a pixel", () => {
  const values = photo(["red", "green", "blue", "alpha"], (field) => (field === 1 ? 254 : field === 3 ? 127 : 0));
  const fields = { ...RGB, alpha: 1 };
  assert.deepEqual([...new Set(pixels(values, "<F, x, y>", fields, WIDE, HIGH))], [GREEN]);
  const last = pixels(values, "<F, x, y>", fields, WIDE * 8, HIGH).slice(6, 8);
  assert.deepEqual(
    last.map((each) => each & 0xffffff),
    [0x808080, 0x808080],
  );
});

test("an array with an axis of three bytes is a photo, too", () => {
  const column = text64(Array.from({ length: 6 * 8 * 3 }, (_, place) => (place % 3 === 1 ? 254 : 0)));
  const levels: ArrayLevels = {
    sizes: [6, 8, 3],
    columns: [column],
    low: [0],
    high: [255],
    colours: ["red", "green", "blue"],
    along: "x",
  };
  const values: ArrayValues = { dims: ["z", "y", "x"], sizes: [6, 8, 3], fields: ["value"], texts: [], levels };
  const map = memoryMap(layout("<F, x, y, z>", { x: 3, y: 8, z: 6 }, { value: 1 }), { kind: "whole" });
  const out = new Uint32Array(8 * 6);
  const inputs = { lying: "value", own: ownColours(values, map.linear, false), ends: null, dark: false } as const;
  memoryPixels(out, 8, 6, map, paintOf(map, inputs), false);
  assert.deepEqual([...new Set(out)], [GREEN]);
});

test("numbers go through the scale, and what has none is drawn as nothing", () => {
  const values = photo(["v"], (_, x, y) => (y === 0 ? 255 : x * 36));
  const found = pixels({ ...values, levels: { ...values.levels, colours: [] } }, "<F, x, y>", { v: 4 }, WIDE, HIGH);
  const scale = offsetScale(false);
  assert.deepEqual(found.slice(0, WIDE), Array(WIDE).fill(neutral(false)));
  assert.deepEqual([found[WIDE], found.at(-1)], [scale[0], scale[Math.round((252 / 254) * (scale.length - 1))]]);
  const gapped = {
    ...values,
    fields: ["v", "(gap at 4)"],
    levels: { ...values.levels, columns: [...values.levels.columns, null], colours: [] },
  };
  const structs = pixels(gapped, "<x, y, F>", { v: 4, "(gap at 4)": 12 }, 64, 96);
  const halves = structs.filter((each) => each !== 0);
  assert.ok(halves.filter((each) => each === neutral(false)).length > halves.length / 2, "half of the bytes are a gap");
});

test("without values, fields that are colours make the generated picture", () => {
  const one = pixels(null, "<F, x, y>", { v: 1 }, WIDE, HIGH);
  assert.deepEqual(pixels(null, "<F, x, y>", RGB, WIDE, HIGH), one, "its bytes mix to the colours of the picture");
  assert.notDeepEqual(pixels(null, "<F, x, y>", { a: 1, b: 1, c: 1 }, WIDE, HIGH), one);
});
