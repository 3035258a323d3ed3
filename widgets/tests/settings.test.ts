import assert from "node:assert/strict";
import { test } from "node:test";
import { applied, renamedLayout } from "#model/settings.ts";
import type { Command, ShownSettings } from "#model/types.ts";
import recorded from "./snapshot.json";

const settings: ShownSettings = {
  ...(recorded.settings as unknown as ShownSettings),
  machine: { kind: "preset", name: "two-node", options: [["nodes", "2"]], path: "" },
  dimensions: [
    { key: 1, name: "x", value: "64" },
    { key: 2, name: "y", value: "32" },
  ],
  fields: [{ key: 3, name: "a", value: "float32" }],
  source: { memory: "node0.sys", layout: "<x_in=4, F, x_out, y>" },
  destination: { memory: "node1.sys", layout: "<F, y, x>" },
};

const after = (...commands: Command[]): ShownSettings => commands.reduce(applied, settings);

test("what is entered is there at once, and nothing else changes", () => {
  assert.equal(after({ kind: "set", field: "source-layout", value: "<" }).source.layout, "<");
  assert.equal(after({ kind: "set", field: "destination-memory", value: "m" }).destination.memory, "m");
  assert.equal(after({ kind: "set", field: "slot-limit", value: "1 MiB" }).slotLimit, "1 MiB");
  assert.equal(after({ kind: "set", field: "memory-limit", value: "2 MiB" }).memoryLimit, "2 MiB");
  assert.equal(after({ kind: "set", field: "planner", value: "full" }).planner, "full");
  const sized = after({ kind: "set", field: "dimension-size", row: 2, value: "7" });
  assert.deepEqual(
    sized.dimensions.map((row) => row.value),
    ["64", "7"],
  );
  assert.equal(sized.dimensions[0], settings.dimensions[0]);
  assert.deepEqual({ ...sized, dimensions: settings.dimensions }, settings);
  assert.equal(after({ kind: "set", field: "field-dtype", row: 3, value: "int8" }).fields[0]?.value, "int8");
  assert.equal(after({ kind: "set", field: "field-name", row: 3, value: "b" }).fields[0]?.name, "b");
});

test("another machine begins without options; an option is added to the others", () => {
  assert.deepEqual(after({ kind: "set", field: "machine", value: "sapling" }).machine, {
    kind: "preset",
    name: "sapling",
    options: [],
    path: "",
  });
  const optioned = after({ kind: "set", field: "machine-option", name: "gpus", value: "4" });
  assert.deepEqual(optioned.machine.options, [
    ["nodes", "2"],
    ["gpus", "4"],
  ]);
});

test("swapping changes the ends with all that they have, and twice changes nothing", () => {
  const swapped = after({ kind: "swap" });
  assert.equal(swapped.source, settings.destination);
  assert.equal(swapped.destination, settings.source);
  assert.deepEqual(after({ kind: "swap" }, { kind: "swap" }), settings);
});

test("a dimension keeps its places in the layouts under its new name", () => {
  const renamed = after({ kind: "set", field: "dimension-name", row: 1, value: "row" });
  assert.equal(renamed.source.layout, "<row_in=4, F, row_out, y>");
  assert.equal(renamed.destination.layout, "<F, y, row>");
  assert.equal(renamedLayout("<x_0=2, F, xx, x_1, x >", "x", "q"), "<q_0=2, F, xx, q_1, q >");
});

test("a name that cannot be is shown and not spread", () => {
  for (const value of ["", "y", "F", "x_in", "1x", "a b"]) {
    const renamed = after({ kind: "set", field: "dimension-name", row: 1, value });
    assert.equal(renamed.dimensions[0]?.name, value);
    assert.equal(renamed.source.layout, settings.source.layout);
  }
});

test("a dimension that takes its own name after another one's leaves the other's places alone", () => {
  const shared = { ...settings, dimensions: settings.dimensions.map((row) => ({ ...row, name: "x" })) };
  const renamed = applied(shared, { kind: "set", field: "dimension-name", row: 2, value: "z" });
  assert.equal(renamed.dimensions[1]?.name, "z");
  assert.equal(renamed.source.layout, settings.source.layout);
});

test("what only the kernel knows the outcome of waits for it", () => {
  for (const command of [
    { kind: "undo" },
    { kind: "add-dimension" },
    { kind: "example", value: "tile" },
    { kind: "run" },
  ] as const)
    assert.equal(after(command), settings);
});
