import assert from "node:assert/strict";
import { test } from "node:test";
import { meet } from "#lib/geometry.ts";
import { hopOfTrack, loadsOf, selectedTrack, type TrackHop, tracksOf } from "#model/tracks.ts";
import type { NetworkPart, PlanPart, ShownLeg, ShownNetwork } from "#model/types.ts";
import { linesOf, linesOfTrack, pointOn } from "#views/network/net-lines.ts";
import { addressOf, netScene, stationBox } from "#views/network/net-scene.ts";
import { placesOf, unrolled } from "#views/network/places.ts";
import { aSnapshot } from "./model.ts";

test("nodes stand around the switch of a data vortex, in their order, and their lines end at its ports", () => {
  for (const [count, sizes] of [
    [2, [2, 2, 1, 1]],
    [12, [4, 8, 4, 4]],
    [32, [6, 32, 4, 1]],
    [64, [7, 64, 3, 2]],
  ] as const) {
    const ports = [{ router: 0, count: 1, before: "node0.dv", number: null, after: "" }];
    for (let node = 1; node < count; node += 1) ports.push({ ...ports[0]!, before: `node${node}.dv` });
    const others = Array.from({ length: count }, (_, node) => `node${node}.sys`);
    const vortex = network({ shape: "vortex", sizes: [...sizes], axes: [], points: [[1, 0, 0, 0, 0]], routers: 1, ports });
    const scene = netScene({ networks: [vortex], others, legs: [] }, []);
    const [placed] = scene.networks;
    assert.equal(scene.stations.length, 2 * count);
    const [box, centre] = [placed!.box, placed!.at(0)];
    assert.equal(box.width, box.height);
    const boxes = scene.stations.map(({ place }) => stationBox(place));
    boxes.forEach((one, k) => {
      assert.ok(!meet(one, box), `${scene.stations[k]!.name} lies on the switch`);
      for (const other of boxes.slice(k + 1)) assert.ok(!meet(one, other), `${count} nodes: two memories in one place`);
    });
    const far = ({ x, y }: { x: number; y: number }): number => Math.hypot(x - centre.x, y - centre.y);
    const ends = others.map((_, node) => placed!.end(0, scene.placeOf(`node${node}.dv`)!));
    for (const [node, end] of ends.entries()) {
      assert.ok(Math.abs(far(end) - far(ends[0]!)) < 1e-9);
      const card = scene.placeOf(`node${node}.dv`)!;
      assert.ok(far(card) > far(end) && far(card) <= far(scene.placeOf(`node${node}.sys`)!) + 1e-6, "the card is nearer");
    }
    const turned = ends.map(({ x, y }) => (Math.atan2(y - centre.y, x - centre.x) + 2.5 * Math.PI + 1e-9) % (2 * Math.PI));
    assert.deepEqual(
      turned,
      [...turned].sort((one, other) => one - other),
      "clockwise from the top",
    );
    const leg = {
      hop: 0,
      network: 0,
      links: [
        { name: "in", source: -1, destination: 0, capacity: 1 },
        { name: "all", source: 0, destination: 0, capacity: 9 },
        { name: "out", source: 0, destination: -1, capacity: 1 },
      ],
    };
    const hop = { number: 0, source: "node0.dv", destination: "node1.dv", leg } as unknown as TrackHop;
    const lines = linesOfTrack(scene, { number: 0, hops: [hop] });
    assert.equal(lines.length, 3);
    assert.deepEqual(lines[1]!.bend, centre, "through the switch, not along its edge");
    const held = linesOf(scene, hop, 0, leg.links[1]!);
    assert.ok(held.length > 3 && held.every((line) => far(line.from) < far(ends[0]!)), "the whole switch is a ring");
    assert.deepEqual(
      held.map(({ to }) => [to.x, to.y].map(Math.round)),
      [...held.slice(1), held[0]!].map(({ from }) => [from.x, from.y].map(Math.round)),
    );
  }
});

test("runs of numbers are the rows that they stand for", () => {
  assert.deepEqual(unrolled([]), []);
  assert.deepEqual(
    unrolled([
      [3, 0, 1, 1, 2],
      [1, 7, 7, 0, 0],
    ]),
    [
      [0, 1],
      [1, 3],
      [2, 5],
      [7, 7],
    ],
  );
});

test("a step around a torus leaves its panel on one side and comes in on the other", () => {
  const { around, isAcross, at } = placesOf(network());
  assert.deepEqual(at(6), { x: 40, y: 24 });
  assert.equal(around(0, 4), null);
  assert.deepEqual(around(0, 12), { x: 0, y: -1 });
  assert.deepEqual(around(12, 0), { x: 0, y: 1 });
  assert.deepEqual(around(0, 3), { x: -1, y: 0 });
  const two = placesOf(
    network({ axes: [axis("A", 8), axis("B", 2)], points: [[2, 8, 8, 16, 0]], panels: cornersOf(8), routers: 16 }),
  );
  assert.equal(two.around(0, 1), null, "of two routers, both ways lead to the neighbour");
  assert.ok(two.isAcross(1, 2) && !two.isAcross(2, 3));
  assert.deepEqual([at(0), isAcross(0, 15)], [{ x: 8, y: 8 }, false]);
});

test("routers lie where their topology puts them, with links of their widths; what the browser does not know is drawn so, too", () => {
  const own = network({
    shape: "unheard of",
    axes: [],
    points: [[3, 0, 0, 50, 10]],
    routers: 3,
    names: ["a", "b", "c"],
    links: [[2, 0, 1, 2, 1, 1, 0]],
    ports: [{ router: 0, count: 3, before: "node", number: 0, after: ".sys" }],
  });
  const scene = netScene({ networks: [own], others: [], legs: [] }, []);
  const places = scene.names.map((name) => scene.placeOf(name)!);
  assert.deepEqual([places[1]!.x - places[0]!.x, places[2]!.y - places[0]!.y], [50, 20]);
  assert.deepEqual(placesOf(own).links, [
    [0, 1, 2],
    [1, 2, 2],
  ]);
  assert.equal(addressOf(scene, "node1.sys"), "b");
});

const axis = (name: string, size: number, wraps = true) => ({ name, size, wraps });
const cornersOf = (count: number) => Array.from({ length: count }, (_, place) => ({ x: 62 * place, y: 0, title: `A${place}` }));

function network(change: Partial<ShownNetwork> = {}): ShownNetwork {
  return {
    name: "torus",
    kind: "torus",
    words: "torus 4×4",
    shape: "routers",
    sizes: [],
    apart: 16,
    axes: [axis("A", 4), axis("B", 4)],
    panels: [{ x: 0, y: 0, title: "" }],
    alike: true,
    points: [0, 1, 2, 3].map((row) => [4, 8, 8 + 16 * row, 16, 0]),
    reading: "",
    routers: 16,
    names: [],
    links: [],
    rate: 2e9,
    whole: null,
    routing: "dimension order",
    ports: [{ router: 0, count: 16, before: "node", number: 0, after: ".sys" }],
    deadLinks: [],
    deadRouters: [],
    ...change,
  };
}

const leg = (hop: number, ...routers: number[]): ShownLeg => ({
  hop,
  network: 0,
  links: routers.slice(1).map((destination, place) => ({
    name: `torus:${routers[place]}>${destination}`,
    source: routers[place]!,
    destination,
    capacity: 2e9,
  })),
});

/** A plan of two paths from memory 0 to memory 5: over 1, and over 12 around the edge. */
function twoPaths(): { plan: PlanPart; part: NetworkPart } {
  const names = Array.from({ length: 16 }, (_, node) => `node${node}.sys`);
  const plan = aSnapshot().panes.plan!;
  const [path] = plan.paths;
  const [hop] = path!.hops;
  const over = (share: number, ...nodes: number[]) => ({
    ...path!,
    share,
    stops: nodes.map((node) => ({ ...path!.stops[0]!, memory: names[node]!, node })),
    hops: nodes.slice(1).map((node, index) => ({
      ...hop!,
      index,
      source: names[nodes[index]!]!,
      destination: names[node]!,
      rate: 1e9,
      busy: 0.5,
      bottleneck: index === 1,
    })),
  });
  return {
    plan: { ...plan, paths: [over(0.6, 0, 1, 5), over(0.4, 0, 12, 5)] },
    part: { networks: [network()], others: [], legs: [leg(0, 0, 1), leg(1, 1, 5), leg(2, 0, 12), leg(3, 12, 13, 1, 5)] },
  };
}

test("tracks number the hops and stops of all paths on, and are found by either", () => {
  const { plan, part } = twoPaths();
  const tracks = tracksOf(plan, part);
  assert.deepEqual(
    tracks.map(({ proxies, firstStop, firstHop, links }) => ({ proxies, firstStop, firstHop, links })),
    [
      { proxies: ["node1.sys"], firstStop: 0, firstHop: 0, links: 2 },
      { proxies: ["node12.sys"], firstStop: 3, firstHop: 2, links: 4 },
    ],
  );
  assert.equal(selectedTrack(tracks, { stop: null, hop: 1 })?.number, 0);
  assert.equal(selectedTrack(tracks, { stop: null, hop: 3 })?.number, 1);
  assert.equal(selectedTrack(tracks, { stop: 3, hop: null })?.number, 1);
  assert.equal(selectedTrack(tracks, { stop: null, hop: null }), null);
  assert.equal(selectedTrack(tracks, { stop: 17, hop: null }), null);
  assert.equal(hopOfTrack(tracks[1]!), 3, "the slowest hop stands for the track");
});

test("the load of a link is the sum of what goes over it, as a share of what it carries", () => {
  const { plan, part } = twoPaths();
  const loads = loadsOf(tracksOf(plan, part), (hop) => (hop === 1 ? 0.7e9 : hop === 3 ? 1.2e9 : 0));
  const share = Object.fromEntries(loads.map(({ link, share: full }) => [link.name, full]));
  assert.equal(share["torus:0>1"], 0);
  assert.ok(Math.abs(share["torus:1>5"]! - 0.95) < 1e-12, "both paths go over it");
  assert.equal(share["torus:12>13"], 0.6);
  assert.equal(Math.max(...loadsOf(tracksOf(plan, part), () => 9e9).map((each) => each.share)), 1);
});

test("the lines of a track lead from memory to memory, and around the edge of a slice where the torus does", () => {
  const { plan, part } = twoPaths();
  const scene = netScene(part, []);
  for (const track of tracksOf(plan, part)) {
    const lines = linesOfTrack(scene, track);
    const places = track.path.stops.map(({ memory }) => scene.placeOf(memory)!);
    assert.deepEqual(pointOn(lines[0]!, 0), places[0]);
    assert.deepEqual(pointOn(lines.at(-1)!, 1), places.at(-1));
    track.hops.forEach(({ number }, place) => {
      const mine = lines.filter(({ hop }) => hop === number);
      assert.deepEqual(mine[0]!.from, places[place]);
      assert.deepEqual(mine.at(-1)!.to, places[place + 1]);
      assert.equal(mine[0]!.begin, 0);
      assert.equal(mine.at(-1)!.end, 1);
    });
  }
  const around = linesOfTrack(scene, tracksOf(plan, part)[1]!).filter(({ hop }) => hop === 2);
  assert.deepEqual(
    around.map(({ leaves, enters }) => ({ leaves, enters })),
    [
      { leaves: true, enters: false },
      { leaves: false, enters: true },
    ],
  );
});

test("memories hang on routers, stand beside a switch, and have an address where they are on a torus", () => {
  const hub = network({
    name: "ib",
    kind: "switch",
    words: "switch",
    shape: "bar",
    axes: [],
    points: [[1, 0, 0, 0, 0]],
    routers: 1,
    ports: [16, 17].map((number) => ({ router: 0, count: 1, before: "node", number, after: ".sys" })),
  });
  const torus = network();
  torus.ports.push({ router: 5, count: 1, before: "node", number: 16, after: ".sys" });
  const scene = netScene({ networks: [torus, hub], others: ["node17.dsk"], legs: [] }, []);
  assert.equal(addressOf(scene, "node6.sys"), "A1 B2");
  assert.equal(addressOf(scene, "node16.sys"), "");
  assert.deepEqual(scene.homeOf("node5.sys"), { network: 0, router: 5 });
  assert.equal(scene.memoryAt(0, 5), "node5.sys", "the first memory of a router lies at it");
  assert.equal(scene.homeOf("node16.sys"), null);
  assert.deepEqual(
    scene.stations.map(({ name }) => name),
    ["node16.sys", "node17.sys", "node17.dsk"],
    "a memory without a port is drawn where there are few",
  );
  assert.equal(scene.ports.length, 3, "the one at router 5, and two at the switch");
});
