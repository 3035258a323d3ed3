// Entries of a linearization: their names, what keys and digits do with them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { entryFrom, entryText, shownFrom, turned } from "#model/entries.ts";
import { strides } from "#views/linearization/digits.tsx";
import { moved } from "#views/linearization/keyboard.ts";
import { colouredDigit } from "#views/linearization/options.ts";
import { COMPLEX, layout } from "./linear.ts";

test("entries have names in the session and numbers here", () => {
  const linear = layout("<F, x, y>", { x: 4, y: 3 }, COMPLEX);
  const entry = { index: [3, 1], field: 1 };
  assert.deepEqual(entryFrom(linear, shownFrom(linear, entry)), entry);
  assert.equal(
    entryFrom(linear, {
      index: [
        ["x", 4],
        ["y", 0],
      ],
      field: "re",
    }),
    null,
  );
  assert.equal(entryFrom(linear, { index: [["x", 1]], field: "re" }), null);
  assert.equal(entryFrom(linear, null), null);
  assert.equal(entryText(linear, entry), "x = 3, y = 1 · im");
});

test("keys move the selected entry", () => {
  const linear = layout("<F, x, y, z>", { x: 4, y: 3, z: 2 }, COMPLEX);
  const at = (index: number[], key: string): readonly number[] | undefined =>
    moved(linear, ["x", "y"], { index, field: 0 }, key)?.index;
  assert.deepEqual(at([1, 1, 0], "ArrowRight"), [2, 1, 0]);
  assert.deepEqual(at([3, 1, 0], "ArrowRight"), [3, 1, 0]);
  assert.deepEqual(at([1, 1, 0], "ArrowUp"), [1, 0, 0]);
  assert.deepEqual(at([1, 1, 0], "End"), [3, 1, 0]);
  assert.deepEqual(at([1, 1, 0], "PageDown"), [1, 1, 1]);
  assert.deepEqual(moved(linear, ["x", "y"], { index: [1, 1, 0], field: 0 }, "n"), { index: [1, 1, 0], field: 1 });
  assert.deepEqual(moved(linear, ["x", "y"], null, "ArrowRight"), { index: [0, 0, 0], field: 0 });
  assert.equal(moved(linear, ["x", "y"], null, "q"), null);
});

test("digits go round and pass over padding", () => {
  const linear = layout("<F, x_in=4, x_out>", { x: 6 });
  assert.deepEqual(turned(linear, [0, 1, 1], 1, 1), { index: [4], field: 0 });
  assert.deepEqual(turned(linear, [0, 0, 0], 2, -1), { index: [4], field: 0 });
  assert.equal(colouredDigit(linear, null), 2);
  assert.equal(colouredDigit(linear, "x_in=4"), 1);
  assert.equal(colouredDigit(linear, "x"), 2);
});

test("strides of a digit: one number, or one for each field", () => {
  const linear = layout("<x_in=4, F, x_out>", { x: 8 }, { a: 1, b: 8 });
  assert.equal(strides(linear, 0), "1 / 8");
  assert.equal(strides(linear, 1), "4");
  assert.equal(strides(linear, 2), "36");
});
