// The map of which path wins: asked for while it is open, told point by point by keys, with colours that paths keep.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShownMap, WinnerMapPart } from "#model/types.ts";
import { cellEdges, coloursOf, pointWords } from "#views/plan/winner-map.tsx";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, find, press, show } from "./page.ts";

closeAfterEach();

const way = (letter: string): ShownMap["ways"][number] => ({
  key: letter,
  letter,
  words: `way ${letter}`,
  name: `path ${letter}`,
});

function map(more: Partial<ShownMap> = {}): ShownMap {
  return {
    title: "Fastest path",
    meaning: "A point is a vector.",
    columns: [512, 1024, 2048],
    rows: [1, 64],
    ways: [way("A"), way("B")],
    winners: [
      [0, 0, null],
      [0, 1, 1],
    ],
    seconds: [
      [1e-6, 2e-6, null],
      [3e-6, 4e-6, 5e-6],
    ],
    now: { run: 1024, runs: 64, seconds: 4e-6, way: 1 },
    regions: [
      { run: 512, runs: 1, seconds: 1e-6, way: 0 },
      { run: 1024, runs: 64, seconds: 4e-6, way: 1 },
    ],
    turns: [{ axis: "runs", fixed: 1024, value: 13, text: "13", before: 0, after: 1 }],
    said: ["Runs of 1 KiB: A wins for few of them, B from 13."],
    ...more,
  };
}

const part = (more: Partial<WinnerMapPart> = {}): WinnerMapPart => ({
  map: map(),
  isOfPlan: true,
  isDone: true,
  problem: "",
  colours: [
    { light: "#111111", dark: "#eeeeee" },
    { light: "#222222", dark: "#dddddd" },
  ],
  ...more,
});

test("the map is asked for while it is open, and its points are told by keys", async () => {
  const state = aSnapshot((snapshot) => {
    snapshot.panes.winner_map = part();
  });
  const { root, model } = show(state, "why");
  await drawn();
  const watched = (): unknown => model.sent.filter((each) => each.kind === "watch").at(-1)?.views;
  assert.doesNotMatch(JSON.stringify(watched()), /map/);
  find(root, "winner-map-open").click();
  await drawn();
  assert.match(JSON.stringify(watched()), /"map"/);
  assert.match(find(root, "winner-map-said").textContent ?? "", /B from 13/);
  assert.equal(root.querySelectorAll(".iv-map-cell").length, 5);
  assert.match(find(root, "winner-map-turn").textContent ?? "", /B from 13/);
  const chart = find(root, "winner-map-chart");
  const told = (): string => find(root, "winner-map-told").textContent ?? "";
  press(chart, "ArrowRight");
  await drawn();
  assert.match(told(), /^64 runs of 1 KiB: B, way B, T = 4 µs/);
  press(chart, "ArrowDown");
  press(chart, "ArrowRight");
  await drawn();
  assert.match(told(), /^1 run of 2 KiB: no plan/);
  for (let step = 0; step < 4; step += 1) press(chart, "ArrowLeft");
  await drawn();
  assert.match(told(), /^1 run of 512 B: A, way A, T = 1 µs/);
  find(root, "winner-map-open").click();
  await drawn();
  assert.doesNotMatch(JSON.stringify(watched()), /map/);
});

test("a map that is not there yet, or cannot be, says so", async () => {
  for (const [given, words] of [
    [null, /Working out/],
    [part({ map: null, problem: "Nothing leads there." }), /Nothing leads there/],
    [part({ isDone: false }), /More points/],
  ] as const) {
    const { root, close } = show(
      aSnapshot((snapshot) => {
        snapshot.panes.winner_map = given;
      }),
      "why",
    );
    await drawn();
    find(root, "winner-map-open").click();
    await drawn();
    assert.match(find(root, "winner-map").textContent ?? "", words);
    close();
  }
});

test("a path keeps its colour on later maps", () => {
  const given = new Map<string, number>();
  assert.deepEqual(coloursOf(map(), given), [0, 1]);
  assert.deepEqual(coloursOf({ ways: [way("C"), way("B"), way("A")] }, given), [2, 1, 0]);
});

test("cells reach half-way to their neighbours in the logarithm", () => {
  assert.deepEqual(cellEdges([4, 16, 64]), [2, 8, 32, 128]);
  assert.equal(cellEdges([4]).length, 2);
  assert.match(pointWords(map(), 0, 1), /^64 runs of 512 B: A, way A, T = 3 µs\.$/);
});
