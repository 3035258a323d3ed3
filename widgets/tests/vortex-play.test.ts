// The switch that is watched: moves, ways, words, kinds of traffic and the curve.
import assert from "node:assert/strict";
import { test } from "node:test";
import { KINDS, type Kind, packetsOf } from "#model/vortex/kinds.ts";
import { curveOf, LOADS, type LoadPoint, Play, partsOf, type Way, wayWords } from "#model/vortex/play.ts";

const shape = { heights: 16, angles: 3, inputs: [0, 2], outputs: [1, 2] };

function played(kind: Kind, load: number, cycles: number): { play: Play; ways: Set<Way> } {
  const play = new Play(shape, packetsOf(kind, shape, load, 3));
  const ways = new Set<Way>();
  for (let cycle = 0; cycle < cycles; cycle++) {
    play.step();
    for (const { way } of play.moves) ways.add(way);
  }
  return { play, ways };
}

test("the hops of every packet are its moves: inwards, bits, twice its deflections, and round", () => {
  const { ways } = played("uniform", 1, 300);
  const left = [...ways].filter((way) => way.left);
  assert.ok(left.length > 1000 && left.some((way) => way.deflections > 3));
  for (const way of left) {
    const { hops, inwards } = partsOf(shape, way);
    assert.equal(way.places.length - 1, hops);
    assert.equal(way.kinds.filter((kind) => kind === "deflected").length, way.deflections);
    assert.equal(way.kinds.filter((kind) => kind === "inwards").length, inwards);
    assert.equal(way.places.at(-1)! % shape.heights, way.output % shape.heights);
  }
});

test("a packet moves from node to node, and no two are at one; who is deflected finds the node within taken", () => {
  const { play } = played("uniform", 1, 40);
  const before = new Map(play.moves.map((move) => [move.way, move.to]));
  play.step();
  const places = play.moves.filter(({ to }) => to >= 0).map(({ to, angle }) => `${to} ${angle}`);
  assert.equal(new Set(places).size, places.length);
  const deflected = play.moves.filter(({ kind }) => kind === "deflected");
  assert.ok(deflected.length > 5);
  for (const { from, way, kind } of play.moves) if (kind !== "enters") assert.equal(from, before.get(way));
  for (const { signal, angle } of deflected) assert.ok(places.includes(`${signal} ${angle}`));
});

test("the words on a packet have the sum of its hops", () => {
  const way = {
    number: 1088,
    input: 1,
    output: 16 + 6,
    since: 1,
    places: new Array<number>(12),
    kinds: [],
    deflections: 2,
    left: true,
  };
  assert.equal(
    wayWords(shape, way),
    "Packet 1,088 goes from input 1 (height 0001) to output 22 (height 0110). It has left after 11 hops: 4 inwards + 3 for the bits that differ + 2 × 2 for deflections + 0 round to its angle = 11.",
  );
});

test("kinds of traffic: a permutation has all outputs once, a transposition all in turn, bursts come together", () => {
  for (const kind of Object.keys(KINDS) as Kind[]) {
    const traffic = packetsOf(kind, shape, 1, 5);
    const outputs = Array.from({ length: 32 }, (_, port) => traffic.output(port));
    assert.ok(outputs.every((output) => output >= 0 && output < 32));
    const first = new Set(outputs).size;
    if (kind === "permutation" || kind === "words" || kind === "nodes") assert.equal(first, 32);
    if (kind === "permutation")
      assert.deepEqual(
        outputs,
        Array.from({ length: 32 }, (_, port) => traffic.output(port)),
      );
    if (kind === "first") assert.equal(first, 1);
    if (kind === "words") assert.equal(traffic.output(7), (outputs[7]! + 1) % 32);
  }
});

test("the curve bends where the switch is full: delivered stays, latency with the wait rises", () => {
  const points = [
    ...curveOf({ heights: 8, angles: 1, inputs: [0], outputs: [0] }, (load) =>
      packetsOf("uniform", { heights: 8, angles: 1, inputs: [0], outputs: [0] }, load, 1),
    ),
  ].filter((point): point is LoadPoint => point !== null);
  assert.deepEqual(
    points.map(({ load }) => load),
    [...LOADS],
  );
  const at = (load: number): LoadPoint => points.find((point) => point.load === load)!;
  assert.ok(Math.abs(at(0.1).throughput - 0.1) < 0.01);
  assert.ok(Math.abs(at(1).throughput - 0.366) < 0.012, `saturated ${at(1).throughput}`);
  assert.ok(Math.abs(at(0.6).throughput - at(1).throughput) < 0.015);
  assert.ok(at(0.02).total < 8 && at(1).total > 5 * at(0.02).total && at(1).latency < 2 * at(0.02).latency);
});
