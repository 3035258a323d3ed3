// The arithmetic of layouts gives what Python gives, on the random layouts that layout_cases.py wrote.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chunkOf } from "#model/layouts/chunks.ts";
import { common, compare } from "#model/layouts/compare.ts";
import { merged, moved, split, withBlock } from "#model/layouts/edits.ts";
import { warpLoad } from "#model/layouts/hardware.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { linearize } from "#model/layouts/linearization.ts";
import type { Part } from "#model/layouts/notation.ts";
import { layoutText, parse } from "#model/layouts/notation.ts";
import { entryAt, nextEntry, orderLength, positionOf } from "#model/layouts/order.ts";
import { requestBox } from "#model/layouts/requests.ts";
import type { Dimension, Field } from "#model/layouts/spaces.ts";
import { parseCount } from "#model/units.ts";
import { pythonCases } from "./python-cases.ts";

type Index = number[];
type Described = [
  text: string,
  nbytes: number,
  payload: number,
  field: number,
  digits: [dim: string, extent: number, step: number, stride: number][],
  points: [index: Index, field: number, offset: number][],
  bytes: [at: number, content: [index: Index, field: number, byte: number] | null][],
  edits: [kind: string, at: number | string, by: number, text: string][],
  warps: [dim: number, start: Index, lane: number, field: number, load: number[]][],
];
interface Case {
  dims: [string, number][];
  fields: number[];
  layouts: [Described, Described];
  common: [prefix: number, suffix: number, run: number];
  chunks: [digits: [string, number, number][], perChunk: number, count: number, points: [Index, number, number][]];
}
type Told = [dims: [string, number][], fields: number[], text: string, problem: [message: string, position: number] | null];

type Count = [text: string, count: string | null];

const { cases, texts, counts } = await pythonCases<{ cases: Case[]; texts: Told[]; counts: Count[] }>();
const linears = cases.map(
  (found) => found.layouts.map(([text]) => onSpaces(text, found.dims, found.fields)) as [Linearization, Linearization],
);

function spaces(dims: [string, number][], fields: number[]): [Dimension[], Field[]] {
  return [dims.map(([name, size]) => ({ name, size })), fields.map((size, number) => ({ name: `f${number}`, size }))];
}

function onSpaces(text: string, dims: [string, number][], fields: number[]): Linearization {
  const { linear, problem } = linearize(text, ...spaces(dims, fields));
  assert.ok(linear !== null, `${text} on ${JSON.stringify(dims)}: ${problem?.message}`);
  return linear;
}

function each(check: (linear: Linearization, described: Described) => void): void {
  cases.forEach((found, number) =>
    found.layouts.forEach((described, side) => check(linears[number]?.[side] as Linearization, described)),
  );
}

test("there are enough cases", () => {
  assert.ok(cases.length >= 1000 && texts.length > 100, `${cases.length} pairs of layouts, ${texts.length} texts`);
});

test("sizes, digits and strides", () => {
  each((linear, [text, nbytes, payload, field, digits]) => {
    assert.deepEqual([linear.nbytes, linear.payload], [nbytes, payload], text);
    const found = linear.digits.map(({ dim, extent, step }, place) => [dim, extent, step, linear.stride(place, field)]);
    assert.deepEqual(found, digits, text);
  });
});

test("offsets, whole and as a sum over the dimensions", () => {
  each((linear, [text, , , , , points]) => {
    for (const [index, field, offset] of points) {
      assert.equal(linear.offset(index, field), offset, `${text} at ${index.join()}`);
      const sum = index.reduce((total, i, dim) => total + linear.contributions(dim, field)(i), linear.base(field));
      assert.equal(sum, offset, `${text} at ${index.join()}, by dimension`);
      const byDigit = linear
        .digitsOf(index, field)
        .reduce((total, value, place) => total + value * linear.stride(place, field), linear.base(field));
      assert.equal(byDigit, offset, `${text} at ${index.join()}, by digit`);
      assert.deepEqual(linear.at(offset), { index, field, byte: 0 }, text);
    }
  });
});

test("the content of bytes, padding included", () => {
  each((linear, [text, nbytes, , , , , bytes]) => {
    for (const [at, content] of bytes) {
      const expected = content === null ? null : { index: content[0], field: content[1], byte: content[2] };
      assert.deepEqual(linear.at(at), expected, `${text}, byte ${at}`);
    }
    for (const outside of [-1, nbytes]) assert.equal(linear.at(outside), null, text);
  });
});

test("the loads of warps", () => {
  each((linear, [text, , , , , , , , warps]) => {
    for (const [dim, start, lane, field, expected] of warps) {
      const { width, requests, sectors, leastSectors, turns, conflicts } = warpLoad(linear, dim, start, lane, field);
      const words = `${text} from ${start.join()} along ${dim}, ${lane} bytes a lane`;
      assert.deepEqual([width, requests, sectors, leastSectors, turns, conflicts], expected, words);
    }
  });
});

test("common prefix and suffix, and runs", () => {
  cases.forEach((found, number) => {
    const [a, b] = linears[number] as [Linearization, Linearization];
    const { prefixCount, suffixCount, runBytes } = compare(a, b);
    assert.deepEqual([prefixCount, suffixCount, runBytes], found.common, `${a} and ${b} on ${JSON.stringify(found.dims)}`);
    assert.equal(common(a, b).runBytes, found.common[2]);
    assert.equal(requestBox(a, b).entries, found.common[0]);
  });
});

test("both ends say alike whether they have a common prefix, and one field is one", () => {
  cases.forEach((found, number) => {
    const [a, b] = linears[number] as [Linearization, Linearization];
    const [one, other] = [common(a, b), common(b, a)];
    const words = `${a} and ${b} on ${JSON.stringify(found.dims)}`;
    assert.equal(one.shares, other.shares, words);
    assert.ok(one.shares || (a.fields.length > 1 && one.prefix === 0), words);
    if (one.runBytes > a.entryBytes / a.fields.length) assert.ok(one.shares, words);
  });
});

test("sizes as people write them", () => {
  for (const [text, count] of counts) assert.equal(parseCount(text)?.toString() ?? null, count, text);
});

/** Edits of the component at a place. */
const numbered = { moved, split, withBlock };

test("edits give layouts with the same text", () => {
  each((_, [text, , , , , , , changes]) => {
    const { parts } = parse(text);
    assert.ok(parts !== null);
    const before = layoutText(parts);
    for (const [kind, at, by, expected] of changes) {
      const changed: readonly Part[] =
        kind === "merged" ? merged(parts, String(at)) : numbered[kind as keyof typeof numbered](parts, Number(at), by);
      assert.equal(layoutText(changed), expected, `${kind} ${at} ${by} of ${before}`);
      assert.equal(parse(expected).problem, null);
      assert.equal(layoutText(parts), before, "the components are left alone");
    }
  });
});

test("the chunks of entries", () => {
  cases.forEach(({ chunks: [digits, perChunk, count, points] }, number) => {
    const [linear] = linears[number] as [Linearization, Linearization];
    const numbers = { digits: digits.map(([dim, extent, step]) => ({ dim, extent, step })), perChunk, count };
    for (const [index, field, chunk] of points)
      assert.equal(
        chunkOf(numbers, linear.dims, index, field),
        chunk,
        `${linear} at ${index.join()}: ${JSON.stringify(numbers)}`,
      );
  });
});

test("texts with mistakes have the same problem at the same character", () => {
  for (const [dims, fields, text, expected] of texts) {
    const { problem } = linearize(text, ...spaces(dims, fields));
    assert.deepEqual(problem && [problem.message, problem.position], expected, JSON.stringify([text, dims]));
  }
});

test("whole digits in the common prefix and suffix, by the positions of all elements", () => {
  let seen = 0;
  for (const [number, [a, b]] of linears.entries()) {
    const length = orderLength(a);
    if (length > 200 || a.nbytes !== a.payload || b.nbytes !== b.payload) continue;
    seen += 1;
    const places = Array.from({ length }, (_, n) => {
      const entry = entryAt(a, n);
      assert.ok(entry !== null);
      return positionOf(b, entry.index, entry.field);
    });
    const { prefix, suffix } = common(a, b);
    const words = `${a} and ${b} on ${JSON.stringify(cases[number]?.dims)}`;
    const extents = a.digits.map((digit) => digit.extent);
    const product = (from: number, to: number): number => extents.slice(from, to).reduce((one, other) => one * other, 1);
    const adjacent = (run: number): boolean =>
      places.every((place, n) => n % run === 0 || place === (places[n - 1] as number) + 1);
    const blocks = (size: number): boolean => places.every((place, n) => Math.floor(place / size) === Math.floor(n / size));
    assert.ok(adjacent(product(0, prefix)), `prefix ${prefix} of ${words}`);
    assert.ok(blocks(product(0, extents.length - suffix)), `suffix ${suffix} of ${words}`);
    const further = extents.findIndex((extent, place) => place >= prefix && extent > 1);
    if (further >= 0) assert.ok(!adjacent(product(0, further + 1)), `prefix ${prefix} of ${words} could be longer`);
    const before = extents.map((extent, place) => place < extents.length - suffix && extent > 1).lastIndexOf(true);
    if (before >= 0) assert.ok(!blocks(product(0, before)), `suffix ${suffix} of ${words} could be longer`);
  }
  assert.ok(seen > 20, `${seen} small layouts`);
});

test("the order of memory visits every element once, at growing offsets", () => {
  let padded = 0;
  for (const [a] of linears) {
    const length = orderLength(a);
    if (length > 3000) continue;
    let [visited, last] = [0, -1];
    for (let n = nextEntry(a, 0); n !== null; n = nextEntry(a, n + 1)) {
      const entry = entryAt(a, n);
      assert.ok(entry !== null, `${a}: position ${n} is padding`);
      const offset = a.offset(entry.index, entry.field);
      assert.ok(offset > last, `${a}: position ${n}`);
      assert.equal(positionOf(a, entry.index, entry.field), n);
      [visited, last] = [visited + 1, offset];
    }
    assert.equal(
      visited,
      a.dims.reduce((product, { size }) => product * size, a.fields.length),
      String(a),
    );
    if (visited < length) padded += 1;
  }
  assert.ok(padded > 10, `${padded} padded layouts`);
});
