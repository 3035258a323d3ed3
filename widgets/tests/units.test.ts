// Quantities read the same in the browser and in Python; tests/units.json comes from isoviz.units.
import assert from "node:assert/strict";
import { test } from "node:test";
import { counted, formatBytes, formatCount, formatRate, formatSeconds, formatShare } from "#model/units.ts";
import cases from "./units.json";

test("every quantity is written as Python writes it", () => {
  assert.ok(cases.length > 500);
  for (const [value, bytes, rate, seconds, share] of cases as [number, string, string, string, string][])
    assert.deepEqual(
      [formatBytes(value), formatRate(value), formatSeconds(value), formatShare(value)],
      [bytes, rate, seconds, share],
      String(value),
    );
});

test("whole numbers stand in groups of three digits", () => {
  assert.equal(formatCount(7), "7");
  assert.equal(formatCount(2048), "2,048");
  assert.equal(formatCount(9007199254740991), "9,007,199,254,740,991");
});

test("one thing is not many", () => {
  assert.equal(counted(1, "hop"), "1 hop");
  assert.equal(counted(2048, "chunk"), "2,048 chunks");
  assert.equal(counted(2, "memory", "memories"), "2 memories");
});
