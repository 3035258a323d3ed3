// What the explorer says: layouts, titles, durations, runs and ranks in words.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunPart } from "#model/types.ts";
import { formatInterval, inspected, intervalAbout, intervalText, shortLayout, titleOf } from "#model/words.ts";
import { doing, shareDone } from "#views/runs/progress.tsx";
import { ranksWords } from "#views/runs/ranks.tsx";
import { aSnapshot } from "./model.ts";

test("a layout in a few characters", () => {
  assert.equal(shortLayout("<F, x, y>"), "F x y");
  assert.equal(shortLayout("<F, x_in=256, y_in=128, y_out, x_out>"), "F x₂₅₆ y₁₂₈ …");
  assert.equal(shortLayout("<x_0=4, F, x_1=8, y, x_2>"), "x₄ F x₈ y …");
  assert.equal(shortLayout("nonsense <"), "nonsense <");
});

test("the transfer has a title in words", () => {
  const title = (source: string, destination: string): string => {
    const { settings } = aSnapshot();
    return titleOf({
      ...settings,
      source: { ...settings.source, layout: source },
      destination: { ...settings.destination, layout: destination },
    });
  };
  assert.equal(title("<F, x, y>", "<F, y, x>"), "Transpose 64 × 32 of 2 fields");
  assert.equal(title("<F, x, y>", "<F, x, y>"), "Copy 64 × 32 of 2 fields");
  assert.equal(title("<F, x, y>", "<x, y, F>"), "Structs to fields: 64 × 32");
  assert.equal(title("<F, x, y>", "<x_in=4, F, y, x_out>"), "Block 64 × 32 of 2 fields");
  assert.equal(title("<F, q>", "<x, y, F>"), "Move 64 × 32 of 2 fields");
});

test("a selection that the plan does not have falls back to the slowest hop", () => {
  const { plan } = aSnapshot().panes;
  assert.ok(plan !== null);
  const nothing = { entry: null, chunk: null, time: null, stop: null, hop: null };
  const found = inspected(plan, { ...nothing, hop: 99 });
  assert.ok(found !== null && "hop" in found && found.hop.hop.bottleneck);
  const stop = inspected(plan, { ...nothing, stop: 1 });
  assert.ok(stop !== null && "stop" in stop && stop.stop.place === 1);
});

test("two durations tell their unit once where they share it", () => {
  assert.equal(formatInterval(0.34, 0.38), "340 – 380 ms");
  const range = { low: 0.34, high: 0.38, origin: "from the latest 7 runs of this kind on this computer" };
  assert.equal(intervalText(0.35, range), "340 – 380 ms");
  assert.equal(intervalText(0.3, range), "likely 340 – 380 ms");
  assert.equal(intervalText(0.4, range), "likely 340 – 380 ms");
  assert.doesNotMatch(intervalAbout(0.35, range), /outside/);
  assert.match(intervalAbout(0.3, range), /latest 7 runs.* earlier runs took longer than predicted/);
  assert.match(intervalAbout(0.4, range), /earlier runs took less time than predicted/);
  assert.equal(formatInterval(0.9, 1.2), "900 ms – 1.2 s");
});

test("what a run does is said in words, with a share of the bar", () => {
  const run = {
    ...aSnapshot().panes.run.now,
    phase: "running",
    stage: "move",
    over: 0,
    bytesDone: 2 ** 20,
    bytes: 2 ** 22,
  } as const;
  assert.equal(doing(run), "1 MiB of 4 MiB moved");
  assert.equal(shareDone(run), 0.3 + 0.5 * 0.25);
  assert.equal(doing({ ...run, stage: "verify" }), "1 MiB of 4 MiB verified");
  assert.equal(doing({ ...run, stage: "trial" }), "Trying a few MiB");
  assert.equal(shareDone({ ...run, stage: "prepare" }), 0);
  assert.equal(shareDone({ ...run, over: 1, wanted: 2, stage: "prepare" }), 0.5);
  assert.equal(doing({ ...run, over: 1, wanted: 2 }), "Run 2 of 2: 1 MiB of 4 MiB moved");
  assert.equal(doing({ ...run, phase: "cancelling" }), "Cancelling");
  assert.equal(shareDone({ ...run, bytes: 0 }), 0.3);
});

test("a run in ranks starts them first, and has no trial", () => {
  const run = {
    ...aSnapshot().panes.run.now,
    phase: "running",
    ranks: 4,
    stage: "ranks",
    over: 0,
    bytesDone: 0,
    bytes: 2 ** 22,
  } as const;
  assert.equal(doing(run), "Starting 4 ranks");
  assert.equal(doing({ ...run, ranks: 1 }), "Starting 1 rank");
  assert.equal(shareDone({ ...run, stage: "prepare" }), 0);
  assert.equal(shareDone(run), 0);
  assert.equal(shareDone({ ...run, stage: "move", bytesDone: 2 ** 21 }), 0.4 + 0.45 / 2);
  assert.equal(doing({ ...run, stage: "verify", bytesDone: 2 ** 20 }), "1 MiB of 4 MiB verified");
});

test("ranks are told in words, and what a run has said is not told twice", () => {
  const run = aSnapshot().panes.run;
  const places = [
    { name: "process", ranks: 0, reason: "no", about: "" },
    { name: "ranks", ranks: 4, reason: "", about: "" },
  ] as const;
  const base: RunPart = { ...run, place: "ranks", places: [...places] };
  const ranks = { phase: "running", count: 4, library: "Open MPI 5", pids: [1, 2, 3, 4], problem: "" } as const;
  assert.equal(
    ranksWords({ ...base, ranks: { ...ranks, phase: "none", count: 0, pids: [] } }),
    "The first run starts 4 ranks. They stay for the next runs.",
  );
  assert.equal(
    ranksWords({ ...base, ranks: { ...ranks, pids: [1, 2, 3, 4] } }),
    "4 ranks run: Open MPI 5, processes 1, 2, 3, 4.",
  );
  assert.match(ranksWords({ ...base, ranks: { ...ranks, count: 2, pids: [1, 2] } }), /The next run starts 4 in their place\.$/);
  assert.match(ranksWords({ ...base, ranks: { ...ranks, count: 9, pids: [1, 2, 3, 4, 5, 6, 7, 8, 9] } }), /7, 8, …\./);
  const problem = "Rank 2 (pid 3) was killed by SIGKILL; the ranks were ended";
  const lost: RunPart = { ...base, ranks: { ...ranks, pids: [], phase: "lost", problem } };
  assert.equal(ranksWords(lost), `${problem}.`);
  assert.equal(ranksWords({ ...lost, now: { ...base.now, ranks: 4, error: problem } }), "The ranks were lost in the run.");
  assert.equal(ranksWords({ ...base, ranks: { ...ranks, count: 1, pids: [], phase: "ended" } }), "1 rank was ended.");
});
