import assert from "node:assert/strict";
import { test } from "node:test";
import { linearize } from "#model/layouts/linearization.ts";
import {
  EVERYTHING,
  isEverything,
  movedTo,
  partWords,
  rangesOf,
  selected,
  withField,
  withRanges,
  withText,
} from "#model/part.ts";
import type { ShownPart, ShownPastRun } from "#model/types.ts";
import { piecesOf } from "#views/linearization/drawing/box.ts";
import { boxed, cellNear, dragged, type IndexBox } from "#views/linearization/geometry/index-box.ts";
import { gridModel } from "#views/linearization/geometry/model.ts";
import { comparedRows } from "#views/runs/past-runs.tsx";
import { everyTransfer } from "#views/transfers/transfers.tsx";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, enter, find, press, show } from "./page.ts";

closeAfterEach();

const dimensions = [
  { key: 1, name: "x", value: "12" },
  { key: 2, name: "y", value: "8" },
];
const fields = [
  { key: 3, name: "re", value: "float32" },
  { key: 4, name: "im", value: "float32" },
];
const moves = (part: ShownPart) => ({ dimensions, fields, part });

test("a part is read, and told in words", () => {
  assert.deepEqual(
    rangesOf(moves(EVERYTHING))?.map(({ first, extent, to }) => [first, extent, to]),
    [
      [0, 12, 0],
      [0, 8, 0],
    ],
  );
  assert.equal(partWords(moves(EVERYTHING)), "");
  const part = { ranges: [{ row: 1, first: "2", extent: "4", to: "" }], leftOut: [4] };
  assert.deepEqual(rangesOf(moves(part))?.[0], { row: 1, dim: "x", size: 12, first: 2, extent: 4, to: 2 });
  assert.equal(partWords(moves(part)), "4 × 8 of 12 × 8, without im");
  for (const wrong of [{ first: "12" }, { extent: "13" }, { extent: "0" }, { to: "9", extent: "4" }, { first: "-1" }])
    assert.equal(
      rangesOf(moves({ ranges: [{ row: 1, first: "", extent: "", to: "", ...wrong }], leftOut: [] })),
      null,
      JSON.stringify(wrong),
    );
});

test("a part is said as shortly as it can be, and what is usual is not said", () => {
  const [x, y] = rangesOf(moves(EVERYTHING)) ?? [];
  assert.ok(x !== undefined && y !== undefined);
  const part = withRanges(EVERYTHING, [selected(x, 5, 2), y]);
  assert.deepEqual(part.ranges, [{ row: 1, first: "2", extent: "4", to: "" }]);
  const [chosen] = rangesOf(moves(part)) ?? [];
  assert.ok(chosen !== undefined);
  const moved = withRanges(part, [movedTo(chosen, 99)]);
  assert.deepEqual(moved.ranges, [{ row: 1, first: "2", extent: "4", to: "8" }]);
  const [again] = rangesOf(moves(moved)) ?? [];
  assert.ok(again !== undefined);
  assert.equal(selected(again, 0, 9).to, 2, "it stays inside at the destination");
  assert.equal(isEverything(withRanges(moved, [selected(again, 0, 11)])), true);
  assert.deepEqual(withText(part, 1, { first: "", extent: "" }).ranges, []);
  assert.deepEqual(withField(withField(EVERYTHING, 4, false), 3, false).leftOut, [3, 4]);
  assert.deepEqual(withField({ ranges: [], leftOut: [3, 4] }, 3, true).leftOut, [4]);
});

const { linear } = linearize(
  "<F, x, y>",
  [
    { name: "x", size: 12 },
    { name: "y", size: 8 },
  ],
  [
    { name: "re", size: 4 },
    { name: "im", size: 4 },
  ],
);
const whole: IndexBox = { first: [0, 0], last: [11, 7], fields: [true, true], whole: true };

test("a box is drawn between two corners in any direction, and moved without leaving the array", () => {
  assert.ok(linear !== null);
  const box = boxed(whole, linear, ["x", "y"], [5, 6], [2, 1]);
  assert.deepEqual([box.first, box.last, box.whole], [[2, 1], [5, 6], false]);
  assert.deepEqual(boxed(box, linear, ["x"], [7, 0], [9, 0]).first, [7, 1], "what is not drawn stays");
  const far = dragged(box, linear, [0, 0], [99, -99]);
  assert.deepEqual(
    [far.first, far.last],
    [
      [8, 0],
      [11, 5],
    ],
  );
});

test("a dimension that is wrapped into rows has a box of up to three pieces", () => {
  const { linear: line } = linearize("<x, F>", [{ name: "x", size: 100 }], [{ name: "a", size: 4 }]);
  assert.ok(line !== null);
  const model = gridModel(line, ["x"], new Map(), { width: 160, height: 160 }, 10);
  const { wrap } = model;
  assert.ok(wrap > 0 && wrap < 50);
  const box: IndexBox = { first: [wrap - 1], last: [3 * wrap], fields: [true], whole: false };
  const pieces = piecesOf(model, box);
  const cells = pieces.reduce((sum, { left, right, top, bottom }) => sum + (right - left + 1) * (bottom - top + 1), 0);
  assert.equal(pieces.length, 3);
  assert.equal(cells, 2 * wrap + 2);
});

test("a point beside the grid means the nearest cell", () => {
  assert.ok(linear !== null);
  const model = gridModel(linear, ["x", "y"], new Map(), { width: 120, height: 80 });
  const geometry = {
    model,
    panels: [{ x: 0, y: 0, width: 120, height: 80, fields: [0, 1] }],
    view: { left: 0, top: 0, width: 10, height: 10 },
    room: { width: 120, height: 80, columns: 12, rows: 8, ratio: 1 },
  };
  const panel = { x: 0, y: 0 };
  assert.deepEqual(cellNear(geometry, panel, { x: 35, y: 22 }), [3, 2]);
  assert.deepEqual(cellNear(geometry, panel, { x: -9, y: 900 }), [0, 7]);
});

test("two runs are compared by times, hops and the settings that differ", () => {
  const run: ShownPastRun = {
    name: "run 1",
    number: 1,
    date: "",
    transfer: "",
    outcome: "Verified bit for bit",
    good: true,
    bytes: 1,
    runs: 1,
    emulated: false,
    planned: 1,
    tried: null,
    measured: 2,
    low: 2,
    high: 2,
    note: "",
    timeline: "kept",
    facts: [
      { name: "planner", text: "full", bytes: null },
      { name: "chunk", text: "", bytes: 1024 },
    ],
    hops: [{ title: "0 file read", planned: 1, measured: 1e9, low: 1, high: 1 }],
  };
  const other = {
    ...run,
    name: "run 2",
    number: 2,
    measured: 1,
    facts: [{ name: "planner", text: "simple", bytes: null }, ...run.facts.slice(1)],
  };
  const rows = comparedRows(run, other);
  assert.deepEqual(
    rows.map((row) => row.title),
    ["planned time", "measured time", "hop 0 file read", "planner"],
  );
  assert.equal(rows[1]?.ratio, "0.50 ×");
  assert.deepEqual([rows[3]?.one, rows[3]?.other], ["full", "simple"]);
});

test("the transfer that is edited stands at its place", () => {
  const { settings } = aSnapshot();
  const beside = [
    { ...settings, key: 7 },
    { ...settings, key: 8 },
  ];
  assert.deepEqual(
    everyTransfer({ ...settings, key: 1, place: 1, beside }).map((each) => each.key),
    [7, 1, 8],
  );
  assert.deepEqual(
    everyTransfer({ ...settings, key: 1, place: 9, beside }).map((each) => each.key),
    [7, 8, 1],
  );
});

test("numbers and fields of a part are sent as the whole part", async () => {
  const { model, root } = show();
  await drawn();
  find(root, "title").click();
  await drawn();
  enter(find<HTMLInputElement>(root, "part-first-x"), "3");
  const box = find<HTMLInputElement>(root, `part-field-${aSnapshot().settings.fields[0]?.name ?? ""}`);
  box.click();
  await drawn();
  const sent = model.sent.filter((each) => each.kind === "part");
  const [row] = aSnapshot().settings.dimensions;
  assert.deepEqual(sent[0]?.part, { ranges: [{ row: row?.key, first: "3", extent: "", to: "" }], leftOut: [] });
  assert.deepEqual((sent[1]?.part as ShownPart).leftOut, [aSnapshot().settings.fields[0]?.key]);
  assert.equal((sent[1]?.part as ShownPart).ranges.length, 1, "what was typed just before is in it");
});

test("a note is sent when it is done, and taken back by Escape", async () => {
  const { model, root } = show(aSnapshot((state) => void (state.panes.run.now.number = 1)));
  await drawn();
  find(root, "tab-run").click();
  await drawn();
  const asked = model.sent.find((each) => each.kind === "runs");
  assert.ok(asked !== undefined, "the list is asked for once it is shown");
  const run: ShownPastRun = {
    name: "run 1",
    number: 1,
    date: "2026-01-01T00:00:00+00:00",
    transfer: "a → b",
    outcome: "Verified bit for bit",
    good: true,
    bytes: 1024,
    runs: 1,
    emulated: false,
    planned: 1,
    tried: null,
    measured: 2,
    low: 2,
    high: 2,
    note: "",
    timeline: "kept",
    facts: [],
    hops: [],
  };
  model.say({ kind: "runs", number: asked.number, runs: [run], error: "" });
  await drawn();
  const note = find<HTMLInputElement>(root, "note-run 1");
  enter(note, "slow");
  await drawn();
  press(note, "Escape");
  await drawn();
  assert.equal(note.value, "");
  enter(note, "after lunch");
  await drawn();
  press(note, "Enter");
  const sent = model.sent.find((each) => each.kind === "note");
  assert.deepEqual([sent?.run, sent?.note], ["run 1", "after lunch"]);
});
