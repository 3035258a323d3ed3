import assert from "node:assert/strict";
import { test } from "node:test";
import type { Linearization } from "#model/layouts/linearization.ts";
import { type Entry, entryAt, nextEntry, orderLength } from "#model/layouts/order.ts";
import { requestBox } from "#model/layouts/requests.ts";
import { besideTitle, ticks } from "#views/linearization/drawing/axes-canvas.ts";
import { cellPixels } from "#views/linearization/drawing/cells.ts";
import { colouring, colourOf, elementColour, inView, separables } from "#views/linearization/drawing/colouring.ts";
import { knot, lanesOf, type Point, segment } from "#views/linearization/drawing/order-line.ts";
import { byteAt, linesThatFit, tapeRows, windowFrom } from "#views/linearization/drawing/tape-canvas.ts";
import { cellOf, cellsOf, commonBlock, gridModel, indexAt, isPadding } from "#views/linearization/geometry/model.ts";
import {
  elementAtOrAfter,
  elementsIn,
  fieldShares,
  nextElement,
  positionAt,
  previousElement,
  stepText,
} from "#views/linearization/geometry/order.ts";
import { type Geometry, hit, panelsIn, placeOf, rectOf, roomOf } from "#views/linearization/geometry/scene.ts";
import { meanOver, rangeOver, valueAt } from "#views/linearization/geometry/separable.ts";
import { first, fitted, panned, type Room, resized, showing, zoomed } from "#views/linearization/geometry/viewport.ts";
import { OPTIONS } from "#views/linearization/options.ts";
import { shownDims } from "#views/linearization/view.tsx";
import {
  difference,
  dimensionScale,
  fieldColour,
  inkOn,
  lineColours,
  luminance,
  offsetScale,
  unpacked,
} from "#views/memory/scales.ts";
import { COMPLEX, layout } from "./linear.ts";

const LAYOUTS: readonly Linearization[] = [
  layout("<F, x, y>", { x: 4, y: 3 }, COMPLEX),
  layout("<x, y, F>", { x: 4, y: 3 }, { r: 1, g: 2, depth: 8 }),
  layout("<x_in=4, F, y_in=4, x_out, y_out>", { x: 7, y: 6 }, COMPLEX),
  layout("<y_out, x_in=3, F, y_in=2, x_out>", { x: 8, y: 5 }, { r: 1, g: 2, depth: 8 }),
  layout("<F, x_1=2, x_0=3, z, x_2>", { x: 13, z: 2 }),
  layout("<F, x_in=16, x_out>", { x: 100 }, { v: 8 }),
];

function inOrder(linear: Linearization): Entry[] {
  const found: Entry[] = [];
  for (let at = nextEntry(linear, 0); at !== null; at = nextEntry(linear, at + 1)) found.push(entryAt(linear, at) as Entry);
  return found;
}

/** The colours of a layout alone, by offset. */
const byOffset = (linear: Linearization) =>
  colouring(linear, { options: { colour: "offset", digit: null }, palette: [], chunks: null, dark: false });

test("a long name of a field leaves room for the axis above the first panel", () => {
  const context = { measureText: (text: string) => ({ width: 7 * text.length }) } as unknown as CanvasRenderingContext2D;
  const named = (name: string): Geometry => geometryOf(layout("<F, x, y>", { x: 400, y: 400 }, { [name]: 4, im: 4 }), 160, 200);
  for (const name of ["re", "weight_of_the_particle_at_rest"]) {
    const geometry = named(name);
    assert.ok(geometry.panels.length === 2 && besideTitle(context, geometry, geometry.panels[0]!) >= 7 * "x →".length, name);
  }
});

test("steps through memory pass every element once, forwards and backwards", () => {
  for (const linear of LAYOUTS) {
    const all = inOrder(linear);
    assert.equal(all.length, (linear.payload / linear.entryBytes) * linear.fields.length);
    all.forEach((element, place) => {
      assert.deepEqual(nextElement(linear, element), all[place + 1] ?? null);
      assert.deepEqual(previousElement(linear, element), all[place - 1] ?? null);
    });
  }
});

test("bytes lead to elements, and padding to what follows it", () => {
  for (const linear of LAYOUTS) {
    const all = inOrder(linear);
    const starts = all.map(({ index, field }) => linear.offset(index, field));
    for (let byte = 0; byte < linear.nbytes; byte += 1) {
      const at = linear.at(byte);
      const place = positionAt(linear, byte);
      assert.ok(place >= 0 && place < orderLength(linear));
      if (at !== null) assert.deepEqual(entryAt(linear, place), { index: at.index, field: at.field });
      const expected =
        at === null ? (all[starts.findIndex((start) => start >= byte)] ?? null) : { index: at.index, field: at.field };
      assert.deepEqual(elementAtOrAfter(linear, byte), expected);
    }
    assert.equal(elementAtOrAfter(linear, -1), null);
    assert.equal(elementAtOrAfter(linear, linear.nbytes), null);
    assert.deepEqual(elementsIn(linear, 0, linear.nbytes), all);
  }
});

test("the shares of the fields in a range of bytes are exact", () => {
  const linear = layout("<x_in=4, F, x_out>", { x: 10 }, { a: 1, b: 3 });
  for (const [first, end] of [
    [0, 48],
    [3, 9],
    [15, 17],
    [5, 5],
    [1, 40],
  ] as const) {
    const counted = [0, 0];
    for (let byte = first; byte < end; byte += 1) {
      const field = byte % 16 < 4 ? 0 : 1;
      counted[field] = (counted[field] ?? 0) + 1;
    }
    assert.deepEqual(fieldShares(linear, first, end), counted);
  }
});

test("a step in memory is said in words", () => {
  const linear = layout("<F, x, y>", { x: 4, y: 3 }, COMPLEX);
  assert.equal(stepText(linear, { index: [0, 0], field: 0 }, { index: [0, 0], field: 1 }), "re to im");
  assert.equal(stepText(linear, { index: [3, 0], field: 1 }, { index: [0, 1], field: 0 }), "im to re, y + 1, x − 3");
});

test("means of separable numbers are those of a loop, ranges hold every value", () => {
  const terms = [
    { step: 1, extent: 4, weight: 3 },
    { step: 4, extent: 5, weight: -2 },
    { step: 20, extent: 100, weight: 7 },
  ];
  for (const [from, to] of [
    [0, 1],
    [0, 4],
    [3, 29],
    [17, 400],
    [5, 6],
    [19, 21],
  ] as const) {
    let sum = 0;
    for (let i = from; i < to; i += 1) sum += valueAt(terms, i);
    assert.ok(Math.abs(meanOver(terms, from, to) - sum / (to - from)) < 1e-9);
  }
  const [low, high] = rangeOver(terms, 2, 8);
  for (let i = 2; i < 8; i += 1) assert.ok(valueAt(terms, i) >= low && valueAt(terms, i) <= high);
});

test("grids: cells and entries lead to each other, padding is outside", () => {
  const linear = layout("<F, x_in=4, y_in=4, x_out, y_out, z>", { x: 8, y: 6, z: 3 });
  const model = gridModel(linear, ["x", "y"], new Map([["z", 2]]), { width: 200, height: 200 });
  assert.deepEqual([model.across.padded, model.down.size, model.down.padded, model.wrap], [8, 6, 8, 0]);
  assert.deepEqual(model.down.blocks, [4]);
  assert.deepEqual(indexAt(model, 3, 5), [3, 5, 2]);
  assert.equal(indexAt(model, 3, 6), null);
  assert.ok(isPadding(model, 3, 6) && !isPadding(model, 3, 5));
  assert.deepEqual(cellOf(model, [3, 5, 2]), { column: 3, row: 5 });
  assert.equal(cellOf(model, [3, 5, 1]), null);
});

test("one dimension is a strip where it fits, else rows of whole blocks, alike at both ends", () => {
  const blocked = layout("<F, x_in=16, x_out>", { x: 100 });
  const plain = layout("<F, x>", { x: 100 });
  assert.equal(gridModel(plain, ["x"], new Map(), { width: 3000, height: 100 }).wrap, 0);
  const room = { width: 200, height: 150 };
  const block = commonBlock([blocked, plain], "x");
  assert.equal(block, 16);
  for (const linear of [blocked, plain]) {
    const model = gridModel(linear, ["x"], new Map(), room, block);
    assert.equal(model.wrap % 16, 0);
    assert.deepEqual(indexAt(model, 3, 1), [model.wrap + 3]);
    assert.deepEqual(cellOf(model, [model.wrap + 3]), { column: 3, row: 1 });
    assert.equal(indexAt(model, model.wrap - 1, Math.ceil(100 / model.wrap) - 1), null);
  }
});

test("every pixel has the colour of the cell in it; padding is transparent", () => {
  for (const linear of LAYOUTS)
    for (const colour of ["offset", "digit", "line", "field"] as const) {
      const dims = shownDims(linear, null, OPTIONS);
      const last = new Map(linear.dims.map(({ name, size }) => [name, size - 1]));
      const whole = colouring(linear, {
        options: { colour, digit: null },
        palette: [],
        chunks: null,
        dark: false,
      });
      const others = [...last].filter(([name]) => !dims.includes(name));
      const colours = inView(whole, new Map(others.map(([name, at]) => [name, [at, at + 1] as const])));
      const model = gridModel(linear, dims, last, { width: 60, height: 60 });
      const [scale, field] = [3, linear.fields.length - 1];
      const [width, height] = [model.across.padded * scale, model.down.padded * scale];
      const out = new Uint32Array(width * height);
      cellPixels(
        out,
        width,
        height,
        model,
        separables(model, colours),
        colours,
        { fields: [field] },
        { left: 0, top: 0, width: scale, height: scale },
        1,
      );
      for (let row = 0; row < model.down.padded; row += 1)
        for (let column = 0; column < model.across.padded; column += 1) {
          const index = indexAt(model, column, row);
          assert.equal(
            out[(row * scale + 1) * width + column * scale + 1],
            index === null ? 0 : elementColour(colours, index, field),
          );
        }
    }
});

test("a pixel that holds many cells shows their mean, not one of them", () => {
  // x_in is the slowest digit: neighbours in x lie far apart, and one of them alone would make a pattern that is not there.
  const linear = layout("<F, x_out, y, x_in=4>", { x: 4096, y: 4096 });
  const colours = byOffset(linear);
  const model = gridModel(linear, ["x", "y"], new Map(), { width: 100, height: 100 });
  const out = new Uint32Array(100);
  cellPixels(
    out,
    100,
    1,
    model,
    separables(model, colours),
    colours,
    { fields: [0] },
    { left: 0, top: 0, width: 100 / 4096, height: 100 / 4096 },
    1,
  );
  const middle = colourOf(colours, (linear.nbytes * 3) / 8);
  for (const colour of out) assert.ok(difference(colour, middle) < 0.06);
});

test("chunks have boundaries where their blocks have them", () => {
  const linear = layout("<F, x, y>", { x: 8, y: 8 });
  const chunks = {
    digits: [
      { dim: "x", extent: 2, step: 4 },
      { dim: "y", extent: 2, step: 4 },
    ],
    perChunk: 2,
    count: 2,
  };
  const colours = colouring(linear, { options: { colour: "chunk", digit: null }, palette: [], chunks, dark: false });
  assert.equal(elementColour(colours, [0, 3], 0), elementColour(colours, [7, 0], 0));
  assert.notEqual(elementColour(colours, [0, 3], 0), elementColour(colours, [0, 4], 0));
});

test("the scale of offsets goes in even steps, darker all the way, and not as dark as a dark page", () => {
  for (const dark of [false, true]) {
    const scale = offsetScale(dark);
    const steps = Array.from({ length: 32 }, (_, i) => difference(scale[i * 32] ?? 0, scale[Math.min(1023, (i + 1) * 32)] ?? 0));
    assert.ok(Math.max(...steps) / Math.min(...steps) < 1.35);
    const light = Array.from({ length: 33 }, (_, i) => luminance(unpacked(scale[Math.min(1023, i * 32)] ?? 0)));
    for (const [place, each] of light.entries()) assert.ok(place === 0 || each < light[place - 1]!);
    if (dark) assert.ok((luminance(unpacked(scale[1023] ?? 0)) + 0.05) / (luminance([0x12, 0x16, 0x1c]) + 0.05) > 2);
  }
});

test("numbers can be read on every colour", () => {
  const fields = Array.from({ length: 24 }, (_, field) => fieldColour(field));
  assert.equal(new Set(fields).size, 24);
  const all = [
    ...offsetScale(false),
    ...offsetScale(true),
    ...lineColours(false),
    ...lineColours(true),
    ...dimensionScale("#0b62a8", false),
  ];
  for (const colour of all) {
    const paper = luminance(unpacked(colour));
    const ink = inkOn(colour) === "#ffffff" ? 1 : 0;
    // White on blue is read better than its contrast says, black worse.
    assert.ok((Math.max(paper, ink) + 0.05) / (Math.min(paper, ink) + 0.05) >= 3.5);
    assert.ok(ink === 1 || paper > 0.25);
  }
});

const ROOM: Room = { width: 400, height: 300, columns: 4096, rows: 4096, ratio: 1 };

test("zooming keeps what is below the pointer, and stays inside", () => {
  const whole = fitted(ROOM);
  assert.ok(Math.abs(whole.width * ROOM.columns - 300) < 1e-9);
  let view = whole;
  const under = (x: number): number => view.left + x / view.width;
  const before = under(60);
  for (let i = 0; i < 12; i += 1) view = zoomed(view, ROOM, 1.5, 60, 90);
  assert.ok(Math.abs(under(60) - before) < 2);
  view = panned(view, ROOM, 1e9, 1e9);
  assert.deepEqual([view.left, view.top], [0, 0]);
  view = panned(view, ROOM, -1e9, -1e9);
  assert.ok(view.left + ROOM.width / view.width <= ROOM.columns + 1e-6);
  for (let i = 0; i < 40; i += 1) view = zoomed(view, ROOM, 0.5, 10, 10);
  assert.deepEqual([view.width, view.left], [whole.width, 0]);
});

test("the whole grid stays whole in another room; a cell is brought into sight", () => {
  const small = { ...ROOM, width: 200 };
  assert.deepEqual(resized(fitted(ROOM), ROOM, small), fitted(small));
  const near = zoomed(fitted(ROOM), ROOM, 200, 0, 0);
  const seen = showing(near, ROOM, 2000, 1000);
  assert.ok(seen.left <= 2000 && seen.left + ROOM.width / seen.width >= 2001);
  assert.ok(seen.top <= 1000 && seen.top + ROOM.height / seen.height >= 1001);
  assert.equal(showing(seen, ROOM, 2000, 1000), seen);
});

function geometryOf(linear: Linearization, width: number, height: number, shown = "auto"): Geometry {
  const model = gridModel(linear, shownDims(linear, null, OPTIONS), new Map(), { width, height });
  const panels = panelsIn(linear, model, shown, width, height);
  const room = roomOf(model, panels[0] ?? { x: 0, y: 0, width, height, fields: [0] }, 1);
  return { model, panels, room, view: fitted(room) };
}

test("fields lie in the cells where there is room, else side by side", () => {
  assert.equal(geometryOf(layout("<F, x, y>", { x: 4, y: 4 }, COMPLEX), 200, 200).panels.length, 1);
  const large = geometryOf(layout("<F, x, y>", { x: 400, y: 400 }, COMPLEX), 200, 200);
  assert.deepEqual(
    large.panels.map((panel) => panel.fields),
    [[0], [1]],
  );
  assert.deepEqual(
    geometryOf(layout("<F, x, y>", { x: 400, y: 400 }, COMPLEX), 200, 200, "only:im").panels.map((panel) => panel.fields),
    [[1]],
  );
});

test("what is drawn at a place is found there", () => {
  for (const linear of LAYOUTS) {
    const geometry = geometryOf(linear, 240, 300);
    for (const element of inOrder(linear)) {
      const place = placeOf(geometry, element);
      if (place !== null) assert.deepEqual(hit(geometry, place.x + place.width / 2, place.y + place.height / 2), element);
    }
    assert.equal(hit(geometry, -5, 5), null);
  }
});

test("the order line crosses no number", () => {
  for (const linear of [
    layout("<F, x_in=2, y_in=2, x_out, y_out>", { x: 4, y: 4 }, COMPLEX),
    layout("<y, x, F>", { x: 4, y: 4 }, COMPLEX),
    layout("<F, x, y>", { x: 4, y: 4 }),
  ]) {
    const geometry = geometryOf(linear, 300, 240);
    const numbers = inOrder(linear).map((element) => {
      const { x, y, width, height } = placeOf(geometry, element) as NonNullable<ReturnType<typeof placeOf>>;
      const { left, bottom } = lanesOf(width, height);
      return { x0: x + left + 2, x1: x + width - 2, y0: y + 1, y1: y + height - bottom - 2 };
    });
    for (const element of inOrder(linear)) {
      const next = nextElement(linear, element);
      const [from, to] = [placeOf(geometry, element), next === null ? null : placeOf(geometry, next)];
      if (from === null || to === null) continue;
      const { points } = segment(from, to, true);
      points.slice(1).forEach((b, at) => {
        const a = points[at] as Point;
        assert.ok(a.x === b.x || a.y === b.y, "the line goes along lanes");
        for (const { x0, x1, y0, y1 } of numbers)
          assert.ok(Math.max(a.x, b.x) <= x0 || Math.min(a.x, b.x) >= x1 || Math.max(a.y, b.y) <= y0 || Math.min(a.y, b.y) >= y1);
      });
    }
  }
  assert.deepEqual(knot({ x: 0, y: 0, width: 20, height: 10 }, false), { x: 10, y: 5 });
});

test("a box of a request lies on whole cells", () => {
  const a = layout("<F, x_in=4, y_in=4, x_out, y_out>", { x: 8, y: 8 });
  const b = layout("<F, x, y>", { x: 8, y: 8 });
  const box = requestBox(a, b);
  const geometry = geometryOf(a, 160, 160);
  const panel = geometry.panels[0];
  assert.ok(panel !== undefined);
  assert.equal((box.extents.get("x") ?? 0) * rectOf(geometry, panel, 0, 0, null).width, rectOf(geometry, panel, 4, 0, null).x);
});

test("the tape: lines that fit, a window that moves as little as needed, bytes under the pointer", () => {
  const linear = layout("<F, x, y>", { x: 4096, y: 4096 });
  const lines = linesThatFit(linear, 410);
  assert.ok(lines >= 2);
  assert.equal(linesThatFit(layout("<F, x>", { x: 4 }), 410), 1);
  assert.equal(windowFrom(10, 11 * 64, 3, linear.nbytes), 10);
  assert.equal(windowFrom(10, 100 * 64, 3, linear.nbytes), 99);
  assert.equal(windowFrom(10, linear.nbytes - 1, 3, linear.nbytes), linear.nbytes / 64 - 3);
  const tape = { linear, width: 400, ratio: 1, firstLine: 8, lines: 2, size: 12, strip: "alone" } as const;
  assert.equal(byteAt(tape, false, 200, 3), linear.nbytes / 2);
  assert.equal(byteAt(tape, false, 0, tapeRows(1, false).all - 5), 8 * 64);
  assert.equal(byteAt(tape, false, -1, 3), null);
});

test("indices along an edge: all where they fit, else the first, the last and round ones", () => {
  assert.deepEqual(ticks(0, 4, 40, 20), [0, 1, 2, 3]);
  const few = ticks(0, 4096, 0.05, 40);
  assert.equal(few[0], 0);
  assert.equal(few.at(-1), 4095);
  assert.ok(few.length <= 6 && few.slice(1, -1).every((at) => at % 1024 === 0));
  assert.deepEqual(ticks(3, 3, 10, 10), []);
});

test("cells are square, but in arrays that are long and thin", () => {
  const square = fitted({ ...ROOM, width: 500, columns: 20, rows: 20 });
  assert.equal(square.width, square.height);
  const thin = fitted({ ...ROOM, columns: 4096, rows: 2 });
  assert.equal(thin.height * 2, 72);
  assert.ok(Math.abs(thin.width * 4096 - 400) < 1);
  const room = { ...ROOM, columns: 4096, rows: 4096, first: { columns: 2048, rows: 16 } };
  const block = first(room);
  assert.ok(Math.abs(block.width * 2048 - 400) < 2 && Math.abs(block.height * 16 - 300) < 16, "a block fills the room");
  const model = gridModel(layout("<F, x, y>", { x: 64, y: 32 }), ["y", "x"], new Map(), { width: 300, height: 300 });
  assert.deepEqual(cellsOf(model, new Map([["x", 4]])), { columns: 32, rows: 4 });
});
