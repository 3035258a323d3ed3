import assert from "node:assert/strict";
import { test } from "node:test";
import { arranged, rowWidth, type Strung } from "#views/journey/strip-rows.ts";

const NOTHING = { hop: null, stop: null };
const path = (nodes: readonly number[], keeps: readonly number[] = [], seen: Strung["seen"] = NOTHING): Strung => ({
  nodes,
  keeps: nodes.slice(1).map((_, hop) => keeps.includes(hop)),
  seen,
});

const PATHS: readonly Strung[] = [
  path([0, 0]),
  path([0, 0, 1, 1], [1, 2]),
  path([0, 0, 0, 1, 1, 1, 1], [1, 3]),
  path([0, 0, 0, 0, 1, 1, 1, 1, 1], [1, 2, 3, 5, 6]),
  path(Array.from({ length: 16 }, (_, stop) => Math.floor(stop / 4))),
];
const TWO_NODE = path([0, 0, 0, 0, 1, 1], [1, 3]);

test("every shown stop stands in one row, in order, and every row fits", () => {
  for (const strung of PATHS)
    for (let width = 260; width <= 1900; width += 35) {
      const found = arranged(strung, width);
      assert.deepEqual(
        found.rows.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, at) => found.stops[from + at])),
        found.stops,
      );
      assert.deepEqual([found.stops[0], found.stops.at(-1)], [0, strung.nodes.length - 1]);
      for (const row of found.rows) assert.ok(rowWidth(strung, found, row) <= width, `${found.stops} in ${width}`);
    }
});

test("pictures are 120 to 200 pixels where there is room, and arrows keep their length", () => {
  const wide = arranged(TWO_NODE, 1230);
  assert.ok(wide.side >= 120 && wide.rows.length === 1 && wide.stops.length === 6, JSON.stringify(wide));
  const widest = arranged(TWO_NODE, 1750);
  assert.ok(widest.side === 200 || widest.side >= 190, JSON.stringify(widest));
  assert.ok(arranged(path([0, 0]), 1750).hop <= 132);
  assert.equal(arranged(TWO_NODE, 1750, 140).side, 140, "a low window");
  assert.equal(arranged(TWO_NODE, 1000).rows.length, 1);
});

test("hops that only keep the order fold where there is no room, and only such ones", () => {
  const long = path([0, 0, 0, 1, 1, 1], [1, 2, 3]);
  assert.deepEqual(arranged(long, 1500).stops, [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(arranged(long, 900).stops, [0, 1, 4, 5]);
  assert.deepEqual(arranged(path([0, 0, 0, 1, 1, 1], [1, 3]), 900).stops, [0, 1, 2, 3, 4, 5], "no two in a row");
  for (const seen of [
    { hop: 2, stop: null },
    { hop: null, stop: 3 },
  ])
    assert.deepEqual(arranged({ ...long, seen }, 900).stops, [0, 1, 2, 3, 4, 5], "one of them is selected");
  assert.deepEqual(arranged({ ...long, seen: { hop: 0, stop: null } }, 900).stops, [0, 1, 4, 5]);
});

test("the wider the window, the fewer the rows", () => {
  for (const strung of PATHS) {
    const counts = [400, 700, 1000, 1300, 1900].map((width) => arranged(strung, width).rows.length);
    assert.deepEqual(
      counts,
      [...counts].sort((a, b) => b - a),
    );
    assert.equal(arranged(strung, 0).rows.length, 1, "before the width is known");
  }
});
