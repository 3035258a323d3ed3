// Where data turn: words and pictures of memory in the journey, stops on the cards, measured rates, and the conversion at another hop.
import assert from "node:assert/strict";
import { test } from "node:test";
import { shownBy } from "#model/shown-stops.ts";
import type { Named, PlanPart, ShownHop, ShownPath } from "#model/types.ts";
import { convertingHop } from "#views/plan/hand.ts";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, find, press, show } from "./page.ts";

closeAfterEach();

const BLOCK: Named<number> = [
  ["x", 256],
  ["y", 128],
];
/** The layouts of section 4.3, stop by stop. */
const [SOURCE, BEFORE, AFTER, DESTINATION] = [
  "<F, x, y>",
  "<F, x_in=256, y_in=128, y_out, x_out>",
  "<F, y_in=128, x_in=256, y_out, x_out>",
  "<F, y, x>",
];

/** The path of section 4.3, as far as layouts go, with the conversion at a hop. */
function pathOf(converting: number): ShownPath {
  const [recorded] = aSnapshot().panes.plan?.paths ?? [];
  assert.ok(recorded !== undefined);
  const layouts = [SOURCE, ...Array.from({ length: 5 }, (_, place) => (place < converting ? BEFORE : AFTER)), DESTINATION];
  return {
    ...recorded,
    block: BLOCK,
    chunkDigits: [
      { dim: "y", extent: 64, step: 128 },
      { dim: "x", extent: 32, step: 256 },
    ],
    stops: layouts.map((text) => ({ ...recorded.stops[0], layout: text }) as ShownPath["stops"][number]),
    hops: Array.from({ length: 6 }, (_, index) => {
      const order = index === converting ? "converts" : index === 0 ? "forms blocks" : index === 5 ? "dissolves blocks" : "keeps";
      return { ...recorded.hops[0], index, channel: `channel ${index}`, order, converts: index === converting } as ShownHop;
    }),
  };
}

const planOf = (path: ShownPath): PlanPart => ({ ...(aSnapshot().panes.plan as PlanPart), paths: [path] });

test("every hop of the journey says what it does to the order, and every stop has a picture of its memory", async () => {
  const snapshot = aSnapshot();
  const { root } = show(snapshot);
  await drawn();
  const path = snapshot.panes.plan?.paths[0] as ShownPath;
  for (const hop of path.hops) assert.ok(find(root, `hop-${hop.index}`).textContent?.includes(hop.order), hop.order);
  path.stops.forEach((_, number) => assert.ok(find(root, `stop-${number}`).querySelector("[data-testid=memory-picture]")));
});

test("a selected hop shows its two stops, and Escape shows the ends again", async () => {
  const { root } = show(aSnapshot());
  await drawn();
  const shows = (): (string | undefined)[] => ["source", "destination"].map((side) => find(root, `end-${side}`).dataset.shows);
  assert.deepEqual(shows(), ["end", "end"]);
  find(root, "hop-0").click();
  await drawn();
  assert.deepEqual(shows(), ["end", "1"], "the first stop is the source: its layout can be edited");
  assert.ok(root.querySelector("[data-testid=end-destination] [data-testid=linearization-memory]"));
  assert.equal(root.querySelector("[data-testid=destination-layout]"), null);
  press(find(root, "hop-0"), "Escape");
  await drawn();
  assert.deepEqual(shows(), ["end", "end"]);
  find(root, "hop-1").click();
  await drawn();
  assert.deepEqual(shows(), ["1", "end"]);
  find(root, "back-source").click();
  await drawn();
  assert.deepEqual(shows(), ["end", "end"]);
  assert.equal(find(root, "hop-1").getAttribute("aria-pressed"), "false");
});

test("both cards say one and the same of the runs of a hop", async () => {
  const { root } = show(aSnapshot());
  await drawn();
  const said = (): string[] =>
    ["source", "destination"].map((side) => {
      const notes = find(root, `end-${side}`).querySelector(".iv-edit-notes li");
      return notes?.textContent ?? "";
    });
  const hops = root.querySelectorAll("[data-testid=journey] [data-testid^=hop-][data-hop]").length;
  assert.ok(hops >= 2);
  for (let hop = 0; hop < hops; hop += 1) {
    find(root, `hop-${hop}`).click();
    await drawn();
    const [one, other] = said();
    assert.match(one ?? "", /runs of /);
    assert.equal(one, other, `hop ${hop}`);
  }
});

test("any two stops can be chosen for the cards, until something else is selected", async () => {
  const { root } = show(aSnapshot());
  await drawn();
  find(root, "stop-1").click();
  await drawn();
  const picker = find<HTMLSelectElement>(root, "shows-destination");
  picker.value = "1";
  picker.dispatchEvent(new Event("change", { bubbles: true }));
  await drawn();
  const shows = (): (string | undefined)[] => ["source", "destination"].map((side) => find(root, `end-${side}`).dataset.shows);
  assert.deepEqual(shows(), ["1", "1"]);
  find(root, "hop-1").click();
  await drawn();
  assert.deepEqual(shows(), ["1", "end"]);
  find(root, "back-source").click();
  await drawn();
  find(root, "stop-1").click();
  await drawn();
  assert.deepEqual(shows(), ["1", "end"], "what was chosen before is forgotten");
});

test("a selection says which stops it shows", () => {
  const plan = planOf(pathOf(2));
  assert.deepEqual(shownBy(plan, { hop: 2, stop: null }), { source: 2, destination: 3 });
  assert.deepEqual(shownBy(plan, { hop: 0, stop: null }), { source: null, destination: 1 });
  assert.deepEqual(shownBy(plan, { hop: 5, stop: null }), { source: 5, destination: null });
  assert.deepEqual(shownBy(plan, { hop: null, stop: 3 }), { source: 3, destination: null });
  assert.deepEqual(shownBy(plan, { hop: null, stop: 4 }), { source: null, destination: 4 });
  assert.deepEqual(shownBy(plan, { hop: 17, stop: null }), { source: null, destination: null });
});

test("the hop that converts is known by its word, or by its runs", () => {
  assert.deepEqual(
    [0, 2, 5].map((hop) => convertingHop(pathOf(hop))),
    [0, 2, 5],
  );
  const blocks = pathOf(2);
  blocks.hops = blocks.hops.map((hop) => ({ ...hop, order: "keeps", converts: hop.index === 4 }));
  assert.equal(convertingHop(blocks), 4);
});

test("converting at another hop is a plan by hand, which stands above the planner's", async () => {
  const { model, root } = show(aSnapshot());
  await drawn();
  find(root, "hop-0").click();
  await drawn();
  find(root, "convert-here").click();
  const sent = model.sent.find((each) => each.kind === "convert-at");
  assert.equal(sent?.hop, 0);
  model.publish((next) => {
    const { plan } = next.panes;
    assert.ok(plan !== null);
    next.settings.byHand = { path: ["a", "b"], layouts: ["<x, y, F>"], chunk: "", target: null, paths: [], name: "" };
    next.panes.planned = { ...plan };
    Object.assign(plan, { planner: "by hand", seconds: 1.5 * plan.seconds });
  });
  await drawn();
  assert.match(find(root, "journey-planned").textContent ?? "", /A faster one, by the planner/);
  assert.match(find(root, "by-hand-difference").textContent ?? "", /^By hand: .*, 50 % more/);
  assert.equal(find(root, "journey").querySelectorAll(".iv-strip").length, 2);
});

test("a run sets its measured rates and its time beside the planned ones", async () => {
  const snapshot = aSnapshot();
  const { root } = show(snapshot);
  await drawn();
  snapshot.panes.plan?.paths[0]?.hops.forEach((_, number) => assert.notEqual(find(root, `measured-${number}`).textContent, ""));
  assert.match(find(root, "leading").textContent ?? "", /: planned .* after the trial, measured /);
  find(root, "figure-measured").click();
  await drawn();
  assert.equal(find(root, "tab-run").getAttribute("aria-selected"), "true", "it leads to the report");
  assert.match(find(root, "journey-measured").textContent ?? "", /measured in run \d+$/);
});

test("an emulated run says so and shows no ratio", async () => {
  const report = async (emulated: string[]): Promise<{ heads: string; root: HTMLElement }> => {
    const { root } = show(aSnapshot((snapshot) => void (snapshot.panes.run.emulated = emulated)));
    await drawn();
    find(root, "tab-run").click();
    await drawn();
    return { heads: find(root, "report").textContent ?? "", root };
  };
  assert.match((await report([])).heads, /÷/);
  const { heads, root } = await report(["node0.fbm0"]);
  assert.doesNotMatch(heads, /÷/);
  assert.match(heads, /no evidence about the plan/);
  assert.doesNotMatch(heads, /planned[^;.]*\d/);
  // What main memory measured does not stand beside what the hardware should do.
  for (const name of ["journey-measured", "figure-measured", "measured-0"])
    assert.equal(root.querySelector(`[data-testid="${name}"]`), null, name);
});
