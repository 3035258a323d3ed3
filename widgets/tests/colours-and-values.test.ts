import assert from "node:assert/strict";
import { test } from "node:test";
import { type ArrayValues, cellValues } from "#model/array-values.ts";
import { warpLoad } from "#model/layouts/hardware.ts";
import { colouring, colourOf, elementColour } from "#views/linearization/drawing/colouring.ts";
import { warpText } from "#views/linearization/legend.tsx";
import { layout } from "./linear.ts";

test("colours by sector and page, and what a warp loads in words", () => {
  const linear = layout("<F, x, y>", { x: 32, y: 32 }, { v: 4 });
  for (const [colour, piece] of [
    ["line", 64],
    ["page", 4096],
    ["sector", 32],
  ] as const) {
    const colours = colouring(linear, {
      options: { colour, digit: null },
      palette: [],
      chunks: null,
      dark: false,
      bytes: linear.nbytes,
    });
    assert.deepEqual([colours.by, colours.piece], [colour, piece]);
    const last = (colours.colours?.length ?? 0) - 1;
    assert.equal(colourOf(colours, 0, 0, piece), colours.colours?.[last], "several in a pixel have a colour of their own");
    assert.notEqual(elementColour(colours, [0, 0], 0), colours.colours?.[last]);
  }
  const row = warpLoad(linear, 0, [0, 0], 4, 0);
  assert.equal(warpText(row), "1 request of 4 bytes a lane, 4 sectors (at least 4), 0 bank conflicts");
  const column = warpLoad(linear, 1, [0, 0], 4, 0);
  assert.equal(warpText(column), "1 request of 4 bytes a lane, 32 sectors (at least 4), 31 bank conflicts");
  assert.deepEqual(column.entries[31], [0, 31]);
});

test("the values of an array stand at their entries, and only there", () => {
  const values: ArrayValues = { dims: ["y", "x"], sizes: [2, 3], fields: ["v"], texts: [["0", "1", "2", "10", "11", "12.5"]] };
  const cells = cellValues(values, layout("<F, y, x>", { x: 3, y: 2 }, { v: 4 }));
  assert.equal(cells?.of([2, 1], 0), "12.5");
  assert.equal(cells?.of([1, 0], 0), "1");
  assert.equal(cells?.longest, "12.5");
  assert.equal(cellValues(values, layout("<F, x, y>", { x: 3, y: 3 }, { v: 4 })), null, "other sizes");
  assert.equal(cellValues(values, layout("<F, x, y>", { x: 3, y: 2 }, { w: 4 })), null, "another field");
  assert.equal(cellValues(null, layout("<F, x, y>", { x: 3, y: 2 }, { v: 4 })), null);
});
