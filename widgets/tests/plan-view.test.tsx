// Why a plan is what it is, what is tried on it, and the plan by hand: what is drawn, and what is sent when.
import assert from "node:assert/strict";
import { test } from "node:test";
import { byName } from "#model/by-name.ts";
import type { ShownByHand, ShownCandidate, ShownConstraint, ShownWhatIf, Snapshot, WhatIfPart, WhyPart } from "#model/types.ts";
import { hopsOf, type PlacedHop } from "#model/words.ts";
import { timeWords } from "#views/plan/by-hand.tsx";
import { apartWords, differenceWords, provedWords, turnWords } from "#views/plan/candidates.tsx";
import { logAxis, powers } from "#views/plan/chart.ts";
import { missing, priceWords, rowsInSight } from "#views/plan/constraints.tsx";
import { drawnCurves, rateAt } from "#views/plan/curves.tsx";
import { blockStops, blocksOf, fromPlan, withBlocks, withHop, withoutHop } from "#views/plan/hand.ts";
import { smallRegion } from "#views/plan/region.tsx";
import { answerWords } from "#views/plan/what-if.tsx";
import { aSnapshot, type FakeModel } from "./model.ts";
import { closeAfterEach, drawn, find, press, show } from "./page.ts";

closeAfterEach();

const HAND: ShownByHand = {
  path: ["a->b", "b->c"],
  layouts: ["<F, x_in=4, y, x_out>"],
  chunk: "",
  target: null,
  paths: [],
  name: "",
};

function row(more: Partial<ShownConstraint>): ShownConstraint {
  return {
    kind: "throughput",
    hop: 0,
    name: "a->b",
    words: "network",
    left: 3e9,
    bound: 6e9,
    holds: true,
    held: false,
    binding: false,
    price: 0,
    priceDown: 0,
    ...more,
  };
}

function candidate(more: Partial<ShownCandidate>): ShownCandidate {
  return {
    chosen: false,
    isTie: false,
    channels: ["a->b", "b->c"],
    memories: ["a", "b", "c"],
    hops: ["network", "memory copy"],
    converting: 1,
    seconds: 1,
    bound: 0.5,
    throughput: 1e9,
    limit: "hop 0, network: runs of 4 KiB at 3 GB/s",
    layouts: ["<F, x_in=4, y, x_out>"],
    ...more,
  };
}

function why(more: Partial<WhyPart> = {}): WhyPart {
  return {
    isOfPlan: true,
    byHand: false,
    target: 3e9,
    optimum: 3e9,
    seconds: 1,
    referenceSeconds: null,
    constraints: [row({ binding: true, left: 3e9, bound: 3e9, price: 1 }), row({ hop: 1, name: "b->c", words: "memory copy" })],
    candidates: [
      candidate({ chosen: true }),
      candidate({ isTie: true, channels: ["a->d", "d->c"] }),
      candidate({ channels: ["e"], seconds: 1.1 }),
    ],
    moreCandidates: 2,
    beaten: 7,
    gap: 0,
    proved: true,
    verdict: ["Hop 0 works at its peak."],
    ranking: "3 paths were worked out.",
    turns: [{ parameter: "bandwidth", name: "a->b", words: "network", now: 3e9, value: 4e9, rival: 2, winner: ["e"] }],
    turnsDone: true,
    turnsCut: false,
    region: null,
    held: [{ name: "node0.cpu", capacity: 0.4, whole: 1 }],
    problem: "",
    channels: [
      { name: "a->b", words: "network", source: "a", destination: "b", peak: 3e9 },
      { name: "b->c", words: "memory copy", source: "b", destination: "c", peak: 7e9 },
    ],
    ...more,
  };
}

const explained = (change: (snapshot: Snapshot) => void = () => undefined): Snapshot =>
  aSnapshot((snapshot) => {
    snapshot.panes.why = why();
    change(snapshot);
  });

const last = (model: FakeModel, kind: string): Record<string, unknown> | undefined =>
  model.sent.filter((sent) => sent.kind === kind).at(-1);

function slide(input: HTMLInputElement, to: number, done: boolean): void {
  input.value = String(to);
  input.dispatchEvent(new Event("input", { bubbles: true }));
  if (done) input.dispatchEvent(new Event("change", { bubbles: true }));
}

test("a constraint says what is missing and what more of it would bring", () => {
  assert.equal(missing(row({ holds: false, left: 3e9, bound: 2e9 })), 1e9);
  assert.equal(missing(row({})), 0);
  assert.equal(priceWords(row({ price: 1, left: 3e9, bound: 3e9 })), "+1 MB/s per MB/s");
  assert.equal(priceWords(row({ kind: "slot", price: 20, left: 2 ** 20, bound: 2 ** 20 })), "+21 MB/s per MiB");
  assert.equal(priceWords(row({ price: 0 })), "");
  assert.equal(priceWords(row({ price: null })), "");
});

test("constraints with room fold away, but for the tightest slot", () => {
  const slots = [row({ kind: "slot", name: "a", left: 1, bound: 100 }), row({ kind: "slot", name: "b", left: 50, bound: 100 })];
  const free = row({ kind: "capacity", name: "a", left: 1, bound: 100 });
  const full = row({ kind: "capacity", name: "b", left: 200, bound: 100, holds: false });
  assert.deepEqual(
    rowsInSight([row({}), ...slots, free, full]).map((each) => `${each.kind} ${each.name}`),
    ["throughput a->b", "slot b", "capacity b"],
  );
});

test("ties are said to be ties", () => {
  const chosen = candidate({ chosen: true });
  assert.equal(differenceWords(chosen, chosen), "chosen");
  assert.equal(differenceWords(candidate({ isTie: true }), chosen), "a tie");
  assert.equal(differenceWords(candidate({ seconds: 1.25 }), chosen), "+25 %");
  assert.equal(differenceWords(candidate({ seconds: null, bound: 3 }), chosen), "≥ 3.0 ×");
});

test("candidates that read alike say what tells them apart", () => {
  const [one, other] = [candidate({}), candidate({ channels: ["a->d", "d->c"], memories: ["a", "d", "c"] })];
  const unlike = candidate({ converting: 0, memories: ["a", "e", "c"] });
  assert.deepEqual(
    [one, other, unlike].map((each) => apartWords(each, [one, other, unlike])),
    ["through b", "through d", ""],
  );
  const twin = candidate({ channels: ["a->b", "b->c (2)"] });
  assert.deepEqual(
    [one, twin].map((each) => apartWords(each, [one, twin])),
    ["by b->c", "by b->c (2)"],
  );
});

test("every curve that is listed looks like no other, and the fast rest is one entry", () => {
  const snapshot = aSnapshot(() => undefined);
  const [first] = hopsOf(snapshot.panes.plan!);
  const hop = (number: number, rate: number, words = `channel ${number}`): PlacedHop => ({
    ...first!,
    number,
    hop: { ...first!.hop, words, rate },
  });
  const looks = (hops: readonly PlacedHop[]): [string, number | null][] =>
    drawnCurves(hops).map((curve) => [curve.hops.map(({ number }) => number).join(), curve.look]);
  assert.deepEqual(looks([hop(0, 9, "GPU copy"), hop(1, 3), hop(2, 8, "GPU copy")]), [
    ["1", 0],
    ["0,2", 1],
  ]);
  assert.deepEqual(looks([6, 5, 4, 3, 2, 1, 7].map((rate, number) => hop(number, rate))), [
    ["5", 0],
    ["4", 1],
    ["3", 2],
    ["2", 3],
    ["1", 4],
    ["0", null],
    ["6", null],
  ]);
  assert.deepEqual(looks([6, 5, 4, 3, 2, 1].map((rate, number) => hop(number, rate))).at(-1), ["0", 5]);
});

test("nothing is called proved beside a path that is faster", () => {
  assert.equal(provedWords(why()), "Proved: no path, layout or block size is faster.");
  assert.equal(provedWords(why({ proved: false, gap: 0.01 })), "Not proved: at most 1 % above the optimum.");
  assert.equal(provedWords(why({ candidates: [candidate({ chosen: true }), candidate({ seconds: 0.8 })] })), "");
  assert.notEqual(provedWords(why({ candidates: [candidate({ chosen: true }), candidate({ seconds: null, bound: 0.8 })] })), "");
});

test("a turn is told in words and as a value to try", () => {
  assert.equal(turnWords(why().turns[0]!), "network (a->b) at 4 GB/s or more (now 3 GB/s): path 3 wins");
});

test("a path by hand grows and shrinks with a layout for each buffer", () => {
  const more = withHop(HAND, "c->d", "<F, x, y>");
  assert.deepEqual([more.path.length, more.layouts.length], [3, 2]);
  assert.deepEqual(withoutHop(more), HAND);
  const first = withHop({ ...HAND, path: [], layouts: [] }, "a->b", "<F, x, y>");
  assert.deepEqual([first.path, first.layouts], [["a->b"], []]);
  assert.deepEqual(withHop(first, "b->c", "<F, x, y>").layouts, ["<F, x, y>"]);
});

test("a block moves in every buffer that has its digit", () => {
  const texts = ["<F, x_in=4, y_in=2, x_out, y_out>", "<F, y_in=2, x_in=4, y_out, x_out>", "<F, x, y>"];
  assert.deepEqual(withBlocks(texts, new Map([["x_in", 8]])), [
    "<F, x_in=8, y_in=2, x_out, y_out>",
    "<F, y_in=2, x_in=8, y_out, x_out>",
    "<F, x, y>",
  ]);
  assert.deepEqual(
    blocksOf(
      texts,
      new Map([
        ["x", 100],
        ["y", 10],
      ]),
    ).map(({ name, block, most }) => [name, block, most]),
    [
      ["x_in", 4, 100],
      ["y_in", 2, 10],
    ],
  );
  assert.deepEqual(blockStops(10, 5), [1, 2, 4, 5, 6, 8, 10]);
});

test("axes and curves are logarithmic", () => {
  const axis = logAxis(1, 100, 0, 200);
  assert.equal(axis.place(10), 100);
  assert.ok(Math.abs(axis.value(100) - 10) < 1e-9);
  assert.deepEqual(powers(axis, 10, 3).map(Math.round), [1, 10, 100]);
  const curve = [
    { run: 1, rate: 1 },
    { run: 100, rate: 100 },
  ];
  assert.ok(Math.abs(rateAt(curve, 10) - 10) < 1e-9);
  assert.equal(rateAt(curve, 1000), 100);
  assert.equal(
    smallRegion([
      { x: 0, y: 0 },
      { x: 100, y: 3 },
    ]),
    null,
  );
  assert.deepEqual(
    smallRegion([
      { x: 0, y: 0 },
      { x: 2, y: 4 },
    ]),
    { x: 1, y: 2 },
  );
});

test("the time by hand is compared with that of the planner", () => {
  assert.equal(
    timeWords(why({ seconds: 2, referenceSeconds: 1.6 })),
    "By hand it takes 2 s, 25 % longer than the planner's 1.6 s.",
  );
  assert.equal(timeWords(why({ seconds: 4, referenceSeconds: 1 })), "By hand it takes 4 s, 4.0 times the planner's 1 s.");
  assert.equal(timeWords(why({ seconds: 1, referenceSeconds: 1 })), "By hand it takes 1 s, just as long as the planner's 1 s.");
});

test("the tab says what binds, ranks the candidates, and is watched only while it is shown", async () => {
  const { root, model } = show(explained());
  find(root, "tab-why").click();
  await drawn();
  assert.deepEqual(last(model, "watch")?.views, ["why"]);
  assert.equal(find(root, "why-verdict").textContent?.trim(), "Hop 0 works at its peak.");
  assert.match(find(root, "constraints").textContent ?? "", /binds \+1 MB\/s per MB\/s/);
  assert.match(find(root, "candidate-1").textContent ?? "", /a tie/);
  assert.match(find(root, "candidates").textContent ?? "", /Proved/);
  find(root, "tab-run").click();
  await drawn();
  assert.deepEqual(last(model, "watch")?.views, []);
});

test("a candidate is pointed at in the journey, and taken by hand", async () => {
  const { root, model } = show(explained(), "why");
  await drawn();
  find(root, "candidate-2").click();
  await drawn();
  assert.match(find(root, "path-pointed-at").textContent ?? "", /Pointed at: e/);
  find(root, "take-path").click();
  await drawn();
  assert.deepEqual(last(model, "by-hand")?.byHand, {
    path: ["e"],
    layouts: ["<F, x_in=4, y, x_out>"],
    chunk: "",
    target: null,
    paths: [],
    name: "",
  });
  assert.equal(root.querySelector("[data-testid=path-pointed-at]"), null);
});

test("a slider asks while it moves, one question at a time, and the latest value wins", async () => {
  const { root, model } = show(explained(), "why");
  await drawn();
  const slider = find<HTMLInputElement>(root, "what-if-slot-limit".replace("slot-limit", "size-x"));
  const asked = (): unknown[] =>
    model.sent
      .filter((sent) => sent.kind === "what-if")
      .map((sent) => [byName((sent.whatIf as ShownWhatIf).sizes).get("x"), sent.moving]);
  slide(slider, 100, false);
  await drawn();
  slide(slider, 110, false);
  await drawn();
  slide(slider, 120, false);
  await drawn();
  assert.equal(asked().length, 1, "the others wait for the answer");
  model.publish(() => undefined);
  await drawn();
  await drawn();
  assert.equal(asked().length, 2, "the latest one follows");
  slide(slider, 130, true);
  await drawn();
  const [value, moving] = asked().at(-1) as [number, boolean];
  assert.equal(moving, false, "what is released does not wait");
  assert.ok(value > 0);
});

test("a held resource is no rate", async () => {
  const held = row({ kind: "resource", hop: null, name: "node0.cpu", words: "node0.cpu", left: 0.9, bound: 1, held: true });
  const { root } = show(
    explained((snapshot) => {
      snapshot.panes.why = why({ constraints: [held] });
    }),
    "why",
  );
  await drawn();
  const said = find(root, "constraints").textContent ?? "";
  assert.match(said, /90 %\s*100 %\s*10 %/);
  assert.doesNotMatch(said, /0\.9 B\/s/);
  assert.equal(priceWords({ ...held, price: 5 }), "");
});

test("a held resource has a slider of what is busy elsewhere", async () => {
  const { root, model } = show(explained(), "why");
  await drawn();
  const slider = find<HTMLInputElement>(root, "what-if-taken-node0.cpu");
  assert.equal(slider.getAttribute("aria-valuetext"), "60 %");
  slide(slider, 0, true);
  await drawn();
  assert.deepEqual(last(model, "what-if")?.whatIf, {
    bandwidths: [],
    slotLimit: null,
    sizes: [],
    reuse: null,
    capacities: [["node0.cpu", 1]],
  });
});

test("what is tried stands beside the plan, is kept and dropped", async () => {
  const answer: WhatIfPart = {
    whatIf: { bandwidths: [["a->b", 4e9]], slotLimit: null, sizes: [], reuse: null, capacities: [] },
    isAnswer: true,
    isFinal: true,
    seconds: 0.5,
    again: 0.5,
    reuse: 1,
    throughput: 4e9,
    samePath: true,
    problem: "",
    hops: [
      { channel: "a->b", words: "network", source: "a", destination: "b", rate: 4e9, slowest: false, converts: false },
      { channel: "b->c", words: "memory copy", source: "b", destination: "c", rate: 3.5e9, slowest: true, converts: true },
    ],
  };
  const { root, model } = show(explained((snapshot) => void (snapshot.panes.what_if = answer)));
  find(root, "tab-why").click();
  await drawn();
  assert.match(find(root, "what-if-answer").textContent ?? "", /Slowest then: memory copy, 3.5 GB\/s/);
  assert.match(find(root, "tried-seconds").textContent ?? "", /what if 500 ms/);
  assert.match(find(root, "journey-tried").textContent ?? "", /Slowest then: memory copy/);
  find(root, "what-if-keep").click();
  assert.ok(last(model, "keep-what-if"));
  find(root, "what-if-reset").click();
  assert.deepEqual(last(model, "what-if")?.whatIf, { bandwidths: [], slotLimit: null, sizes: [], reuse: null, capacities: [] });
  const plan = { ...aSnapshot().panes.plan!, seconds: 3, again: 1 };
  assert.match(answerWords(plan, { ...answer, problem: "No path." }), /No path/);
  assert.match(answerWords(plan, answer), /^3 s → 500 ms \(83 % less\), 4 GB\/s\. Slowest/);
  const often = { ...answer, seconds: 5, again: 0.5, reuse: 10 };
  assert.match(
    answerWords(plan, often),
    /^In the mean 1.2 s → 950 ms \(21 % less\), 4 GB\/s\. The first of 10 starts takes 5 s, every later one 500 ms\. Slowest/,
    "as many starts of both",
  );
});

test("by hand: the plan as it is, then blocks by keys in the picture of the block sizes", async () => {
  const state = explained((snapshot) => {
    snapshot.settings.byHand = {
      path: ["a->b", "b->c"],
      layouts: ["<F, x_in=64, y_in=32, x_out, y_out>"],
      chunk: "",
      target: null,
      paths: [],
      name: "",
    };
    snapshot.panes.layout.dims = [
      ["x", 1024],
      ["y", 1024],
    ];
    snapshot.panes.why = why({
      byHand: true,
      referenceSeconds: 0.5,
      constraints: [row({ holds: false, left: 3e9, bound: 2e9 })],
      candidates: [],
      region: {
        x: "x_in",
        y: "y_in",
        throughput: 3e9,
        corners: [
          [128, 64],
          [256, 64],
          [128, 128],
        ],
        chosen: [64, 32],
        most: [1024, 1024],
      },
    });
  });
  const { root, model } = show(state, "why");
  await drawn();
  assert.match(find(root, "constraints").textContent ?? "", /1 GB\/s missing/);
  const point = root.querySelector<HTMLElement>("[data-testid=region-point]");
  assert.ok(point !== null);
  press(point, "ArrowRight");
  await drawn();
  assert.deepEqual((last(model, "by-hand")?.byHand as ShownByHand).layouts, ["<F, x_in=128, y_in=32, x_out, y_out>"]);
  slide(find<HTMLInputElement>(root, "by-hand-block-y_in"), 0, false);
  await drawn();
  assert.deepEqual(
    (last(model, "by-hand")?.byHand as ShownByHand).layouts,
    ["<F, x_in=128, y_in=1, x_out, y_out>"],
    "the slider goes on from what was done",
  );
  find(root, "back-to-planner").click();
  assert.equal(last(model, "by-hand")?.byHand, null);
});

test("the plan by hand begins with the plan as it is", () => {
  const plan = aSnapshot().panes.plan!;
  const begin = fromPlan(plan);
  assert.deepEqual(
    begin?.path,
    plan.paths[0]?.hops.map((hop) => hop.channel),
  );
  assert.equal(begin?.layouts.length, (plan.paths[0]?.stops.length ?? 0) - 2);
});
