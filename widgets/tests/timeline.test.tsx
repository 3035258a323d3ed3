// The pane of the timeline drawn into a page: what it asks for, what it shows of a trace, what it tells the kernel, and what not.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TraceHead } from "#model/types.ts";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, find, press, type Shown, show } from "./page.ts";
import { pythonCases } from "./python-cases.ts";

closeAfterEach();

interface Case {
  head: TraceHead;
  columns: string[];
  busy: number[];
}

const { traces } = await pythonCases<{ traces: Case[] }>("trace_cases.py", "trace-cases.json");
const byCount = [...traces].sort((one, other) => one.head.count - other.head.count);
const single = traces.find(({ head }) => head.transfers.length === 1 && head.rings.length > 0 && head.hops[0]!.chunks > 8)!;
const several = traces.find(({ head }) => head.transfers.length > 1)!;

const view = (text: string): DataView => new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);

/** The pane, once it has been given a trace as the kernel gives it. */
async function shown(each: Case): Promise<Shown> {
  const { id, seconds, count } = each.head;
  const snapshot = aSnapshot(({ panes }) => {
    panes.trace = {
      simulated: { id, requests: count, seconds, note: "", fresh: true },
      stored: null,
      measured: null,
      given: null,
      problems: {},
    };
  });
  const found = show(snapshot, "timeline");
  await drawn();
  const asked = found.model.sent.find((sent) => sent.kind === "trace");
  assert.ok(asked !== undefined && asked.which === "simulated");
  found.model.say(
    { kind: "trace", which: "simulated", number: asked.number, trace: each.head, error: "" },
    each.columns.map(view),
  );
  await drawn();
  await drawn();
  return found;
}

/** Another trace takes the place of the one that is shown. */
async function next({ model }: Shown, each: Case): Promise<void> {
  const { id, seconds, count } = each.head;
  model.publish(({ panes }) => {
    panes.trace!.simulated = { id, requests: count, seconds, note: "", fresh: true };
  });
  await drawn();
  const { number } = model.sent.filter((sent) => sent.kind === "trace").at(-1)!;
  model.say({ kind: "trace", which: "simulated", number, trace: each.head, error: "" }, each.columns.map(view));
  await drawn();
  await drawn();
}

const selected = ({ model }: Shown): unknown[] =>
  model.sent.filter((sent) => sent.kind === "select").map((sent) => (sent.selection as { time: number | null }).time);
const until = async (holds: () => boolean): Promise<void> => {
  for (let frame = 0; frame < 300 && !holds(); frame += 1) await drawn();
  assert.ok(holds());
};

test("a trace is asked for once, and drawn", async () => {
  const { root, model } = await shown(single);
  assert.equal(Number(find(root, "timeline").dataset.whole), single.head.seconds);
  const [, bars] = find(root, "timeline-area").querySelectorAll("canvas");
  assert.ok(bars !== undefined && Number(bars.dataset.drawn) >= 1);
  assert.equal(model.sent.filter((sent) => sent.kind === "trace").length, 1);
  assert.equal(root.querySelector("[data-testid=timeline-transfers]"), null);
});

test("the tables say how busy each channel is, as Python does", async () => {
  const { root } = await shown(single);
  const tables = find<HTMLDetailsElement>(root, "timeline-tables");
  tables.open = true;
  await drawn();
  const [channels] = tables.querySelectorAll("table");
  const rows = [...channels!.querySelectorAll("tbody tr")];
  assert.equal(rows.length, single.head.lanes.length);
  rows.forEach((row, lane) => {
    assert.match(row.textContent ?? "", new RegExp(single.head.lanes[lane]!.title));
    const share = Math.round((100 * single.busy[lane]!) / single.head.seconds);
    if (share >= 10) assert.match(row.textContent ?? "", new RegExp(`${share} %`));
  });
});

test("the scrubber selects a moment: the kernel is told, and the journey of the plan that is shown follows", async () => {
  const found = await shown(single);
  const scrub = find<HTMLInputElement>(found.root, "timeline-scrub");
  scrub.value = "5000";
  scrub.dispatchEvent(new InputEvent("input", { bubbles: true }));
  await until(() => selected(found).length > 0);
  assert.ok(Math.abs(Number(selected(found).at(-1)) - single.head.seconds / 2) < 1e-3 * single.head.seconds);
  assert.notEqual(find(found.root, "timeline-time").textContent, "–");
});

test("while it plays the kernel is not told of every moment, but of the one where it comes to rest", async () => {
  const found = await shown(single);
  const play = find(found.root, "timeline-play");
  const text = (): string => find(found.root, "timeline-time").textContent ?? "";
  play.click();
  const seen = new Set<string>();
  await until(() => seen.add(text()).size > 5);
  assert.deepEqual(selected(found), []);
  play.click();
  await until(() => selected(found).length === 1);
  assert.ok(Number(selected(found)[0]) > 0);
});

test("keys zoom, move, and go from request to request, which are told", async () => {
  const { root } = await shown(single);
  const [area, timeline] = [find(root, "timeline-area"), find(root, "timeline")];
  const length = (): number => Number(timeline.dataset.to) - Number(timeline.dataset.from);
  area.focus();
  press(area, "0");
  await until(() => length() === single.head.seconds);
  press(area, "+");
  await until(() => length() < single.head.seconds);
  const before = Number(timeline.dataset.from);
  press(area, "ArrowRight");
  await until(() => Number(timeline.dataset.from) > before);
  press(area, "ArrowDown");
  await until(() => /Chunk \d+/.test(find(root, "timeline-told").textContent ?? ""));
});

test("of several transfers it says who waits, and an urgent one is one click away", async () => {
  const { root, model } = await shown(several);
  assert.equal(find(root, "timeline-transfers").querySelectorAll("tbody tr").length, several.head.transfers.length);
  assert.equal(find(root, "timeline-waits").querySelectorAll("li").length, several.head.transfers.length);
  find(root, "timeline-urgent").click();
  assert.equal(model.sent.at(-1)?.kind, "add-urgent");
});

test("a request that is marked or focused is not looked for in the trace that comes next", async () => {
  const [small, large] = [{ ...byCount[0]!, head: { ...byCount[0]!.head, id: "next" } }, byCount.at(-1)!];
  const found = await shown(large);
  const { root, model } = found;
  const { id, hops, seconds } = large.head;
  const last = hops.at(-1)!;
  find(root, "timeline-stepping").click();
  await until(() => model.sent.some((sent) => sent.kind === "steps"));
  const { number } = model.sent.find((sent) => sent.kind === "steps")!;
  const ended = { row: hops.length - 1, chunk: last.chunks - 1, request: last.requests - 1 };
  const step = { seconds, stimulus: "", answers: [], ended, begun: [] };
  model.say({ kind: "steps", number, id, first: 0, steps: [step], more: false, error: "" });
  await until(() => /1 of 1/.test(find(root, "step-number").textContent ?? ""));
  const area = find(root, "timeline-area");
  area.focus();
  for (const _ of large.head.lanes) press(area, "ArrowDown");
  await until(() => /Chunk \d+/.test(find(root, "timeline-told").textContent ?? ""));
  const errors: string[] = [];
  const note = ({ message }: ErrorEvent): void => void errors.push(message);
  window.addEventListener("error", note);
  await next(found, small);
  window.removeEventListener("error", note);
  assert.deepEqual(errors, []);
  assert.equal(find(root, "timeline-pane").dataset.trace, small.head.id);
  assert.equal(find(root, "timeline-told").textContent, "");
});

test("what is compared is watched for as long as it is shown", async () => {
  const { root, model } = await shown(single);
  const watched = (): unknown => model.sent.filter((sent) => sent.kind === "watch").at(-1)?.views;
  find(root, "timeline-stored").click();
  await until(() => JSON.stringify(watched()) === '["stored"]');
  find(root, "timeline-stored").click();
  await until(() => JSON.stringify(watched()) === "[]");
});

test("why a plan cannot be simulated stands in the place of the timeline", async () => {
  const { root } = show(
    aSnapshot(({ panes }) => {
      panes.trace = {
        simulated: null,
        stored: null,
        measured: null,
        given: null,
        problems: { simulated: "The buffers are larger than the memory." },
      };
    }),
    "timeline",
  );
  await drawn();
  assert.match(root.textContent ?? "", /The buffers are larger than the memory/);
});
