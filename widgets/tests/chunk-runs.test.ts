// What a chunk holds and in how many runs it moves, as Python counts it element by element.
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, runsOf } from "#model/layouts/chunk-boxes.ts";
import { chunkOf } from "#model/layouts/chunks.ts";
import { linearize } from "#model/layouts/linearization.ts";
import { contiguousBox, requestBox, smallestBox } from "#model/layouts/requests.ts";
import { pythonCases } from "./python-cases.ts";

interface Case {
  dims: [string, number][];
  fields: number[];
  layouts: [string, string];
  digits: [string, number, number][];
  perChunk: number;
  count: number;
  chunk: number;
  elements: number;
  runs: number;
  /** The instance of which the other layout orders a part; null where that is all of it. */
  part: { sizes: number[]; first: number[]; layout: string } | null;
  runsInPart: number | null;
}

// The last block pads y: all four blocks are one run.
const PADDED: Case = {
  dims: [
    ["x", 1],
    ["y", 3],
  ],
  fields: [4, 1],
  layouts: ["<F, y_in=2, x, y_out>", "<x, F, y>"],
  digits: [
    ["y", 2, 1],
    ["x", 1, 1],
    ["y", 2, 2],
  ],
  perChunk: 4,
  count: 1,
  chunk: 0,
  elements: 6,
  runs: 1,
  part: null,
  runsInPart: null,
};
// The other layout pads y: its last block holds one of the four rows, and ends a run.
const PADDED_ELSEWHERE: Case = {
  dims: [
    ["y", 4],
    ["x", 2],
  ],
  fields: [8],
  layouts: ["<y, x, F>", "<y_in=3, x, F, y_out>"],
  digits: [
    ["y", 4, 1],
    ["x", 2, 1],
    ["F", 1, 0],
  ],
  perChunk: 6,
  count: 2,
  chunk: 1,
  elements: 2,
  runs: 2,
  part: null,
  runsInPart: null,
};
const cases = [...(await pythonCases<Case[]>("chunk_cases.py", "chunk-cases.json")), PADDED, PADDED_ELSEWHERE];

test("a chunk holds and moves what Python finds element by element", () => {
  let [several, parts] = [0, 0];
  for (const each of cases) {
    const dims = each.dims.map(([name, size]) => ({ name, size }));
    const fields = each.fields.map((size, field) => ({ name: `f${field}`, size }));
    const [linear, other] = each.layouts.map((text) => linearize(text, dims, fields).linear);
    assert.ok(linear && other);
    const digits = each.digits.map(([dim, extent, step]) => ({ dim, extent, step }));
    const numbers = { digits, perChunk: each.perChunk, count: each.count };
    const content = contentOf(numbers, linear, each.chunk);
    assert.ok(content !== null);
    let elements = 0;
    for (const { coordinates, fields: own } of content.boxes) {
      const first = coordinates.map((values) => values[0] ?? 0);
      const last = coordinates.map((values) => values.at(-1) ?? 0);
      for (const index of [first, last]) assert.equal(chunkOf(numbers, dims, index, own[0] ?? 0), each.chunk);
      elements += coordinates.reduce((product, values) => product * values.length, own.length);
    }
    const told = JSON.stringify(each);
    assert.equal(elements, each.elements, told);
    if (content.boxes.length > 1) several += 1;
    if (each.part === null) {
      assert.deepEqual([runsOf(content, linear, other), runsOf(content, other, linear)], [each.runs, each.runs], told);
      continue;
    }
    const whole = dims.map(({ name }, dim) => ({ name, size: each.part?.sizes[dim] ?? 0 }));
    const instance = linearize(each.part.layout, whole, fields).linear;
    assert.ok(instance);
    const inPart = contiguousBox({ linear: instance, first: each.part.first, sizes: dims.map(({ size }) => size) });
    const box = smallestBox([requestBox(linear, other), inPart], fields.length);
    assert.equal(runsOf(content, linear, other, box), each.runsInPart, told);
    if (each.runsInPart !== each.runs) parts += 1;
  }
  assert.ok(parts > cases.length / 40, `${parts} chunks with gaps in their instances`);
  assert.ok(several > cases.length / 20, `${several} chunks of several boxes`);
});
