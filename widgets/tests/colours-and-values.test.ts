import assert from "node:assert/strict";
import { test } from "node:test";
import { type ArrayLevels, type ArrayValues, cellValues, entryLevels, NO_LEVEL } from "#model/array-values.ts";
import { warpLoad } from "#model/layouts/hardware.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
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
  const texts = [["0", "1", "2", "10", "11", "12.5"]];
  const levels = { sizes: [1, 1], columns: [null], low: [0], high: [0], colours: [], along: "" };
  const values: ArrayValues = { dims: ["y", "x"], sizes: [2, 3], fields: ["v"], texts, levels };
  const cells = cellValues(values, layout("<F, y, x>", { x: 3, y: 2 }, { v: 4 }));
  assert.equal(cells?.of([2, 1], 0), "12.5");
  assert.equal(cells?.of([1, 0], 0), "1");
  assert.equal(cells?.longest, "12.5");
  assert.equal(cellValues(values, layout("<F, x, y>", { x: 3, y: 3 }, { v: 4 })), null, "other sizes");
  assert.equal(cellValues(values, layout("<F, x, y>", { x: 3, y: 2 }, { w: 4 })), null, "another field");
  assert.equal(cellValues(null, layout("<F, x, y>", { x: 3, y: 2 }, { v: 4 })), null);
});

/** The level of an entry from 0 to 1; null where it has none. */
function levelOf(values: ArrayValues, linear: Linearization, index: readonly number[], field = 0): number | null {
  const levels = entryLevels(values, linear);
  const place = index.reduce((sum, at, dim) => sum + (levels?.sample(dim, at) ?? 0), 0);
  const level = levels?.columns[field]?.[place] ?? NO_LEVEL;
  return level === NO_LEVEL ? null : level / (NO_LEVEL - 1);
}

test("an entry has the level of the sample that stands for it, in any layout of its array", () => {
  const bytes = (...levels: number[]): string => btoa(String.fromCharCode(...levels));
  // Four of y and two of x, of which every second row and all of x are sampled; a gap has no number.
  const found: ArrayLevels = {
    sizes: [2, 2],
    columns: [bytes(0, 127, 254, 255), null],
    low: [-1, 0],
    high: [3, 0],
    colours: [],
    along: "",
  };
  const values: ArrayValues = { dims: ["y", "x"], sizes: [4, 2], fields: ["v", "(gap at 4)"], texts: [], levels: found };
  for (const text of ["<F, x, y>", "<y_in=2, x, F, y_out>"]) {
    const linear = layout(text, { x: 2, y: 4 }, { v: 4, "(gap at 4)": 4 });
    const levels = entryLevels(values, linear);
    assert.deepEqual(levels?.colours, []);
    assert.deepEqual(levels?.ranges, [
      { from: -1, to: 3 },
      { from: 0, to: 0 },
    ]);
    const column = (x: number): (number | null)[] => [0, 1, 2, 3].map((y) => levelOf(values, linear, [x, y]));
    assert.deepEqual(column(0), [0, 0, 1, 1]);
    assert.deepEqual(column(1), [0.5, 0.5, null, null]);
    assert.equal(levelOf(values, linear, [0, 0], 1), null, "no field of numbers");
  }
  assert.equal(cellValues(values, layout("<F, x, y>", { x: 2, y: 4 }, { v: 4, "(gap at 4)": 4 })), null, "no texts");
  assert.equal(entryLevels(values, layout("<F, x, y>", { x: 2, y: 4 }, { v: 4 }))?.ranges.length, 1, "a field fewer");
  assert.equal(entryLevels(values, layout("<F, x, y>", { x: 2, y: 5 }, { v: 4 })), null, "other sizes");
  assert.equal(entryLevels(null, null), null);
});
