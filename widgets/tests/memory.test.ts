// The picture of memory: where elements lie in it, and when it changes.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Linearization } from "#model/layouts/linearization.ts";
import { memoryPixels } from "#views/memory/draw-memory.ts";
import { type MemoryMap, memoryMap, type Part } from "#views/memory/memory-map.ts";
import { arrayOrder, byAddress, paintOf, pictureAxes } from "#views/memory/paint.ts";
import { layout } from "./linear.ts";

const SIZES = { x: 8192, y: 8192 };
/** The layouts of section 4.3, stop by stop. */
const STOPS = [
  "<F, x, y>",
  "<F, x_in=256, y_in=128, y_out, x_out>",
  "<F, x_in=256, y_in=128, y_out, x_out>",
  "<F, y_in=128, x_in=256, y_out, x_out>",
  "<F, y_in=128, x_in=256, y_out, x_out>",
  "<F, y, x>",
].map((text) => layout(text, SIZES, { value: 16 }));
const WHOLE: Part = { kind: "whole", side: 96 };

function blockOf(path: readonly Linearization[], sizes: Record<string, number>, limit = 1024): Part {
  return { kind: "block", block: new Map(Object.entries(sizes)), path, limit };
}

function pixels(
  map: MemoryMap,
  width = 64,
  height = 64,
  ends: readonly [Linearization, Linearization] | null = null,
): Uint32Array {
  const out = new Uint32Array(width * height);
  memoryPixels(out, width, height, map, paintOf(map, { lying: "value", own: null, ends, dark: false }), false);
  return out;
}

/** How the digits are arranged: inside a cell, and level by level. */
function shape(map: MemoryMap): string {
  const name = (dim: number): string => map.linear.dims[dim]?.name ?? "F";
  const levels = map.levels.map(({ across, down }) =>
    [across, down].map((digit) => (digit === null ? "-" : `${name(digit.dim)}${digit.extent}`)).join(" x "),
  );
  return [...(map.inside === null ? [] : [`(${name(map.inside.dim)}${map.inside.extent})`]), ...levels].join(", ");
}

test("one block changes at the hop that converts, and at no other", () => {
  const part = blockOf(STOPS, { x: 256, y: 128 });
  const seen = STOPS.map((linear) => pixels(memoryMap(linear, part)).join());
  assert.deepEqual(
    seen.slice(1).map((after, hop) => after !== seen[hop]),
    [false, false, true, false, false],
  );
});

test("digits are arranged level by level", () => {
  const of = (text: string, sizes: Record<string, number>, fields = { v: 4 } as Record<string, number>): string =>
    shape(memoryMap(layout(text, sizes, fields), { kind: "whole" }));
  assert.equal(of("<F, x, y>", { x: 8, y: 6 }), "x8 x y6");
  assert.equal(of("<F, x_in=4, y_in=3, x_out, y_out>", { x: 8, y: 6 }), "x4 x y3, x2 x y2");
  assert.equal(of("<F, x_in=4, x_out, y>", { x: 8, y: 6 }), "x8 x y6", "equal orders are arranged alike");
  assert.equal(of("<F, x, y>", { x: 8, y: 6 }, { a: 4, b: 4 }), "(F2), x8 x y6", "fields lie inside a cell");
  assert.equal(
    of("<x, y, F>", { x: 8, y: 6 }, { a: 4, b: 4 }),
    "x8 x y6, - x F2",
    "planes below each other are nearer to a square",
  );
  assert.equal(of("<F, c, x, y>", { c: 3, x: 8, y: 6 }), "(c3), x8 x y6");
  assert.equal(of("<F, x>", { x: 20 }), "x20 x -");
  assert.equal(of("<F, x>", { x: 100 }), "x16 x x7", "a long row is wrapped");
  assert.equal(of("<F, x_in=4, y, x_out>", { x: 32, y: 8 }), "x4 x y8, x4 x x2", "a digit of tiles stands in rows");
});

test("every element has its place, and its cell", () => {
  const linear = layout("<x_in=4, F, y, x_out>", { x: 10, y: 3 }, { a: 1, b: 4 });
  const map = memoryMap(linear, { kind: "whole" });
  const offsets: number[] = [];
  for (let place = 0; place < map.count; place += 1) {
    const { column, row, strip } = map.cellOf(place);
    assert.equal(map.placeIn(column, row, strip), place);
    const entry = map.elementAt(place);
    if (entry === null) continue;
    assert.equal(map.placeOf(entry.index, entry.field), place);
    offsets.push(linear.offset(entry.index, entry.field));
    const rect = map.rectOf(place, { x: 3, y: 5, width: 300, height: 200 });
    assert.equal(map.placeAt(rect.x + rect.width / 2, rect.y + rect.height / 2, { x: 3, y: 5, width: 300, height: 200 }), place);
  }
  assert.equal(offsets.length, 60);
  assert.deepEqual(
    offsets,
    [...offsets].sort((one, other) => one - other),
  );
});

test("blocks are tiles with gaps, and few enough of them that the gaps are seen", () => {
  const turned = memoryMap(STOPS[3] as Linearization, WHOLE);
  assert.equal(shape(turned), "y24 x x24, y4 x x4");
  const seen = pixels(turned, 150, 150);
  const clear = [...seen.subarray(0, 150)].filter((colour) => colour === 0).length;
  assert.ok(clear >= 3 && clear <= 12, `${clear} of 150 pixels of a row are gaps`);
  assert.ok(pixels(memoryMap(STOPS[0] as Linearization, WHOLE), 150, 150).every((colour) => colour !== 0));
});

test("the same array in C and in Fortran order has two pictures", () => {
  const [one, other] = ["<F, x, y>", "<F, y, x>"].map((text) =>
    pixels(memoryMap(layout(text, { x: 8, y: 6 }), { kind: "whole" })),
  );
  assert.notDeepEqual(one, other);
});

test("by index, colours of a block are ranks of the addresses in it: they change at the hop that converts", () => {
  const part = blockOf(STOPS, { x: 256, y: 128 });
  const seen = STOPS.map((linear) => {
    const map = memoryMap(arrayOrder(linear) as Linearization, part);
    const out = new Uint32Array(64 * 64);
    memoryPixels(out, 64, 64, map, byAddress(map, linear, false), false);
    return out.join();
  });
  assert.deepEqual(
    seen.slice(1).map((after, hop) => after !== seen[hop]),
    [false, false, true, false, false],
  );
});

test("padding is hatched, and what lies behind a block is not drawn", () => {
  const linear = layout("<F, x_in=4, y, x_out>", { x: 10, y: 8 });
  const map = memoryMap(linear, { kind: "whole" });
  assert.equal(map.elementAt(map.count - 1), null);
  assert.ok(pixels(map).includes(0xffece7e2));
});

test("a picture is laid along the two dimensions that tell most, in the order of the array", () => {
  assert.deepEqual(pictureAxes([3, 56, 56, 8], null), { across: 1, down: 2 });
  assert.deepEqual(pictureAxes([8, 6], null), { across: 0, down: 1 });
  assert.deepEqual(pictureAxes([1000], null), { across: 0, down: -1 });
  const sizes = { c: 9, w: 8, h: 7, n: 7, one: 1 };
  const axes = (source: string, destination: string): number[] =>
    Object.values(pictureAxes([9, 8, 7, 7, 1], [layout(source, sizes), layout(destination, sizes)]));
  assert.deepEqual(axes("<F, c, w, h, n, one>", "<w, F, c, h, n, one>"), [0, 1]);
  assert.deepEqual(axes("<F, c, w, h, n, one>", "<one, F, w, h, n, c>"), [1, 2], "c alone moves: an image is whole");
  assert.deepEqual(axes("<F, w, h, c, n, one>", "<F, c, w, h, n, one>"), [1, 2]);
  assert.deepEqual(axes("<F, c, w, h, n, one>", "<c, w, n, F, h, one>"), [2, 3]);
  assert.deepEqual(axes("<F, c, w, h, n, one>", "<c, w, F, h, one, n>"), [0, 1], "nothing turns: the longest");
});
