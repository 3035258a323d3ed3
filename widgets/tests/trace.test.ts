// Traces in the browser: what is read of them, what happens at a moment, and how much detail is drawn, against Python and against the
// slow way.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chunksAt, fillOf, levelAt, meanLevel } from "#model/trace/chunks-at.ts";
import { criticalPath } from "#model/trace/critical-path.ts";
import { requestOf } from "#model/trace/find-request.ts";
import { covered, joined, type Segments, without } from "#model/trace/segments.ts";
import { activeAt, readyOf, type TraceData, traceOf } from "#model/trace/trace-data.ts";
import type { TraceHead } from "#model/types.ts";
import { linesOf, sharesOf } from "#views/timeline/lane-bars.ts";
import { firstPeriods, wayOf } from "#views/timeline/places.ts";
import { momentText, moved, showing, ticks, tickText, within, zoomed } from "#views/timeline/span.ts";
import { nearest } from "#views/timeline/told.ts";
import { waitingTold, waitsOf } from "#views/timeline/transfers.tsx";
import { pythonCases } from "./python-cases.ts";

interface Case {
  head: TraceHead;
  columns: string[];
  requests: [row: number, chunk: number, request: number, start: number, end: number][];
  ready: number[];
  moments: { time: number; moving: [number, number][]; levels: number[] }[];
  busy: number[];
  critical: [row: number, chunk: number, request: number, waitedFor: string][];
}

const { traces: cases } = await pythonCases<{ traces: Case[] }>("trace_cases.py", "trace-cases.json");

/** A column as it comes in a message: a view that does not begin where its numbers could. */
function view(text: string): DataView {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const message = new Uint8Array(bytes.length + 3);
  message.set(bytes, 3);
  return new DataView(message.buffer, 3, bytes.length);
}

const read = (each: Case): TraceData => traceOf(each.head, each.columns.map(view));
const near = (one: number, other: number, by: number): boolean => Math.abs(one - other) <= by;

test("there are traces of one and of several transfers, and some in which requests of a channel overlap", () => {
  assert.ok(cases.length >= 12);
  assert.ok(cases.some(({ head }) => head.transfers.length === 1) && cases.some(({ head }) => head.transfers.length > 1));
  assert.ok(cases.some((each) => read(each).lanes.some((_, lane) => linesOf(read(each), lane).depth > 1)));
});

test("columns are read as Python has written them", () => {
  for (const each of cases) {
    const trace = read(each);
    assert.equal(trace.count, each.requests.length);
    each.requests.forEach(([row, chunk, request, start, end], i) => {
      assert.deepEqual([trace.row[i], trace.chunk[i], trace.request[i]], [row, chunk, request]);
      assert.ok(near(trace.start[i]!, start, 1e-15) && near(trace.end[i]!, end, 1e-15));
      assert.equal(requestOf(trace, { row, chunk, request }), i);
    });
  }
});

test("requests are ready when Python says so", () => {
  for (const each of cases) {
    const trace = read(each);
    each.ready.forEach((ready, i) =>
      assert.ok(near(readyOf(trace, i), ready, 1e-12), `request ${i}: ${readyOf(trace, i)}, Python: ${ready}`),
    );
  }
});

test("at any moment the same chunks move and the same number of slots is in use as Python says", () => {
  for (const each of cases) {
    const trace = read(each);
    for (const { time, moving, levels } of each.moments) {
      const found = chunksAt(trace, time);
      assert.deepEqual(
        found.moving.map(({ row, chunk }) => [row, chunk]),
        moving,
      );
      trace.rings.forEach((_, number) => {
        assert.equal(levelAt(fillOf(trace, number), time), levels[number]);
        const { used } = found.held[number]!;
        assert.equal(used.length, Math.min(64, levels[number]!));
        assert.equal(new Set(used.map((slot) => slot.chunk)).size, used.length);
      });
    }
  }
});

test("a chunk fills its slot while the hop before moves it, and empties it while the hop behind does", () => {
  for (const each of cases.filter(({ head }) => head.transfers.length === 1)) {
    const trace = read(each);
    for (const { time } of each.moments) {
      const found = chunksAt(trace, time);
      for (const { ring, used } of found.held) {
        const { row } = trace.rings[ring]!;
        for (const { chunk, state } of used) {
          const [writing, reading] = [row, row + 1].map((of) =>
            found.moving.some((each) => each.row === of && each.chunk === chunk),
          );
          if (writing) assert.equal(state, "filling");
          if (reading && state !== "filling") assert.equal(state, "emptying");
        }
      }
    }
  }
});

test("channels are busy for as long as Python says, and the critical path is the same", () => {
  for (const each of cases) {
    const trace = read(each);
    trace.lanes.forEach((_, lane) => {
      const spans = trace.tracks[lane]!.length === 1 ? trace.tracks[lane]![0]!.busy : null;
      if (spans !== null) assert.ok(near(spans.before.at(-1)!, each.busy[lane]!, 1e-9 * trace.seconds));
    });
    const steps = criticalPath(trace);
    assert.deepEqual(
      steps.map(({ request, waitedFor }) => [trace.row[request], trace.chunk[request], trace.request[request], waitedFor]),
      each.critical,
    );
  }
});

/** How much of each pixel intervals cover, one by one. */
function slowly(intervals: readonly (readonly [number, number])[], from: number, to: number, pixels: number): number[] {
  const step = (to - from) / pixels;
  return Array.from({ length: pixels }, (_, x) => {
    const [left, right] = [from + x * step, from + (x + 1) * step];
    const inside = intervals
      .map(([a, b]) => [Math.max(a, left), Math.min(b, right)] as const)
      .filter(([a, b]) => b > a)
      .sort((a, b) => a[0] - b[0]);
    let [sum, reached] = [0, -Infinity];
    for (const [a, b] of inside) {
      if (b > reached) sum += b - Math.max(a, reached);
      reached = Math.max(reached, b);
    }
    return sum / step;
  });
}

test("from afar, each pixel is as high as a drawing of every request would make it", () => {
  for (const each of cases) {
    const trace = read(each);
    for (const [from, to] of [
      [0, 1],
      [0.2, 0.3],
      [0.5, 0.5004],
    ].map(([a, b]) => [a! * trace.seconds, b! * trace.seconds] as const)) {
      trace.lanes.forEach(({ first, count }, lane) => {
        for (const { transfer, busy } of trace.tracks[lane]!) {
          const own = Array.from({ length: count }, (_, i) => first + i).filter(
            (i) => trace.hops[trace.row[i]!]!.transfer === transfer,
          );
          const expected = slowly(
            own.map((i) => [trace.start[i]!, trace.end[i]!]),
            from,
            to,
            37,
          );
          sharesOf(busy, { from, to }, 37).forEach((share, x) =>
            assert.ok(near(share, expected[x]!, 1e-6), `pixel ${x}: ${share}, one by one: ${expected[x]}`),
          );
        }
      });
      trace.rings.forEach((_, number) => {
        const fill = fillOf(trace, number);
        const mean = meanLevel(fill, from, to);
        let sum = 0;
        for (let k = 0; k < 4000; k += 1) sum += levelAt(fill, from + ((k + 0.5) / 4000) * (to - from)) / 4000;
        assert.ok(near(mean, sum, 0.02), `${mean}, sampled: ${sum}`);
      });
    }
  }
});

test("what is active is what begins before and ends after, and the nearest request is one of those", () => {
  for (const each of cases) {
    const trace = read(each);
    for (const { time } of each.moments)
      trace.lanes.forEach(({ first, count }, lane) => {
        const all = Array.from({ length: count }, (_, i) => first + i).filter(
          (i) => trace.start[i]! <= time && time < trace.end[i]!,
        );
        assert.deepEqual(
          activeAt(trace, lane, time).sort((a, b) => a - b),
          all,
        );
        const found = nearest(trace, lane, time);
        if (all.length > 0) assert.ok(found !== null && all.includes(found));
        else assert.equal(found === null, count === 0);
      });
  }
});

const segments = (...pairs: [number, number][]): Segments =>
  joined(
    Float64Array.from(pairs, ([a]) => a),
    Float64Array.from(pairs, ([, b]) => b),
  );
const pairs = ({ from, to }: Segments): [number, number][] => Array.from(from, (a, i) => [a, to[i]!]);

test("segments are joined where they meet, and taken out of each other", () => {
  assert.deepEqual(pairs(segments([0, 1], [1, 2], [3, 5], [4, 4.5], [6, 6])), [
    [0, 2],
    [3, 5],
  ]);
  assert.deepEqual(pairs(without(segments([0, 10]), segments([2, 3], [5, 6]))), [
    [0, 2],
    [3, 5],
    [6, 10],
  ]);
  assert.deepEqual(pairs(without(segments([0, 1], [2, 4], [5, 9]), segments([0, 2.5], [3, 6]))), [
    [2.5, 3],
    [6, 9],
  ]);
  assert.deepEqual(pairs(without(segments([1, 2]), segments([0, 3]))), []);
  assert.equal(covered(segments([0, 1], [3, 5]), 0.5, 4.5), 2 / 4);
});

test("waits are told where transfers meet: the more urgent one goes first", () => {
  const met = cases.filter(
    ({ head }) => head.transfers.length > 1 && new Set(head.transfers.map((each) => each.priority)).size > 1,
  );
  assert.ok(met.length > 0);
  for (const each of met) {
    const trace = read(each);
    const waits = waitsOf(trace);
    assert.equal(waitingTold(trace).length, trace.transfers.length);
    for (const { seconds } of waits) assert.ok(seconds >= 0 && seconds <= trace.seconds);
    // Nobody waits on a lane while its own requests are carried out there.
    trace.tracks.flat().forEach(({ busy, waiting }) => {
      for (const [from, to] of pairs(waiting)) assert.ok(covered(busy, from, to) < 1e-6);
    });
  }
});

test("a span is zoomed about a moment, moved, and kept within the whole", () => {
  assert.deepEqual(within({ from: -1, to: 3 }, 10), { from: 0, to: 4 });
  assert.deepEqual(within({ from: 8, to: 12 }, 10), { from: 6, to: 10 });
  assert.deepEqual(within({ from: -5, to: 50 }, 10), { from: 0, to: 10 });
  const closer = zoomed({ from: 0, to: 10 }, 0.5, 4, 10);
  assert.deepEqual(closer, { from: 2, to: 7 });
  assert.ok(zoomed(closer, 1e-12, 4, 10).to - zoomed(closer, 1e-12, 4, 10).from >= 1e-6 * 0.99);
  assert.deepEqual(moved({ from: 2, to: 4 }, 100, 10), { from: 8, to: 10 });
  assert.deepEqual(showing({ from: 2, to: 4 }, 3, 10), { from: 2, to: 4 });
  assert.ok(showing({ from: 2, to: 4 }, 7, 10).from <= 7 && showing({ from: 2, to: 4 }, 7, 10).to >= 7);
});

test("moments and ticks have as many digits as they need", () => {
  assert.equal(momentText(0.0123456, 1e-6), "12.346 ms");
  assert.equal(momentText(0, 1e-6), "0 µs");
  assert.equal(momentText(2.5, 0.01), "2.50 s");
  const { times, step } = ticks({ from: 0.0011, to: 0.0019 }, 8);
  assert.ok(times.length >= 5 && times.length <= 10);
  assert.equal(tickText(0.0015, step, { from: 0.0011, to: 0.0019 }), "1.5 ms");
});

test("the first periods begin at the begin and hold the first chunks; the way of a chunk holds it from end to end", () => {
  for (const each of cases.filter(({ head }) => head.transfers.length === 1 && (head.hops[0]?.chunks ?? 0) > 8)) {
    const trace = read(each);
    const span = firstPeriods(trace);
    assert.equal(span.from, 0);
    assert.ok(span.to > 0 && span.to <= trace.seconds);
    const way = wayOf(trace, 0);
    assert.ok(way !== null);
    trace.times.forEach(({ begun, ended }) => {
      if (begun.length > 0) assert.ok(begun[0]! >= way.from - 1e-12 && ended[0]! <= way.to + 1e-12); // a run that was cut off has not begun every hop
    });
  }
});
