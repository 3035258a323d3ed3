// A pinned plan: it stays beside later plans, with the differences.
import assert from "node:assert/strict";
import { test } from "node:test";
import { comparedPlans, differenceWords, longerWords } from "#model/pinned-plan.ts";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, find, found, show } from "./page.ts";

closeAfterEach();

test("a difference in words", () => {
  assert.equal(differenceWords(691, 358), "93 % more");
  assert.equal(differenceWords(300, 400), "25 % less");
  assert.equal(differenceWords(4, 1), "4.0 times as much");
  assert.equal(differenceWords(1.00001, 1), "the same");
  assert.deepEqual([differenceWords(5, 0), differenceWords(0, 5), differenceWords(0, 0)], ["new", "none any more", "the same"]);
});

test("figures of two plans side by side", () => {
  const { plan } = aSnapshot().panes;
  assert.ok(plan !== null);
  const [path] = plan.paths;
  assert.ok(path !== undefined);
  const halved = { ...path, hops: path.hops.map((hop) => ({ ...hop, run: hop.run / 2 })) };
  const rows = comparedPlans({ ...plan, seconds: 2 * plan.seconds, paths: [halved] }, plan);
  const difference = (name: string): string | undefined => rows.find((row) => row.name === name)?.difference;
  assert.equal(difference("time"), "2.0 times as much");
  assert.equal(difference("runs in all hops"), "2.0 times as much");
  assert.equal(difference("shortest run"), "50 % less");
  assert.equal(difference("hops"), "the same");
  assert.equal(longerWords(1086, 1), "1,100 times as long");
  assert.equal(longerWords(46.2, 1), "46 times as long");
  assert.equal(longerWords(1, 1), "just as long");
  const shorter = { ...path, hops: path.hops.slice(1) };
  const hops = comparedPlans({ ...plan, paths: [shorter] }, plan).find(({ name }) => name === "hops");
  assert.equal(hops?.difference, "1 fewer");
});

test("a pinned plan stands under every later plan until it is let go", async () => {
  const { model, root } = show();
  find(root, "compare").click();
  await drawn();
  assert.equal(root.querySelector("[data-testid=pinned-plan]"), null, "it is the plan that is shown");
  for (const factor of [2, 3]) {
    model.publish((state) => {
      if (state.panes.plan !== null) state.panes.plan.seconds *= factor;
    });
    await drawn();
    assert.match(
      (await found(root, "pinned-difference")).textContent ?? "",
      factor === 2 ? /2.0 times as long/ : /6.0 times as long/,
    );
  }
  assert.equal(root.querySelectorAll("[data-testid=pinned-plan] .iv-strip").length, 1);
  find(root, "unpin-plan").click();
  await drawn();
  assert.equal(root.querySelector("[data-testid=pinned-plan]"), null);
});
