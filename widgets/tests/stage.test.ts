// One hop, large: which elements move together, in which order, and where they land; and what is said of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { byName } from "#model/by-name.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { contiguousBox, requestBox, runsOfBlock, smallestBox } from "#model/layouts/requests.ts";
import { memoryMap } from "#views/memory/memory-map.ts";
import { goalsOf, type Places, pixelLists, progressOf, requestsOf, stepsOf } from "#views/stage/movement.ts";
import { liesWords, waysOf } from "#views/stage/words.ts";
import { layout } from "./linear.ts";

const SIZES = { x: 8192, y: 8192 };
const BLOCK = byName([
  ["x", 256],
  ["y", 128],
] as const);
const [BEFORE, AFTER] = ["<F, x_in=256, y_in=128, y_out, x_out>", "<F, y_in=128, x_in=256, y_out, x_out>"];
/** The layouts of section 4.3 of the Isometry paper, stop by stop. */
const PATH = ["<F, x, y>", BEFORE, AFTER, AFTER, "<F, y, x>"].map((text) => layout(text, SIZES, { value: 16 }));

const hopOf = (path: readonly Linearization[], hop: number): [Linearization, Linearization] => [
  path[hop] as Linearization,
  path[hop + 1] as Linearization,
];

test("section 4.3: a block is formed by rows, turns entry by entry, and goes as a whole where it keeps its order", () => {
  const found = [0, 1, 2, 3].map((hop) => {
    const [from, to] = hopOf(PATH, hop);
    const box = requestBox(from, to);
    const [before, after] = [from, to].map((each) => memoryMap(each, { kind: "block", block: BLOCK, path: PATH, limit: 1024 }));
    assert.ok(before !== undefined && after !== undefined);
    const steps = requestsOf(from, before, box);
    const goals = goalsOf(before, after);
    assert.deepEqual(
      [...goals].sort((a, b) => a - b),
      [...goals.keys()],
      "every element lands somewhere, no two in one place",
    );
    assert.deepEqual(
      [...stepsOf(before, steps)].map((step, place) => stepsOf(after, steps)[goals[place] ?? -1] === step),
      Array(before.count).fill(true),
      "what leaves with a request arrives with it",
    );
    return [steps.count, before.count, runsOfBlock(box, from, [256, 128]), waysOf(from, to, BLOCK)?.written];
  });
  assert.deepEqual(found, [
    [32, 1024, 128, undefined],
    [1024, 1024, 32768, "by columns"],
    [1, 1024, 1, undefined],
    [32, 1024, 256, undefined],
  ]);
});

/** All elements of a block, in the order of a layout. */
function blockOf(linear: Linearization, sizes: readonly number[]): Places {
  const indices = sizes.reduce<number[][]>(
    (all, size) => all.flatMap((index) => Array.from({ length: size }, (_, at) => [...index, at])),
    [[]],
  );
  const elements = indices
    .flatMap((index) => linear.fields.map((_, field) => ({ index, field })))
    .sort((one, other) => linear.offset(one.index, one.field) - linear.offset(other.index, other.field));
  return { count: elements.length, elementAt: (place) => elements[place] ?? null };
}

test("a request is contiguous in both memories, requests leave in the order of the first, and they are counted without a list", () => {
  let seed = 7;
  const draw = (below: number): number => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  const shuffled = <Value>(values: readonly Value[]): Value[] =>
    values
      .map((value) => ({ value, rank: draw(1e6) }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ value }) => value);
  for (let turn = 0; turn < 150; turn += 1) {
    const sizes = { x: 4 * (1 + draw(3)), y: 1 + draw(9) };
    const fields = Object.fromEntries(["a", "b", "c"].slice(0, 1 + draw(3)).map((name) => [name, [2, 4, 8][draw(3)] ?? 2]));
    const text = (): string => {
      const parts = draw(2) > 0 ? ["x_in=4", "x_out"] : ["x"];
      const order = shuffled([...parts, "y", "F"]);
      if (parts.length > 1 && order.indexOf("x_in=4") > order.indexOf("x_out")) return `<${order.reverse().join(", ")}>`;
      return `<${order.join(", ")}>`;
    };
    const [from, to] = [layout(text(), sizes, fields), layout(text(), sizes, fields)];
    const block = [draw(2) > 0 ? 4 : sizes.x, sizes.y];
    const places = blockOf(from, block);
    const box = requestBox(from, to);
    const steps = requestsOf(from, places, box);
    const told = `${from} ${to} ${block}`;
    assert.equal(runsOfBlock(box, from, block), steps.count, told);
    const requests = new Map<number, { index: readonly number[]; field: number }[]>();
    for (let place = 0; place < places.count; place += 1) {
      const element = places.elementAt(place);
      assert.ok(element !== null);
      const step = steps.stepOf(element);
      requests.set(step, [...(requests.get(step) ?? []), element]);
    }
    assert.deepEqual([...requests.keys()], [...Array(steps.count).keys()], `in order: ${told}`);
    // A request may hold more than a block: of the whole array it is one stretch.
    for (const elements of block[0] === sizes.x ? requests.values() : [])
      for (const linear of [from, to]) {
        const bytes = elements.map(({ index, field }) => ({
          at: linear.offset(index, field),
          size: linear.fields[field]?.size ?? 0,
        }));
        bytes.sort((one, other) => one.at - other.at);
        assert.ok(
          bytes.every(({ at }, n) => n === 0 || at === (bytes[n - 1]?.at ?? 0) + (bytes[n - 1]?.size ?? 0)),
          told,
        );
      }
  }
});

test("a path that moves a box of the array has shorter requests where its end has gaps", () => {
  const share = { x: 8, y: 8 };
  const [from, to] = ["<F, x, y>", "<F, x, y>"].map((text) => layout(text, share, { value: 8 })) as [
    Linearization,
    Linearization,
  ];
  const end = { linear: layout("<F, x, y>", { x: 16, y: 8 }, { value: 8 }), first: [8, 0], sizes: [8, 8] };
  const box = smallestBox([requestBox(from, to), contiguousBox(end)], 1);
  assert.equal(runsOfBlock(requestBox(from, to), from, [8, 8]), 1);
  assert.equal(runsOfBlock(box, from, [8, 8]), 8);
});

test("steps follow each other: at a whole number so many are done and, without flights, none is on its way", () => {
  for (const flight of [1, 3.5, 40])
    for (let at = 0; at <= 24; at += 1) {
      const gone = Array.from({ length: 24 }, (_, step) => progressOf(step, at, flight));
      assert.equal(gone.filter((share) => share === 1).length, at);
      if (flight === 1) assert.ok(gone.every((share) => share === 0 || share === 1));
      assert.ok(
        gone.every((share, step) => step === 0 || share <= (gone[step - 1] ?? 0)),
        "none overtakes another one",
      );
    }
});

test("pixels are listed by the step that moves them", () => {
  const { starts, pixels } = pixelLists(Int32Array.from([1, -1, 0, 1, 3]), 4);
  assert.deepEqual([...starts], [0, 1, 3, 3, 4]);
  assert.deepEqual([...pixels], [2, 0, 3, 4]);
});

test("words say what the pictures show", () => {
  const none = byName<number>([]);
  const of = (text: string, fields: Record<string, number> = { value: 4 }): Linearization =>
    layout(text, { n: 4, x: 8, y: 8 }, fields);
  const ways = (from: string, to: string, fields?: Record<string, number>): string => {
    const found = waysOf(of(from, fields), of(to, fields), none);
    return found === null ? "the same" : `${found.read}, ${found.written}`;
  };
  const two = { a: 4, b: 8 };
  assert.equal(ways("<F, y, x, n>", "<F, x, y, n>"), "by rows, by columns");
  assert.equal(ways("<F, y, x, n>", "<F, x, y, n>", two), "by rows, by columns", "fields move with their entry");
  assert.equal(ways("<F, y, x, n>", "<y, F, x, n>"), "the same", "one field has no order");
  assert.equal(ways("<F, y, x, n>", "<y, x, n, F>", two), "entry by entry, field by field");
  assert.equal(ways("<y, x, n, F>", "<y, F, x, n>", two), "field by field, entry by entry");
  assert.equal(ways("<F, y, x, n>", "<F, y, n, x>"), "one after the other, far apart");
  assert.equal(liesWords(of("<F, x, y, n>", two), none), "all fields of an entry together, x varies fastest");
  assert.equal(liesWords(of("<x_in=2, y, F, x_out, n>", two), none), "in blocks, field by field, x varies fastest");
  assert.equal(liesWords(of("<F, y, x, n>"), none), "y varies fastest");
});
