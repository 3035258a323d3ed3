// The picture of memory is the one that Python draws, on the random layouts that memory_cases.py wrote.
import assert from "node:assert/strict";
import { test } from "node:test";
import { linearize } from "#model/layouts/linearization.ts";
import { memoryPixels } from "#views/memory/draw-memory.ts";
import { type MemoryMap, memoryMap, type Part } from "#views/memory/memory-map.ts";
import { paintOf } from "#views/memory/paint.ts";
import { fieldColour, rgbOf } from "#views/memory/scales.ts";
import { pythonCases } from "./python-cases.ts";

interface Picture {
  dark: boolean;
  count: number;
  levels: ([dim: number, extent: number] | null)[][];
  inside: [dim: number, extent: number] | null;
  elements: (number[] | null)[];
  pixels: string;
}
interface Case {
  dims: [string, number][];
  fields: [string, number][];
  layouts: string[];
  block: [string, number][];
  side: number;
  limit: number;
  box: [number, number];
  pictures: Picture[][];
}

const { cases, colours } = await pythonCases<{ cases: Case[]; colours: number[][] }>("memory_cases.py", "memory-cases.json");

function each(check: (map: MemoryMap, picture: Picture, found: Case, ends: Parameters<typeof paintOf>[1]["ends"]) => void): void {
  const named = ([name, size]: [string, number]): { name: string; size: number } => ({ name, size });
  for (const found of cases) {
    const path = found.layouts.map((text) => {
      const { linear } = linearize(text, found.dims.map(named), found.fields.map(named));
      assert.ok(linear !== null, text);
      return linear;
    });
    const parts: Part[] = [
      { kind: "whole", side: found.side },
      { kind: "block", block: new Map(found.block), path, limit: found.limit },
      { kind: "whole" },
    ];
    const [first, last] = [path[0], path.at(-1)];
    assert.ok(first !== undefined && last !== undefined);
    path.forEach((linear, stop) =>
      found.pictures[stop]?.forEach((picture, number) =>
        check(memoryMap(linear, parts[number] as Part), picture, found, [first, last]),
      ),
    );
  }
}

test("elements have the same places", () => {
  each((map, picture, found) => {
    const shown = map.levels.map(({ across, down }) => [across, down].map((digit) => digit && [digit.dim, digit.extent]));
    const words = JSON.stringify([found.dims, String(map.linear), found.block]);
    assert.equal(map.count, picture.count, words);
    assert.deepEqual(shown, picture.levels, words);
    assert.deepEqual(map.inside && [map.inside.dim, map.inside.extent], picture.inside, words);
    picture.elements.forEach((element, place) => {
      const here = map.elementAt(place);
      assert.deepEqual(here && [...here.index, here.field], element, words);
      if (here !== null) assert.equal(map.placeOf(here.index, here.field), place, words);
    });
  });
});

test("pixels have the same colours", () => {
  each((map, picture, { dims, box: [width, height] }, ends) => {
    const out = new Uint32Array(width * height);
    memoryPixels(out, width, height, map, paintOf(map, { lying: "value", own: null, ends, dark: picture.dark }), picture.dark);
    const bytes = new Uint8Array(out.buffer);
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const first = [...out.keys()].find(
      (pixel) => hex.slice(8 * pixel, 8 * pixel + 8) !== picture.pixels.slice(8 * pixel, 8 * pixel + 8),
    );
    const words =
      first === undefined ? "" : ` at ${first % width}, ${Math.floor(first / width)}: ${hex.slice(8 * first, 8 * first + 8)}`;
    assert.equal(first, undefined, `${JSON.stringify(dims)} ${map.linear} in ${width} x ${height}${words}`);
  });
});

test("fields have the same colours, however many there are", () => {
  colours.forEach((colour, field) => assert.deepEqual([...rgbOf(fieldColour(field))], colour));
});
