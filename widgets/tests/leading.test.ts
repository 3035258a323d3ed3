// The sentence that leads, for every kind of plan.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Link, leadingPhrases } from "#model/leading.ts";
import type { PlanPart, ShownHop, ShownPath, Snapshot } from "#model/types.ts";
import { aSnapshot } from "./model.ts";

/** A hop of the recorded plan with other figures. */
function hopOf(index: number, change: Partial<ShownHop>): ShownHop {
  const [hop] = aSnapshot().panes.plan?.paths[0]?.hops ?? [];
  assert.ok(hop !== undefined);
  const plain = { words: "network", order: "keeps", rate: 3e9, bottleneck: false, busy: 0.5 } as const;
  return { ...hop, ...plain, index, ...change };
}

function planOf(hops: readonly Partial<ShownHop>[], change: Partial<PlanPart> = {}, chunks = 2048, words = ""): PlanPart {
  const { plan } = aSnapshot().panes;
  const [path] = plan?.paths ?? [];
  assert.ok(plan !== null && path !== undefined);
  const pace = {
    hops: hops.flatMap((hop, index) => (hop.bottleneck ? [index] : [])),
    rate: change.throughput ?? 3e9,
    words,
    takesTurns: true,
  };
  const one: ShownPath = { ...path, chunks, pace, hops: hops.map((hop, index) => hopOf(index, hop)) };
  return { ...plan, bytes: 2 ** 30, seconds: 0.3579, again: 0.3579, reuse: 1, throughput: 3e9, paths: [one], ...change };
}

const TURNED = { sourceLayout: "<F, x_in=16, y, x_out>", destinationLayout: "<F, y, x>" };
const TURNS: Partial<ShownHop> = { words: "memory copy", order: "converts", rate: 7.7e9, ...TURNED };
const SLOW: Partial<ShownHop> = { bottleneck: true };
const notRun = (snapshot: Snapshot): void => void (snapshot.panes.run.report = null);

function sentence(
  plan: PlanPart,
  change = notRun,
  settings: Parameters<typeof leadingPhrases>[2] = { beside: [], name: "A", byHand: null },
): string {
  const phrases = leadingPhrases(plan, aSnapshot(change), settings);
  return phrases
    .map((phrase) => phrase.map((piece) => (typeof piece === "string" ? piece : `*${piece.text}*`)).join(""))
    .join(" · ");
}

const linkOf = (plan: PlanPart, name: string): Link | undefined =>
  leadingPhrases(plan, aSnapshot(notRun), { beside: [], name: "A", byHand: null })
    .flat()
    .find((piece): piece is Link => typeof piece !== "string" && piece.name === name);

test("one path: the time, the hop that sets the pace, and the one that turns", () => {
  const plan = planOf([{}, TURNS, SLOW]);
  assert.equal(sentence(plan), "1 GiB in *358 ms*: the *network* sets the pace at 3 GB/s · turned in *main memory*");
  assert.deepEqual(linkOf(plan, "leading-pace")?.aim, { hop: 2 });
  assert.deepEqual(linkOf(plan, "leading-turn")?.aim, { hop: 1 });
  assert.deepEqual(linkOf(plan, "figure-seconds")?.aim, { tab: "timeline" });
});

test("what turns, and where, and what only changes fields or blocks", () => {
  const at = (change: Partial<ShownHop>): string =>
    sentence(planOf([SLOW, { ...TURNS, ...change }]))
      .split(" · ")
      .at(-1) ?? "";
  assert.equal(at({ words: "GPU copy" }), "turned on the *GPU*");
  assert.equal(at({ words: "network" }), "turned on the *network*");
  assert.equal(at({ words: "GPU read" }), "turned by the *GPU read*");
  assert.equal(at({ sourceLayout: "<F, x, y>", destinationLayout: "<x, y, F>" }), "converted in *main memory*");
  assert.equal(at({ order: "keeps" }), "nothing turns");
  assert.equal(at({ order: "forms blocks" }), "nothing turns");
  assert.equal(at({ order: "reorders blocks" }), "blocks reordered in *main memory*");
  const two = planOf([SLOW, TURNS, { ...TURNS, words: "GPU write" }]);
  assert.match(sentence(two), /turned in \*main memory\* and by the \*GPU write\*$/);
});

test("hops that are alike, that take turns, and that do not set the pace", () => {
  assert.match(sentence(planOf([SLOW, SLOW, SLOW])), /: the \*network\* sets the pace at 3 GB\/s/);
  assert.match(
    sentence(planOf([SLOW, { ...SLOW, words: "file write" }])),
    /: the \*network\* and the \*file write\* set the pace at 3 GB\/s/,
  );
  const shared = [
    { ...SLOW, words: "file read" },
    { ...SLOW, ...TURNS },
  ];
  const turns = planOf(shared, { throughput: 2.04e9 }, 2048, "Hop 0 and hop 1 take turns");
  assert.match(sentence(turns), /: the \*file read\* and the \*memory copy\* take turns, together 2.04 GB\/s · /);
  assert.match(sentence(planOf([SLOW], {}, 1)), /: the \*network\* is slowest, 3 GB\/s/, "one chunk");
  assert.match(sentence(planOf([SLOW], { seconds: 2 })), /: the \*network\* is slowest, 3 GB\/s/, "latencies");
});

test("several paths carry together", () => {
  const [path] = planOf([{}, SLOW]).paths;
  assert.ok(path !== undefined);
  const plan = planOf([], { paths: [path, path], throughput: 6e9 });
  assert.equal(sentence(plan), "1 GiB in *358 ms*: *2 paths* carry 6 GB/s together · nothing turns");
  assert.deepEqual(linkOf(plan, "leading-pace")?.aim, { hop: 1 });
});

test("by hand, in several starts, beside other transfers, and after a run", () => {
  assert.match(sentence(planOf([SLOW], { planner: "by hand" })), /^1 GiB in \*358 ms\* by hand: the/);
  const paper = { path: [], layouts: [], chunk: "", target: null, paths: [], name: "The paper's plan" };
  assert.match(
    sentence(planOf([SLOW], { planner: "by hand" }), notRun, { beside: [], name: "A", byHand: paper }),
    /^The paper's plan: 1 GiB in \*358 ms\* · the/,
  );
  assert.match(
    sentence(planOf([SLOW], { reuse: 10, again: 0.34 })),
    /^1 GiB in \*358 ms\*, then \*340 ms\* each time · the \*network\* sets/,
  );
  const beside = { beside: [aSnapshot().settings], name: "B", byHand: null };
  assert.match(sentence(planOf([SLOW]), notRun, beside), /^B alone: 1 GiB in \*358 ms\* · the/);
  const ran = sentence(planOf([SLOW]), (snapshot) => {
    const { report, now } = snapshot.panes.run;
    assert.ok(report !== null);
    Object.assign(report, { seconds: 0.412, triedSeconds: 0.4, spread: null });
    Object.assign(now, { phase: "done", isOfPlan: true });
    snapshot.panes.run.emulated = [];
  });
  assert.match(ran, /^1 GiB: planned \*358 ms\*, 400 ms after the trial, measured \*412 ms\* · the \*network\*/);
});
