// Which dimensions a picture of an array has, and its colours in view.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Linearization } from "#model/layouts/linearization.ts";
import { exchanged } from "#views/linearization/controls.tsx";
import { cellPixels } from "#views/linearization/drawing/cells.ts";
import { colouring, inView, separables } from "#views/linearization/drawing/colouring.ts";
import { gridModel } from "#views/linearization/geometry/model.ts";
import { OPTIONS } from "#views/linearization/options.ts";
import { shownDims } from "#views/linearization/view.tsx";
import { COMPLEX, layout } from "./linear.ts";

const byOffset = (linear: Linearization) =>
  colouring(linear, { options: { colour: "offset", digit: null }, palette: [], chunks: null, dark: false });

const part = (ranges: Record<string, [number, number]>) => new Map(Object.entries(ranges));

test("the dimensions that are drawn follow the array, whatever the layouts are", () => {
  const sizes = { x: 8, y: 8, z: 8 };
  const [source, destination] = [layout("<F, y, z, x>", sizes), layout("<F, z, y, x>", sizes)];
  for (const linear of [source, destination]) {
    assert.deepEqual(shownDims(linear, null, OPTIONS), shownDims(source, null, OPTIONS));
    assert.deepEqual(shownDims(linear, [source, destination], OPTIONS), ["y", "z"], "the two that change places");
  }
  assert.deepEqual(
    shownDims(layout("<F, x, y>", { x: 6, y: 8 }), null, OPTIONS),
    ["x", "y"],
    "the first dimension, the last axis of the array, goes across",
  );
  assert.deepEqual(shownDims(source, null, { across: "x", down: "y" }), ["x", "y"]);
  assert.equal(shownDims(source, null, { across: "gone", down: "z" })[1], "z");
  assert.deepEqual(shownDims(layout("<F, x>", { x: 9 }), null, OPTIONS), ["x"]);
  assert.deepEqual(exchanged(["x", "y"], "y", 0), { across: "y", down: "x" });
  assert.deepEqual(exchanged(["x", "y"], "z", 1), { across: "x", down: "z" });
});

test("in view, the scale goes from the first entry to the last one in the order of memory, for each layout on its own", () => {
  const sizes = { x: 64, y: 64, z: 4 };
  for (const text of ["<F, x, y, z>", "<x, y, z, F>", "<x_out, F, x_in=8, y, z>", "<z, y, F, x>"]) {
    const linear = layout(text, sizes, COMPLEX);
    const near = inView(byOffset(linear), part({ x: [8, 16], y: [4, 6], z: [2, 3] }));
    const found: [number, number][] = [];
    for (let x = 8; x < 16; x += 1)
      for (const y of [4, 5])
        for (const field of [0, 1]) found.push([linear.offset([x, y, 2], field), near.value([x, y, 2], field)]);
    found.sort(([one], [other]) => one - other);
    assert.deepEqual(
      found.map(([, rank]) => rank),
      found.map((_, rank) => rank),
      text,
    );
    assert.deepEqual([near.from, near.top], [0, found.length - 1]);
    const last = found.at(-1)?.[0] ?? 0;
    assert.deepEqual(near.bytes, [found[0]?.[0], last + (COMPLEX.re ?? 0)]);
  }
  // Blocks that are cut: never fewer ranks than entries, so that every entry has a colour.
  const blocked = layout("<x_out, F, x_in=8, y, z>", sizes);
  const cut = inView(byOffset(blocked), part({ x: [6, 12], y: [0, 2], z: [0, 1] }));
  for (let x = 6; x < 12; x += 1)
    for (const y of [0, 1]) {
      const rank = cut.value([x, y, 0], 0);
      assert.ok(rank >= 0 && rank <= cut.top);
    }
});

test("a slice of NHWC is no blank rectangle, and C and Fortran order differ", () => {
  const sizes = { n: 4, h: 14, w: 14, c: 256 };
  const pixels = (linear: Linearization, dims: readonly string[], fixed: ReadonlyMap<string, number>): Uint32Array => {
    const model = gridModel(linear, dims, fixed, { width: 56, height: 56 });
    const ranges = new Map([...fixed].map(([name, at]) => [name, [at, at + 1] as const]));
    const colours = inView(byOffset(linear), ranges);
    const out = new Uint32Array(56 * 56);
    const view = { left: 0, top: 0, width: 56 / model.across.size, height: 56 / model.down.size };
    cellPixels(out, 56, 56, model, separables(model, colours), colours, { fields: [0] }, view, 1);
    return out;
  };
  const slice = new Map([
    ["n", 0],
    ["c", 0],
  ]);
  for (const text of ["<F, c, w, h, n>", "<F, w, h, c, n>"])
    assert.ok(new Set(pixels(layout(text, sizes), ["w", "h"], slice)).size >= 14 * 14, text);
  const [c, fortran] = ["<F, x, y>", "<F, y, x>"].map((text) => {
    const linear = layout(text, { y: 6, x: 8 });
    return pixels(linear, shownDims(linear, null, OPTIONS), new Map());
  });
  assert.notDeepEqual(c, fortran);
});
