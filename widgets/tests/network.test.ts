import assert from "node:assert/strict";
import { test } from "node:test";
import { hopOfTrack, loadsOf, selectedTrack, tracksOf } from "#model/tracks.ts";
import type { NetworkPart, PlanPart, ShownLeg, ShownNetwork } from "#model/types.ts";
import { gridShape, LETTERS, stepOf } from "#views/network/grid-shape.ts";
import { linesOfTrack, pointOn } from "#views/network/net-lines.ts";
import { addressOf, netScene, readingOf } from "#views/network/net-scene.ts";
import { aSnapshot } from "./model.ts";

const SHAPES = [[1], [7], [4, 8], [8, 8, 8], [4, 4, 4, 4, 2], [2, 2, 2, 2, 2], [4, 2, 4, 4, 2], [4, 4, 16, 16, 2], [3, 1, 5]];

/** Coordinates by counting up, the last dimension fastest: no arithmetic of the drawing. */
function* counted(sizes: readonly number[]): Iterable<number[]> {
  const places = sizes.map(() => 0);
  for (;;) {
    yield [...places];
    let dim = sizes.length - 1;
    while (dim >= 0 && places[dim] === sizes[dim]! - 1) places[dim--] = 0;
    if (dim < 0) return;
    places[dim]! += 1;
  }
}

test("every router of a torus has a place of its own in the slice of its address, and neighbours of a slice lie in line", () => {
  for (const sizes of SHAPES) {
    const shape = gridShape(
      sizes,
      sizes.map((size) => size > 2),
    );
    const seen = new Set<string>();
    let router = 0;
    for (const places of counted(sizes)) {
      const at = shape.at(router);
      assert.deepEqual(shape.coordinates(router), places);
      assert.ok(!seen.has(`${at.x} ${at.y}`), `${sizes}: two routers at one place`);
      seen.add(`${at.x} ${at.y}`);
      const title = shape.outer.map((dim) => `${LETTERS[dim]}${places[dim]}`).join(" ");
      const slice = shape.slices.find((each) => each.title === title);
      assert.ok(slice !== undefined, `${sizes}: no slice ${title}`);
      const { x, y, width, height } = slice.box;
      assert.ok(at.x > x && at.x < x + width && at.y > y && at.y < y + height, `${sizes}: ${places} lies beside ${title}`);
      shape.across.forEach((dim) => {
        if (places[dim]! + 1 < sizes[dim]!) {
          const stride = sizes.slice(dim + 1).reduce((product, size) => product * size, 1);
          assert.equal(shape.at(router + stride).y, at.y, "across stays in its line");
          assert.ok(shape.at(router + stride).x > at.x);
        }
      });
      router += 1;
    }
    assert.equal(shape.cells.routers.length * shape.slices.length, router, `${sizes}: slices hold all routers`);
    for (const { first, box } of [shape.slices[0]!, shape.slices.at(-1)!])
      shape.cells.routers.forEach((offset, each) => {
        const cell = shape.cells.places[each]!;
        assert.deepEqual(shape.at(first + offset), { x: box.x + cell.x, y: box.y + cell.y });
      });
    assert.ok(shape.width < 4.5 * shape.height || sizes.length <= 2, `${sizes} is ${shape.width} by ${shape.height}`);
  }
});

test("a step around a torus is told from one to a neighbour", () => {
  const torus = gridShape([4, 4, 2], [true, true, true]);
  assert.deepEqual(stepOf(torus, 0, 8), { dim: 0, around: false, way: 1 });
  assert.deepEqual(stepOf(torus, 0, 24), { dim: 0, around: true, way: -1 });
  assert.deepEqual(stepOf(torus, 24, 0), { dim: 0, around: true, way: 1 });
  assert.deepEqual(stepOf(torus, 1, 0), { dim: 2, around: false, way: -1 }); // of two routers, both ways lead to the neighbour
});

function network(change: Partial<ShownNetwork> = {}): ShownNetwork {
  return {
    name: "torus",
    kind: "torus",
    words: "torus 4×4",
    form: "grid",
    sizes: [4, 4],
    wraps: [true, true],
    routers: 16,
    names: [],
    links: [],
    rate: 2e9,
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
    form: "switch",
    sizes: [],
    wraps: [],
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
  assert.match(readingOf(scene.networks[0]!), /torus 4×4: B across; A down\. A, B wrap around/);
  assert.equal(readingOf(scene.networks[1]!), "");
});
