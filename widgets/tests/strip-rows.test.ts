import assert from "node:assert/strict";
import { test } from "node:test";
import { arranged, widthOf } from "#views/journey/strip-rows.ts";

const PATHS: readonly (readonly number[])[] = [
  [0, 0],
  [0, 0, 1, 1],
  [0, 0, 0, 1, 1, 1, 1],
  [0, 0, 0, 0, 1, 1, 1, 1, 1],
  Array.from({ length: 16 }, (_, stop) => Math.floor(stop / 4)),
];

test("every stop stands in one row, in order, and every row fits where that is possible", () => {
  for (const nodes of PATHS)
    for (let width = 260; width <= 1900; width += 35) {
      const { narrow, rows } = arranged(nodes, width);
      assert.deepEqual(
        rows.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, at) => from + at)),
        nodes.map((_, stop) => stop),
      );
      for (const row of rows)
        assert.ok(widthOf(nodes, row, narrow) <= width, `${nodes.length} stops in ${width}: ${JSON.stringify(rows)}`);
    }
});

test("there are no more rows than needed, and one row is the rule", () => {
  assert.equal(arranged([0, 0, 1, 1], 900).rows.length, 1);
  assert.equal(arranged([0, 0, 0, 1, 1, 1, 1], 900).rows.length, 1);
  assert.equal(arranged([0, 0, 0, 1, 1, 1, 1], 700).rows.length, 2);
  assert.equal(arranged([0, 0, 0, 1, 1, 1, 1], 780).narrow, false, "two rows have room");
  assert.equal(arranged([0, 0, 0, 0, 1, 1, 1], 1060).narrow, false, "six hops have room in a window of 1280 pixels");
  for (const nodes of PATHS) {
    const counts = [400, 700, 1000, 1300, 1900].map((width) => arranged(nodes, width).rows.length);
    assert.deepEqual(
      counts,
      [...counts].sort((a, b) => b - a),
    );
    assert.equal(arranged(nodes, 0).rows.length, 1, "before the width is known");
  }
});
