// The arithmetic of layouts by hand-made examples; layouts-python.test.ts compares it with Python on random ones.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chunkOf } from "#model/layouts/chunks.ts";
import { common } from "#model/layouts/compare.ts";
import { divisors, merged, moved, split, withBlock } from "#model/layouts/edits.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { linearize } from "#model/layouts/linearization.ts";
import type { Part } from "#model/layouts/notation.ts";
import { layoutText, parse } from "#model/layouts/notation.ts";
import { entryAt, nextEntry, orderLength, positionOf } from "#model/layouts/order.ts";
import { requestBox, requestOrigin } from "#model/layouts/requests.ts";
import type { Dimension, Field } from "#model/layouts/spaces.ts";

const xy = (x: number, y: number): Dimension[] => [
  { name: "x", size: x },
  { name: "y", size: y },
];
const TWO: Field[] = [
  { name: "a", size: 4 },
  { name: "b", size: 8 },
];
const ONE: Field[] = [{ name: "v", size: 8 }];

function on(text: string, dims = xy(4, 3), fields = TWO): Linearization {
  const { linear, problem } = linearize(text, dims, fields);
  assert.ok(linear !== null, `${text}: ${problem?.message}`);
  return linear;
}

function parts(text: string): readonly Part[] {
  const found = parse(text);
  assert.ok(found.parts !== null, text);
  return found.parts;
}

test("array of structs and struct of arrays", () => {
  const [aos, soa] = [on("<F, x, y>"), on("<x, y, F>")];
  assert.deepEqual([aos.nbytes, aos.payload, aos.entryBytes], [144, 144, 12]);
  assert.deepEqual([aos.offset([1, 0], 0), aos.offset([0, 1], 1)], [12, 52]);
  assert.deepEqual([soa.offset([1, 0], 0), soa.offset([0, 1], 1)], [4, 48 + 32]);
  assert.deepEqual(soa.at(48 + 33), { index: [0, 1], field: 1, byte: 1 });
  assert.equal(soa.toString(), "<x, y, F>");
});

test("padding belongs to no entry", () => {
  const linear = on("<x_in=3, F, x_out, y>");
  assert.deepEqual([linear.nbytes, linear.payload], [2 * 144 - 72, 144]);
  assert.deepEqual(
    linear.digits.map(({ text, extent, step }) => [text, extent, step]),
    [
      ["x_in=3", 3, 1],
      ["F", 2, 0],
      ["x_out", 2, 3],
      ["y", 3, 1],
    ],
  );
  assert.equal(linear.at(linear.offset([3, 0], 0) + 4), null);
  assert.deepEqual(linear.digitsOf([3, 2], 1), [0, 1, 1, 2]);
});

test("an instance without dimensions is one entry", () => {
  const linear = on("F", [], TWO);
  assert.deepEqual([linear.nbytes, linear.offset([], 1), orderLength(linear)], [12, 4, 2]);
  assert.deepEqual(linear.at(11), { index: [], field: 1, byte: 7 });
});

test("sizes up to 2^53 bytes are exact, larger ones are told", () => {
  const linear = on("<y, F, x>", xy(2 ** 25, 2 ** 24), ONE);
  const last = [2 ** 25 - 1, 2 ** 24 - 1];
  assert.equal(linear.offset(last, 0), 2 ** 52 - 8);
  assert.deepEqual(linear.at(2 ** 52 - 1), { index: last, field: 0, byte: 7 });
  assert.equal(linear.contributions(0, 0)(2 ** 25 - 1) + linear.contributions(1, 0)(2 ** 24 - 1), 2 ** 52 - 8);
  for (const [x, y] of [
    [2 ** 40, 2 ** 20],
    [2 ** 30, 2 ** 29],
  ] as const)
    assert.match(linearize("<F, x, y>", xy(x, y), TWO).problem?.message ?? "", /^The layout has \d+ bytes; expected at most 2\^/);
});

test("an unknown name is told first, at its character", () => {
  for (const text of ["hello", "hello=3", "hello_in", "hello x", "<hello, F, F>"])
    assert.deepEqual(linearize(text, xy(4, 3), TWO).problem, {
      message: "'hello' is not a dimension; expected x or y",
      position: text.indexOf("hello"),
    });
  assert.equal(linearize("F, 𝒙, q", [{ name: "𝒙", size: 2 }], ONE).problem?.position, 6);
});

test("spaces that are not complete have no layout", () => {
  assert.equal(linearize("<F, x, y>", xy(4, 3), []).problem?.message, "The fields are missing");
  for (const size of [0, Number.NaN])
    assert.equal(linearize("<F, x, y>", xy(4, size), ONE).problem?.message, "The size of 'y' is missing");
});

test("many dimensions are refused in words", () => {
  const dims = Array.from({ length: 30 }, (_, n) => ({ name: `d${n}`, size: 2 }));
  const text = (count: number): string => ["F", ...dims.slice(0, count).map(({ name }) => name)].join();
  assert.equal(linearize(text(30), dims, ONE).problem?.message, "30 dimensions are too many; the explorer shows up to 16");
  assert.equal(on(text(16), dims.slice(0, 16), ONE).nbytes, 8 * 2 ** 16);
});

test("components move, and a move beyond the ends stops there", () => {
  const before = parts("<x_in=2, F, x_out, y>");
  assert.equal(layoutText(moved(before, 0, 2)), "<F, x_out, x_in=2, y>");
  assert.equal(layoutText(moved(before, 3, -4)), "<y, x_in=2, F, x_out>");
  assert.equal(layoutText(moved(before, 0, 99)), "<F, x_out, y, x_in=2>");
  assert.equal(layoutText(moved(before, 7, 0)), "<x_in=2, F, x_out, y>");
});

test("components split, merge and change their blocks", () => {
  assert.equal(layoutText(split(parts("<F, x, y>"), 1, 4)), "<F, x_in=4, x_out, y>");
  assert.equal(layoutText(split(parts("<x_in=8, F, x_out>"), 0, 2)), "<x_0=2, x_1=4, F, x_2>");
  assert.equal(layoutText(split(parts("<x_in=8, F, x_out>"), 2, 2)), "<x_0=8, F, x_1=2, x_2>");
  assert.equal(layoutText(split(parts("<x_2, x_0=2, F, x_1=6>"), 3, 3)), "<x_3, x_0=2, F, x_1=3, x_2=2>");
  assert.equal(layoutText(split(parts("<F, x>"), 0, 4)), "<F, x>");
  assert.equal(layoutText(split(parts("<F, x>"), 1, 0)), "<F, x>");
  assert.equal(layoutText(merged(parts("<x_1=3, F, x_2, x_0=2, y>"), "x")), "<F, x, y>");
  assert.equal(layoutText(merged(parts("<F, y>"), "x")), "<F, y>");
  assert.equal(layoutText(withBlock(parts("<x_in=8, F, x_out>"), 0, 5)), "<x_in=5, F, x_out>");
  assert.equal(layoutText(withBlock(parts("<x_in=8, F, x_out>"), 2, 5)), "<x_in=8, F, x_out>");
});

test("divisors, of primes and of large numbers too", () => {
  assert.deepEqual(divisors(12), [1, 2, 3, 4, 6, 12]);
  assert.deepEqual(divisors(1), [1]);
  assert.deepEqual(divisors(97), [1, 97]);
  assert.deepEqual(divisors(0), []);
  assert.equal(divisors(2 ** 52).length, 53);
  assert.deepEqual(divisors(999_999_999_989), [1, 999_999_999_989]);
});

test("what two layouts have in common, in whole components", () => {
  const shared = (a: string, b: string, fields = TWO, dims = xy(8, 6)): [number, number] => {
    const { prefix, suffix } = common(on(a, dims, fields), on(b, dims, fields));
    return [prefix, suffix];
  };
  assert.deepEqual(shared("<F, x, y>", "<F, x, y>"), [3, 3]);
  assert.deepEqual(shared("<F, x, y>", "<F, y, x>"), [1, 0]);
  assert.deepEqual(shared("<x, F, y>", "<F, x, y>"), [0, 1]);
  assert.deepEqual(shared("<F, x_in=4, x_out, y>", "<F, x_in=4, y, x_out>"), [2, 0]);
  assert.deepEqual(shared("<F, x, y>", "<F, x_in=4, y, x_out>"), [1, 0]);
  assert.deepEqual(shared("<F, y, x_in=4, x_out>", "<F, x_in=4, y, x_out>"), [1, 1]);
  assert.deepEqual(shared("<F, x_in=4, y, x_out>", "<F, x_in=6, y, x_out>"), [1, 0]);
  assert.deepEqual(shared("<F, x_0=3, x_1, y>", "<F, x_in=4, y, x_out>", TWO, xy(12, 2)), [1, 0], "3 does not divide 4");
  assert.deepEqual(shared("<F, y, x_0=3, x_1>", "<F, x_in=2, y, x_out>", TWO, xy(6, 4)), [1, 0], "2 does not divide 3");
  assert.deepEqual(shared("<F, x, y>", "<F, y, x>", ONE), [1, 0], "PREFIX = |F|");
  assert.deepEqual(shared("<x, y, F>", "<F, x, y>", ONE), [3, 3], "one field: F may stand anywhere");
  assert.deepEqual(shared("<x_in=1, F, x_out, y>", "<F, x, y>"), [4, 4], "a digit of extent 1 changes nothing");
});

test("requests: the box of a run (tiles meet rows)", () => {
  const dims = xy(8, 6);
  const [tiles, rows] = [on("<F, x_in=4, y_in=3, x_out, y_out>", dims), on("<F, x, y>", dims)];
  const box = requestBox(tiles, rows);
  assert.deepEqual(box, {
    extents: new Map([
      ["x", 4],
      ["y", 1],
    ]),
    steps: new Map([
      ["x", 1],
      ["y", 1],
    ]),
    entries: 4,
    fields: "all",
  });
  assert.deepEqual(requestOrigin(box, tiles, [6, 5]), [4, 5]);
  assert.deepEqual(requestBox(on("<x, F, y>", dims), on("<x, y, F>", dims)), {
    extents: new Map([
      ["x", 8],
      ["y", 1],
    ]),
    steps: new Map([
      ["x", 1],
      ["y", 1],
    ]),
    entries: 8,
    fields: "one",
  });
  const strided = requestBox(on("<x_out, F, x_in=2, y>", dims), on("<x_out, F, y, x_in=2>", dims));
  assert.deepEqual(strided, {
    extents: new Map([
      ["x", 4],
      ["y", 1],
    ]),
    steps: new Map([
      ["x", 2],
      ["y", 1],
    ]),
    entries: 4,
    fields: "all",
  });
  assert.deepEqual(requestOrigin(strided, tiles, [5, 2]), [1, 2]);
});

test("the order of memory steps over padding", () => {
  const linear = on("<x_in=3, F, x_out>", [{ name: "x", size: 4 }], TWO);
  const seen = Array.from({ length: orderLength(linear) }, (_, n) => entryAt(linear, n));
  assert.deepEqual(
    seen.map((entry) => entry && [...entry.index, entry.field].join()),
    ["0,0", "1,0", "2,0", "0,1", "1,1", "2,1", "3,0", null, null, "3,1", null, null],
  );
  assert.deepEqual([nextEntry(linear, 7), nextEntry(linear, 9), nextEntry(linear, 10)], [9, 9, null]);
  assert.equal(positionOf(linear, [3], 1), 9);
  assert.deepEqual([entryAt(linear, -1), entryAt(linear, 12)], [null, null]);
  const long = on("<x_in=10000000, F, x_out>", [{ name: "x", size: 10_000_001 }], TWO);
  assert.equal(nextEntry(long, 20_000_001), 30_000_000);
});

test("chunks count blocks, F among them", () => {
  const numbers = {
    digits: [
      { dim: "x", extent: 2, step: 4 },
      { dim: "F", extent: 2, step: 0 },
    ],
    perChunk: 2,
    count: 2,
  };
  assert.deepEqual(
    [
      [0, 0],
      [7, 0],
      [0, 1],
    ].map(([x = 0, field = 0]) => chunkOf(numbers, xy(8, 6), [x, 5], field)),
    [0, 0, 1],
  );
});

test("a layout of any size is ready as soon as a small one", () => {
  const text = "<a_in=8, F, b_in=8, c, b_out, a_out, d_0=2, d_1=4, d_2>";
  const seconds = (size: number): number => {
    const dims = [..."abcd"].map((name) => ({ name, size }));
    const started = performance.now();
    for (let n = 0; n < 20; n += 1) on(text, dims, TWO);
    return performance.now() - started;
  };
  // The best of many rounds that take turns: whatever else the computer does, some are not disturbed.
  const rounds = Array.from({ length: 20 }, () => [seconds(16), seconds(4096)] as const);
  const small = Math.min(...rounds.map(([time]) => time));
  const large = Math.min(...rounds.map(([, time]) => time));
  assert.ok(large < 5 * small, `${large} ms, of a small one ${small} ms`);
});
