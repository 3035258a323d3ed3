// Two runs as timelines under each other: what is asked for, what is drawn, and how the hops differ.
import assert from "node:assert/strict";
import { test } from "node:test";
import { comparedHops } from "#model/trace/compared-hops.ts";
import { type TraceData, traceOf } from "#model/trace/trace-data.ts";
import type { ShownPastRun, TraceHead } from "#model/types.ts";
import { formatSeconds } from "#model/units.ts";
import { laterText } from "#views/timeline/draw.ts";
import { rowsOf } from "#views/timeline/rows.ts";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, find, type Shown, show } from "./page.ts";
import { pythonCases } from "./python-cases.ts";

closeAfterEach();

interface Case {
  head: TraceHead;
  columns: string[];
  requests: [row: number, chunk: number, request: number, start: number, end: number][];
}

const { traces } = await pythonCases<{ traces: Case[] }>("trace_cases.py", "trace-cases.json");
const single = traces.find(({ head }) => head.transfers.length === 1 && head.hops.length > 1 && head.count < 2000)!;
const several = traces.find(({ head }) => head.transfers.length > 1)!;
const SLOWER = 1.5;

/** The columns of a case; all its times are `slower` times as long. */
function buffersOf({ head, columns }: Case, slower = 1): ArrayBuffer[] {
  return columns.map((text, place) => {
    const { buffer } = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return head.columns[place]?.type === "f8"
      ? Float64Array.from(new Float64Array(buffer), (time) => slower * time).buffer
      : buffer;
  });
}

const traceIn = (each: Case, id: string, slower = 1): TraceData =>
  traceOf({ ...each.head, id, seconds: slower * each.head.seconds }, buffersOf(each, slower));

/** When a row is over, and how long it is at work: the slow way. */
function slowly({ requests }: Case, row: number): { ended: number; busy: number } {
  const own = requests.filter(([of]) => of === row);
  const times = [...new Set(own.flatMap(([, , , start, end]) => [start, end]))].sort((a, b) => a - b);
  const busy = times.slice(1).reduce((sum, to, place) => {
    const from = times[place]!;
    return own.some(([, , , start, end]) => start <= from && end >= to) ? sum + to - from : sum;
  }, 0);
  return { ended: Math.max(...own.map(([, , , , end]) => end)), busy };
}

const near = (one: number | undefined, other: number): boolean => Math.abs((one ?? Number.NaN) - other) <= 1e-9 * Math.abs(other);

test("hops of two traces are those with the same number, at work and over as the requests say", () => {
  for (const each of [single, several]) {
    const rows = comparedHops(traceIn(each, "a"), traceIn(each, "b", SLOWER));
    assert.equal(rows.length, each.head.hops.length);
    rows.forEach(({ one, other }, row) => {
      const { ended, busy } = slowly(each, row);
      assert.ok(near(one?.ended, ended) && near(one?.busy, busy), `row ${row}`);
      assert.ok(near(other?.ended, SLOWER * ended) && near(other?.busy, SLOWER * busy), `row ${row}`);
    });
  }
});

test("a hop that only one trace has stands alone", () => {
  const whole = traceIn(single, "a");
  const part = { ...whole, hops: whole.hops.slice(0, -1) };
  assert.deepEqual([comparedHops(whole, part).at(-1)?.other, comparedHops(part, whole).at(-1)?.one], [null, null]);
});

test("every channel of the second timeline says where it was over in the first one", () => {
  const [one, other] = [traceIn(single, "a"), traceIn(single, "b", SLOWER)];
  const { rows } = rowsOf(
    [
      { trace: one, title: "Run 1" },
      { trace: other, title: "Run 2", against: one },
    ],
    true,
  );
  const lanes = rows.filter((row) => row.kind === "lane");
  assert.ok(lanes.filter(({ of }) => of === 0).every(({ ends }) => ends === null));
  for (const { number, ends } of lanes.filter(({ of }) => of === 1)) {
    const last = Math.max(...single.head.hops.flatMap((hop, row) => (hop.lane === number ? [slowly(single, row).ended] : [])));
    assert.ok(near(ends?.against, last) && near(ends?.own, SLOWER * last));
  }
  assert.deepEqual([laterText({ own: 5e-3, against: 2e-3 }), laterText({ own: 2e-3, against: 5e-3 })], ["+3 ms", "−3 ms"]);
});

const run = (number: number, timeline: ShownPastRun["timeline"]): ShownPastRun => ({
  name: `run ${number}`,
  number,
  date: "2026-01-01T00:00:00+00:00",
  transfer: "a → b",
  outcome: "Verified bit for bit",
  good: true,
  bytes: 1024,
  runs: 1,
  emulated: false,
  planned: 1,
  tried: null,
  measured: number,
  low: number,
  high: number,
  note: "",
  timeline,
  facts: [],
  hops: [],
});

/** The runs of a session, two of them ticked. */
async function ticked(runs: ShownPastRun[], ...chosen: string[]): Promise<Shown> {
  const found = show(
    aSnapshot((state) => void (state.panes.run.now.number = 1)),
    "run",
  );
  await drawn();
  const asked = found.model.sent.find((each) => each.kind === "runs");
  assert.ok(asked !== undefined);
  found.model.say({ kind: "runs", number: asked.number, runs, error: "" });
  await drawn();
  for (const name of chosen) {
    find(found.root, `compare-${name}`).click();
    await drawn();
  }
  return found;
}

test("two runs are drawn under each other, the older one first, with the difference of every hop", async () => {
  const { model, root } = await ticked([run(2, "kept"), run(1, "kept")], "run 2", "run 1");
  find(root, "compare-timelines").click();
  await drawn();
  const asked = model.sent.filter((each) => each.kind === "trace");
  assert.deepEqual(
    asked.map(({ which, run }) => [which, run]),
    [
      ["measured", "run 1"],
      ["measured", "run 2"],
    ],
  );
  asked.forEach(({ number, run }, place) => {
    const slower = place === 0 ? 1 : SLOWER;
    const trace = { ...single.head, id: run, seconds: slower * single.head.seconds };
    const message = { kind: "trace", which: "measured", number, trace, error: "" };
    model.say(
      message,
      buffersOf(single, slower).map((buffer) => new DataView(buffer)),
    );
  });
  await drawn();
  await drawn();
  assert.equal(find(root, "compared-timelines").dataset.traces, "2");
  assert.equal(Number(find(root, "timeline").dataset.whole), SLOWER * single.head.seconds, "one axis for both");
  const rows = [...find(root, "compared-timelines").querySelectorAll("tbody tr")];
  assert.equal(rows.length, single.head.hops.length);
  rows.forEach((row, place) => {
    const { ended, busy } = slowly(single, place);
    const texts = [...row.querySelectorAll("td")].map((cell) => cell.textContent);
    assert.equal(texts[0], formatSeconds(busy));
    assert.equal(texts[2], `${formatSeconds((SLOWER - 1) * busy)} longer`);
    assert.equal(texts[5], `${formatSeconds((SLOWER - 1) * ended)} later`);
  });
});

test("the list says which timelines were dropped, and the comparison why there is none", async () => {
  const { root } = await ticked([run(3, "kept"), run(2, "dropped"), run(1, "none")], "run 3", "run 2");
  const dropped = [...find(root, "history").querySelectorAll("tbody tr")].map((row) =>
    /timeline dropped/.test(row.textContent ?? ""),
  );
  assert.equal(dropped.filter((each) => each).length, 1);
  assert.match(find(root, "no-timelines").textContent ?? "", /^Run 2 has no timeline: it made room/);
  assert.equal(root.querySelector("[data-testid=compare-timelines]"), null);
});
