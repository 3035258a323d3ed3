// Find a layout: the question as it is edited, what is gained against what, and the pane with its buttons.
import assert from "node:assert/strict";
import { test } from "node:test";
import { gainWords, withKind, withMoreUse } from "#model/layout-question.ts";
import type { FindLayoutPart, ShownLayoutQuestion, ShownRankedLayout } from "#model/types.ts";
import { frontOf } from "#views/find-layout/trade-off.tsx";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, find, show } from "./page.ts";

closeAfterEach();

const ranked = (layout: string, ...times: number[]): ShownRankedLayout => ({
  layout,
  weighted: times.reduce((sum, each) => sum + each, 0),
  times,
  padding: 0,
  runs: [{ dim: "x", bytes: 64 }],
  inFront: true,
  measured: null,
  alike: 0,
});

const QUESTION: ShownLayoutQuestion = {
  side: "destination",
  weight: "1",
  uses: [{ kind: "to", memory: "node0.sys", what: "<F, y, x>", weight: "5" }],
  runDim: "",
  leastRun: "",
  mostPadding: "",
  fieldsTogether: false,
  keepOrder: false,
};

function withPart(change: Partial<FindLayoutPart>): ReturnType<typeof aSnapshot> {
  const state = aSnapshot();
  state.settings.layoutQuestion = QUESTION;
  state.panes.find_layout = {
    question: QUESTION,
    problems: {},
    problem: "",
    candidates: [ranked("<F, y, x>", 0.2, 0.3), ranked("<F, x, y>", 0.1, 0.9)],
    others: [],
    present: ranked("<x, y, F>", 0.4, 0.8),
    considered: 12,
    plans: 9,
    stopped: false,
    isDone: true,
    emulated: [],
    reason: "",
    isMeasuring: false,
    measureProblem: "",
    ...change,
  };
  return state;
}

test("a use of another kind has what that kind needs", () => {
  const { settings } = aSnapshot();
  const along = withKind(QUESTION, 0, "along", settings).uses[0];
  assert.deepEqual([along?.memory, along?.what], ["", settings.dimensions.at(-1)?.name]);
  const back = withKind({ ...QUESTION, uses: along === undefined ? [] : [along] }, 0, "from", settings).uses[0];
  assert.deepEqual([back?.memory, back?.what], [settings.destination.memory, settings.destination.layout]);
  const more = withMoreUse(withMoreUse(QUESTION, settings), settings).uses.slice(1);
  assert.deepEqual(
    more.map((use) => use.what),
    settings.dimensions
      .map((row) => row.name)
      .reverse()
      .slice(0, 2),
  );
});

test("a gain in words", () => {
  assert.equal(gainWords(1, 1), "");
  assert.equal(gainWords(0.5, 1), "");
  assert.equal(gainWords(1, 0.97), "3.0 % less time");
  assert.equal(gainWords(2.4, 1), "2.4 times as fast");
});

test("the line has what no other layout beats in both uses", () => {
  const layouts = [ranked("a", 1, 9), ranked("b", 2, 5), ranked("c", 3, 6), ranked("d", 4, 1), ranked("e", 1, 10)];
  assert.deepEqual(
    frontOf(layouts, 0, 1).map((each) => each.layout),
    ["a", "b", "d"],
  );
  assert.deepEqual(
    frontOf(layouts, 1, 0).map((each) => each.layout),
    ["d", "b", "a"],
  );
});

test("the best layout is told and taken, the present one is not offered", async () => {
  const { model, root } = show(withPart({}), "find-layout");
  await drawn();
  assert.match(find(root, "find-verdict").textContent ?? "", /⟨F, y, x⟩: 500 ms for all uses, 2.4 times as fast as the present/);
  find(root, "find-take-1").click();
  const { client: _, number: __, ...taken } = model.sent.at(-1) ?? {};
  assert.deepEqual(taken, { kind: "take-layout", layout: "<F, x, y>", question: QUESTION });
  find(root, "find-measure").click();
  assert.equal(model.sent.at(-1)?.kind, "measure-layouts");
});

test("what is wrong is told at its control, and nothing is ranked", async () => {
  const problem = { message: "'q' is not a dimension", text: "<F, q>", position: 4 };
  const { root } = show(withPart({ problems: { "use-1-what": problem } }), "find-layout");
  await drawn();
  assert.match(find(root, "error-find-use-1-what").textContent ?? "", /'q' is not a dimension/);
  assert.equal(find(root, "find-use-1-what").getAttribute("aria-invalid"), "true");
  assert.equal(root.querySelector("[data-testid=find-take-0]"), null);
});
