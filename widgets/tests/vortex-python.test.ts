// The browser's switch of a Data Vortex against Python's, packet for packet.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Switch, type SwitchShape } from "#model/vortex/switch.ts";
import { type Chances, DrawnPackets, ListedPackets } from "#model/vortex/traffic.ts";
import { pythonCases } from "./python-cases.ts";

interface Run {
  shape: SwitchShape;
  cycles: number;
  list?: [inputs: number[], outputs: number[], cycles: number[]];
  drawn?: Chances;
  seed?: number;
  backlog?: number;
  refused?: number;
  hops: number;
  offered: number;
  packets: [inputs: number[], outputs: number[], entered: number[], left: number[], deflections: number[]];
}

const { runs } = await pythonCases<{ runs: Run[] }>("switch_cases.py", "switch-cases.json");

/** What became of every packet: of a list by its place in there, else in the order in which they entered. */
function packetsOf({ shape, cycles, list, drawn, seed, backlog }: Run) {
  const found = new Switch(shape, backlog);
  const ports = shape.heights * shape.inputs.length;
  const listed = list && new ListedPackets(ports, ...list);
  const traffic = listed ?? new DrawnPackets(ports, shape.heights * shape.outputs.length, drawn!, seed!);
  const count = list?.[0].length ?? 0;
  const columns: Run["packets"] = [
    list ? [...list[0]] : [],
    list ? [...list[1]] : [],
    new Array<number>(count).fill(-1),
    new Array<number>(count).fill(-1),
    new Array<number>(count).fill(0),
  ];
  const [inputs, outputs, entered, left, deflections] = columns;
  const { flights, cells } = found;
  const gone = new Array<number>(ports).fill(0);
  const names = new Map<number, number>(); // by the number of a packet: its row in the columns
  for (let cycle = 0; cycle < cycles; cycle++) {
    found.step(traffic);
    for (const row of found.left) {
      const place = names.get(flights.number[row]!)!;
      left[place] = cycle;
      deflections[place] = flights.deflections[row]!;
    }
    const came = [...cells[0]!].map((word) => word >> found.bits).filter((row) => row >= 0 && flights.entered[row] === cycle);
    for (const row of came.sort((one, other) => flights.number[one]! - flights.number[other]!)) {
      const port = flights.input[row]!;
      const place = listed ? listed.order[port]![gone[port]!++]! : flights.number[row]!;
      names.set(flights.number[row]!, place);
      [inputs[place], outputs[place], entered[place]] = [port, flights.output[row]!, cycle];
      if (!listed) [left[place], deflections[place]] = [-1, 0];
    }
  }
  for (const row of cells.flatMap((words) => [...words].map((word) => word >> found.bits))) {
    if (row >= 0) deflections[names.get(flights.number[row]!)!] = flights.deflections[row]!;
  }
  return { found, columns };
}

test("every packet of a list, and every packet that is drawn, is where Python has it", () => {
  assert.ok(runs.length >= 100 && runs.some(({ drawn }) => drawn?.burst) && runs.some(({ drawn }) => drawn?.to));
  for (const run of runs) {
    const { found, columns } = packetsOf(run);
    assert.deepEqual(columns, run.packets);
    assert.deepEqual([found.hops, found.offered], [run.hops, run.offered]);
    if (run.refused !== undefined) assert.equal(found.refused, run.refused);
  }
  assert.ok(runs.reduce((sum, run) => sum + run.packets[4].reduce((total, count) => total + count, 0), 0) > 10_000);
});

test("a node is asked by its place, and a packet goes one angle further each cycle", () => {
  const found = new Switch({ heights: 8, angles: 3, inputs: [1], outputs: [2] });
  const traffic = new ListedPackets(8, [5], [2], [0]);
  found.step(traffic);
  assert.equal(found.flights.input[found.at(0, 5, 1)], 5);
  const angles: number[] = [];
  while (found.left.length === 0) {
    const place = found.cells.findIndex((cells) => cells.some((row) => row >= 0));
    const heights = [...Array(8).keys()];
    const angle = [0, 1, 2].find((at) => heights.some((height) => found.at(place, height, at) >= 0));
    angles.push(angle!);
    found.step(traffic);
  }
  assert.deepEqual(angles, [1, 2, 0, 1, 2, 0, 1, 2]);
  assert.equal(found.hops, 7);
  assert.throws(() => new Switch({ heights: 65536, angles: 4, inputs: [0], outputs: [0] }), RangeError);
});
