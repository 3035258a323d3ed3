// The selected chunk as pixels, against the number of the chunk that holds each cell.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ChunkNumbers, chunkOf } from "#model/layouts/chunks.ts";
import { type Linearization, linearize } from "#model/layouts/linearization.ts";
import { chosenChunk, gridOverlay } from "#views/linearization/drawing/chunk-marks.ts";
import { inkOf } from "#views/linearization/drawing/ink.ts";
import { elementAt, gridModel } from "#views/linearization/geometry/model.ts";
import { type Geometry, panelsIn, roomOf } from "#views/linearization/geometry/scene.ts";
import { fitted, zoomed } from "#views/linearization/geometry/viewport.ts";

const SIZE = { width: 240, height: 180 };

function geometryOf(linear: Linearization, shown: string, fixed: ReadonlyMap<string, number> = new Map(), zoom = 1): Geometry {
  const dims = linear.dims.slice(0, 2).map(({ name }) => name);
  const model = gridModel(linear, dims, fixed, SIZE);
  const panels = panelsIn(linear, model, shown, SIZE.width, SIZE.height, 0);
  const [first] = panels;
  assert.ok(first !== undefined);
  const room = roomOf(model, first, 1);
  return { model, panels, room, view: zoom === 1 ? fitted(room) : zoomed(fitted(room), room, zoom, 40, 30) };
}

function linearOf(text: string, sizes: Record<string, number>, fields: Record<string, number>): Linearization {
  const of = (record: Record<string, number>): { name: string; size: number }[] =>
    Object.entries(record).map(([name, size]) => ({ name, size }));
  const { linear } = linearize(text, of(sizes), of(fields));
  assert.ok(linear !== null);
  return linear;
}

const BLOCKED: ChunkNumbers = {
  digits: [
    { dim: "x", extent: 4, step: 4 },
    { dim: "y", extent: 4, step: 3 },
  ],
  perChunk: 3,
  count: 6,
};
const FIELDS: ChunkNumbers = {
  digits: [
    { dim: "y", extent: 12, step: 1 },
    { dim: "F", extent: 2, step: 1 },
  ],
  perChunk: 4,
  count: 6,
};
const LINE: ChunkNumbers = { digits: [{ dim: "x", extent: 40, step: 5 }], perChunk: 7, count: 6 };

test("what is veiled is what the chunk does not hold, in cells, panels, rows and slices", () => {
  const array = linearOf("<x_in=4, F, y, x_out>", { x: 15, y: 12 }, { re: 4, im: 8 });
  const long = linearOf("<F, x>", { x: 200 }, { v: 4 });
  const cases: [Geometry, ChunkNumbers][] = [
    [geometryOf(array, "cells"), BLOCKED],
    [geometryOf(array, "panels"), FIELDS],
    [geometryOf(array, "cells"), FIELDS],
    [geometryOf(array, "only:im", new Map(), 3), BLOCKED],
    [geometryOf(long, "auto"), LINE],
  ];
  for (const [geometry, chunks] of cases)
    for (let number = 0; number < chunks.count; number += 1) {
      const { linear } = geometry.model;
      const chunk = chosenChunk(linear, chunks, number);
      assert.ok(chunk !== null);
      const overlay = gridOverlay(geometry, chunk, inkOf(document.body, false), SIZE);
      const pixels = overlay?.getContext("2d")?.getImageData(0, 0, SIZE.width, SIZE.height).data;
      let inside = 0;
      for (const panel of geometry.panels)
        for (let y = panel.y + 0.5; y < panel.y + panel.height; y += 3)
          for (let x = panel.x + 0.5; x < panel.x + panel.width; x += 3) {
            const [across, down] = [
              geometry.view.left + (x - panel.x) / geometry.view.width,
              geometry.view.top + (y - panel.y) / geometry.view.height,
            ];
            const part = Math.floor((down - Math.floor(down)) * panel.fields.length);
            const entry = elementAt(geometry.model, Math.floor(across), Math.floor(down), panel.fields[part] ?? 0);
            const own = entry !== null && chunkOf(chunks, linear.dims, entry.index, entry.field) === number;
            if (own) inside += 1;
            const alpha = pixels?.[4 * (Math.floor(y) * SIZE.width + Math.floor(x)) + 3] ?? 0;
            // The veil is half transparent; the line round the chunk is not, and lies inside of it.
            assert.equal(
              alpha > 100 && alpha < 200,
              overlay !== null && entry !== null && !own,
              `${linear.digits.map((digit) => digit.text).join()} in ${geometry.panels.length} panels: chunk ${number} at ${x}, ${y}: ${alpha}`,
            );
          }
      assert.equal(overlay !== null, inside > 0 || pixels !== undefined);
    }
});

test("a chunk of another slice leaves the picture as it is", () => {
  const cube = linearOf("<F, x, y, z>", { x: 6, y: 5, z: 4 }, { v: 4 });
  const chunks: ChunkNumbers = { digits: [{ dim: "z", extent: 4, step: 1 }], perChunk: 1, count: 4 };
  const ink = inkOf(document.body, true);
  for (let z = 0; z < 4; z += 1)
    for (let number = 0; number < 4; number += 1) {
      const chunk = chosenChunk(cube, chunks, number);
      assert.ok(chunk !== null);
      assert.equal(gridOverlay(geometryOf(cube, "auto", new Map([["z", z]])), chunk, ink, SIZE) !== null, z === number);
    }
});
