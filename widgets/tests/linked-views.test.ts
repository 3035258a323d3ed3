import assert from "node:assert/strict";
import { test } from "node:test";
import { type BlockDigit, type ChunkNumbers, chunkOf } from "#model/layouts/chunks.ts";
import { type Linearization, linearize } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import { cellPixels } from "#views/linearization/drawing/cells.ts";
import { chosenChunk, isInside } from "#views/linearization/drawing/chunk-marks.ts";
import { colouring, elementColour, separables } from "#views/linearization/drawing/colouring.ts";
import { gridModel } from "#views/linearization/geometry/model.ts";
import { fitted, followed, isFitted, panned, type Room, zoomed } from "#views/linearization/geometry/viewport.ts";
import { axesOf, Lens, type Seen } from "#views/linearization/lens.ts";

function layout(text: string, sizes: Record<string, number>, fields: Record<string, number> = { v: 4 }): Linearization {
  const of = (record: Record<string, number>): { name: string; size: number }[] =>
    Object.entries(record).map(([name, size]) => ({ name, size }));
  const { linear, problem } = linearize(text, of(sizes), of(fields));
  if (linear === null) throw new Error(problem.message);
  return linear;
}

const ROOM: Room = { width: 400, height: 300, columns: 64, rows: 48, ratio: 1 };

test("a grid that follows shows the same columns and rows", () => {
  const there = panned(zoomed(fitted(ROOM), ROOM, 4, 200, 150), ROOM, -90, -60);
  for (const room of [ROOM, { ...ROOM, columns: 68 }, { ...ROOM, width: 320, height: 260 }, { ...ROOM, ratio: 2 }]) {
    const here = followed(there, ROOM, room);
    assert.ok(Math.abs(here.left - there.left) < 0.6 && Math.abs(here.top - there.top) < 0.6);
    const seen = (view: typeof here, of: Room): number[] => [of.width / view.width, of.height / view.height];
    const more = seen(here, room).map((count, place) => count - (seen(there, ROOM)[place] ?? 0));
    assert.ok(Math.min(...more) > -1.5 && Math.min(...more) < 1.5, "all of it, and as large as can be");
  }
  assert.deepEqual(followed(fitted(ROOM), ROOM, { ...ROOM, width: 200 }), fitted({ ...ROOM, width: 200 }));
});

test("a grid that follows never shows less than the whole where it fits, and never leaves the array", () => {
  const large: Room = { ...ROOM, columns: 4096, rows: 4096 };
  const there = panned(zoomed(fitted(large), large, 300, 200, 150), large, -1e9, -1e9);
  const small: Room = { ...large, width: 300, columns: 4090 };
  const here = followed(there, large, small);
  assert.ok(!isFitted(here, small));
  assert.ok(here.left + small.width / here.width <= small.columns + 1e-6);
});

test("grids that are joined move together, and one that left stays", () => {
  const lens = new Lens();
  const seen: Record<string, Seen[]> = { a: [], b: [], c: [] };
  const follow = Object.fromEntries(Object.keys(seen).map((name) => [name, (one: Seen): void => void seen[name]?.push(one)]));
  const grid = (name: string): ((one: Seen) => void) => follow[name] as (one: Seen) => void;
  const one: Seen = { axes: "x y 0", viewport: fitted(ROOM), room: ROOM };
  const leave = [lens.join(grid("a")), lens.join(grid("b"))];
  lens.show(grid("a"), one);
  assert.deepEqual([seen.a, seen.b], [[], [one]]);
  leave.push(lens.join(grid("c")));
  assert.deepEqual(seen.c, [one], "who comes later begins with what is seen");
  leave[1]?.();
  lens.show(grid("c"), one);
  assert.deepEqual([seen.a?.length, seen.b?.length], [1, 1]);
  for (const each of leave) each();
  lens.join(grid("b"));
  assert.equal(seen.b?.length, 1, "nothing is kept where nobody looks");
});

test("grids draw the same where their dimensions and their rows agree", () => {
  const model = (text: string, dims: string[], sizes: Record<string, number> = { x: 12, y: 8 }): string =>
    axesOf(gridModel(layout(text, sizes), dims, new Map(), { width: 200, height: 200 }));
  assert.equal(model("<F, x, y>", ["x", "y"]), model("<y, x_in=4, F, x_out>", ["x", "y"]));
  assert.notEqual(model("<F, x, y>", ["x", "y"]), model("<F, x, y>", ["y", "x"]));
  assert.notEqual(model("<F, x>", ["x"], { x: 1000 }), model("<F, x_in=7, x_out>", ["x"], { x: 1000 }));
});

// Chunks as plans number them: whole blocks, parts of blocks in two dimensions, and parts in the fields.
const CASES: readonly (readonly [string, Record<string, number>, Record<string, number>, readonly BlockDigit[], number])[] = [
  ["<F, x, y>", { x: 12, y: 8 }, { v: 4 }, [{ dim: "y", extent: 8, step: 1 }], 3],
  [
    "<x_in=4, y_in=2, F, x_out, y_out>",
    { x: 13, y: 7 },
    { re: 4, im: 8 },
    [
      { dim: "x", extent: 4, step: 4 },
      { dim: "y", extent: 4, step: 2 },
    ],
    3,
  ],
  [
    "<x, y, F>",
    { x: 6, y: 5 },
    { a: 1, b: 2, c: 8 },
    [
      { dim: "y", extent: 5, step: 1 },
      { dim: "F", extent: 3, step: 1 },
    ],
    2,
  ],
  ["<F, x_in=5, x_out>", { x: 23 }, { v: 8 }, [{ dim: "x", extent: 5, step: 5 }], 2],
  [
    "<x_in=2, y, F, x_out>",
    { x: 9, y: 6 },
    { v: 4 },
    [
      { dim: "y", extent: 3, step: 2 },
      { dim: "x", extent: 5, step: 2 },
    ],
    4,
  ],
];

test("every entry is inside of exactly the chunk that holds it", () => {
  for (const [text, sizes, fields, digits, perChunk] of CASES) {
    const linear = layout(text, sizes, fields);
    const blocks = digits.reduce((product, { extent }) => product * extent, 1);
    const chunks: ChunkNumbers = { digits, perChunk, count: Math.ceil(blocks / perChunk) };
    const index = linear.dims.map(() => 0);
    const each = (dim: number, then: () => void): void => {
      if (dim === index.length) return then();
      for (let at = 0; at < (linear.dims[dim]?.size ?? 0); at += 1) {
        index[dim] = at;
        each(dim + 1, then);
      }
    };
    const chosen = Array.from({ length: chunks.count }, (_, number) => chosenChunk(linear, chunks, number));
    each(0, () =>
      linear.fields.forEach((_, field) => {
        const own = chunkOf(chunks, linear.dims, index, field);
        chosen.forEach((chunk, number) =>
          assert.equal(
            chunk !== null && isInside(chunk, index, field),
            number === own,
            `${text} ${String(index)} ${field} ${number}`,
          ),
        );
      }),
    );
  }
});

test("the first entry of a chunk is inside of it", () => {
  for (const [text, sizes, fields, digits, perChunk] of CASES) {
    const linear = layout(text, sizes, fields);
    const blocks = digits.reduce((product, { extent }) => product * extent, 1);
    const chunks: ChunkNumbers = { digits, perChunk, count: Math.ceil(blocks / perChunk) };
    for (let number = 0; number < chunks.count; number += 1) {
      const chunk = chosenChunk(linear, chunks, number);
      assert.ok(chunk !== null);
      const [{ index, field }] = chunk.entries as [Entry];
      assert.ok(isInside(chunk, index, field), `${text} ${number}`);
    }
  }
});

test("colours of chunks are those of the entries where one dimension is wrapped into rows", () => {
  const linear = layout("<F, x>", { x: 200 });
  const chunks: ChunkNumbers = { digits: [{ dim: "x", extent: 40, step: 5 }], perChunk: 7, count: 6 };
  const model = gridModel(linear, ["x"], new Map(), { width: 240, height: 180 });
  assert.ok(model.wrap > 0 && model.wrap % 5 !== 0);
  const colours = colouring(linear, { options: { colour: "chunk", digit: null }, palette: [], chunks, dark: false });
  const room: Room = { width: model.wrap * 4, height: model.down.size * 4, columns: model.wrap, rows: model.down.size, ratio: 1 };
  const out = new Uint32Array(room.width * room.height);
  cellPixels(out, room.width, room.height, model, separables(model, colours), colours, { fields: [0] }, fitted(room), 1);
  for (let x = 0; x < 200; x += 1) {
    const [column, row] = [x % model.wrap, Math.floor(x / model.wrap)];
    assert.equal(out[(4 * row + 2) * room.width + 4 * column + 2], elementColour(colours, [x], 0), String(x));
  }
});

test("a chunk that does not exist, or is everything, is not marked", () => {
  const linear = layout("<F, x, y>", { x: 4, y: 4 });
  const chunks: ChunkNumbers = { digits: [{ dim: "y", extent: 4, step: 1 }], perChunk: 2, count: 2 };
  assert.equal(chosenChunk(linear, chunks, null), null);
  assert.equal(chosenChunk(linear, chunks, 2), null);
  assert.equal(chosenChunk(linear, chunks, -1), null);
  assert.equal(chosenChunk(linear, { ...chunks, count: 1 }, 0), null);
  assert.equal(chosenChunk(linear, null, 0), null);
});
