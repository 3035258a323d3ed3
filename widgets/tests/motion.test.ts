// A chunk in motion: what lies where at every stop, what moves together, and how time is shared between hops.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { PartOfInstance } from "#model/layouts/requests.ts";
import type { ShownPath } from "#model/types.ts";
import { nextArrival, progressOf } from "#views/motion/draw.ts";
import { advanced } from "#views/motion/moment.ts";
import { type MotionPicture, motionPicture } from "#views/motion/picture.ts";
import { layout } from "./linear.ts";

const SIZES = { x: 8192, y: 8192 };
const [BEFORE, AFTER] = ["<F, x_in=256, y_in=128, y_out, x_out>", "<F, y_in=128, x_in=256, y_out, x_out>"];
/** The layouts of section 4.3 of the Isometry paper, stop by stop. */
const LAYOUTS = ["<F, x, y>", BEFORE, BEFORE, AFTER, AFTER, AFTER, "<F, y, x>"];
const DIGITS = [
  { dim: "y", extent: 64, step: 128 },
  { dim: "x", extent: 32, step: 256 },
];

function pictureOf(
  layouts: readonly Linearization[],
  digits: ShownPath["chunkDigits"],
  perChunk: number,
  chunk: number,
): MotionPicture {
  const found = motionPicture({ chunkDigits: digits, perChunk, firstChunk: 0 }, layouts, chunk);
  assert.ok(found !== null);
  return found;
}

const section = (chunk: number): MotionPicture =>
  pictureOf(
    LAYOUTS.map((text) => layout(text, SIZES, { value: 16 })),
    DIGITS,
    1,
    chunk,
  );

/** How many pieces each line of a stop has, and whether there is a gap before it. */
const lines = ({ places }: MotionPicture["stops"][number]): string[] => {
  const found: string[] = [];
  for (const { line, column, gapsAbove } of places) {
    const longest = Math.max(Number(found[line]?.split(" ")[0] ?? 0), column + 1);
    found[line] = `${longest} ${gapsAbove}`;
  }
  return found;
};

test("section 4.3: rows leave the GPU, turn into columns at hop 2 and nowhere else, and arrive as columns", () => {
  for (const chunk of [0, 77, 2047]) {
    const { hops, stops, bytes, pieces } = section(chunk);
    assert.equal(bytes, 512 * 1024);
    assert.equal(pieces.length, 24);
    assert.deepEqual(
      hops.map(({ requests, requestBytes }) => [requests, requestBytes]),
      [
        [128, 4096],
        [1, 524288],
        [32768, 16],
        [1, 524288],
        [1, 524288],
        [256, 2048],
      ],
    );
    assert.deepEqual(
      hops.map(({ groups }) => [groups.length, groups[0]?.length]),
      [
        [4, 6],
        [1, 24],
        [24, 1],
        [1, 24],
        [1, 24],
        [6, 4],
      ],
    );
    assert.deepEqual(
      stops.map((stop) => lines(stop).join()),
      [
        "6 0,6 1,6 2,6 3",
        ...Array(2).fill("6 0,6 0,6 0,6 0"),
        ...Array(3).fill(Array(6).fill("4 0").join()),
        "4 0,4 1,4 2,4 3,4 4,4 5",
      ],
      "lines with gaps at the ends, blocks without gaps in between; six columns before hop 2, four behind it",
    );
  }
});

test("the pieces of a memory stand in the order of their offsets, and no two at one place", () => {
  const linears = ["<F, x, y>", "<x_in=4, F, y_in=3, y_out, x_out>", "<y, x, F>"].map((text) =>
    layout(text, { x: 10, y: 7 }, { a: 4, b: 8 }),
  );
  const digits = [
    { dim: "y", extent: 3, step: 3 },
    { dim: "x", extent: 3, step: 4 },
  ];
  for (let chunk = 0; chunk < 5; chunk += 1) {
    const { pieces, stops, hops } = pictureOf(linears, digits, 2, chunk);
    stops.forEach(({ places }, stop) => {
      const linear = linears[stop] as Linearization;
      const inOrder = pieces
        .map(({ index, field }, piece) => ({ offset: linear.offset(index, field), place: places[piece] }))
        .sort((one, other) => one.offset - other.offset)
        .map(({ place }) => 1000 * (place?.line ?? 0) + (place?.column ?? 0));
      assert.ok(inOrder.every((at, piece) => piece === 0 || (inOrder[piece - 1] ?? 0) < at));
    });
    for (const { groups } of hops)
      assert.deepEqual(
        groups.flat().sort((a, b) => a - b),
        pieces.map((_, piece) => piece),
        "every piece moves once over every hop",
      );
  }
});

test("a path that moves a part of the array has shorter runs where its instance has gaps", () => {
  const [sizes, share] = [
    { x: 16, y: 8 },
    { x: 8, y: 8 },
  ];
  const texts = ["<F, x, y>", "<F, x, y>", "<F, y, x>"];
  const layouts = texts.map((text) => layout(text, share, { value: 8 }));
  const part = (text: string): PartOfInstance => ({
    linear: layout(text, sizes, { value: 8 }),
    first: [8, 0],
    sizes: [8, 8],
  });
  const numbers = { chunkDigits: [{ dim: "y", extent: 8, step: 1 }], perChunk: 4, firstChunk: 1 };
  const whole = motionPicture(numbers, layouts, 0);
  const cut = motionPicture(numbers, layouts, 0, [part("<F, x, y>"), part("<F, y, x>")]);
  assert.ok(whole !== null && cut !== null);
  for (const { pieces } of [whole, cut])
    assert.ok(
      pieces.every(({ index }) => (index[1] ?? 0) >= 4),
      "chunk 1 of both paths",
    );
  assert.deepEqual(
    [whole, cut].map(({ hops }) => hops.map(({ requests }) => requests)),
    [
      [1, 32],
      [4, 32],
    ],
    "the rows of the part lie apart, and turn into columns one by one",
  );
  const gaps = ({ stops }: MotionPicture): number[] =>
    stops.map(({ places }) => Math.max(...places.map(({ gapsAbove }) => gapsAbove)));
  assert.deepEqual([gaps(whole)[0], gaps(cut)[0]], [0, 3], "four rows with something else between them");
  assert.deepEqual(gaps(whole)[1], gaps(cut)[1], "a buffer has no gaps");
});

test("groups leave one after the other, and a step ends with the arrival of the next one", () => {
  for (const count of [1, 2, 4, 24]) {
    const groups = Array.from({ length: count }, (_, group) => group);
    assert.ok(groups.every((group) => progressOf(group, count, 0) === 0 && progressOf(group, count, 1) === 1));
    let [share, steps] = [0, 0];
    while (share < 1) {
      share = nextArrival(count, share);
      steps += 1;
      assert.equal(groups.filter((group) => progressOf(group, count, share) > 1 - 1e-6).length, steps);
    }
    assert.equal(steps, count);
  }
});

test("time is shared between hops as each takes it", () => {
  assert.equal(advanced(0, 1, [2, 8]), 0.5);
  assert.equal(advanced(0.5, 3, [2, 8]), 1.25);
  assert.equal(advanced(1.25, 100, [2, 8]), 2);
});
