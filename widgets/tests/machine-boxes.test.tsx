// Boxes in boxes on the machine canvas: where they lie, which channels are one line, what a plan leaves of them, how one is edited.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rect } from "#lib/geometry.ts";
import type { CanvasPart, DrawnMemory, DrawnResource } from "#model/types.ts";
import { arranged, boxOf } from "#views/machine-canvas/arrangement.ts";
import { boxesOf, outerOf, tagsOf } from "#views/machine-canvas/boxes.ts";
import { boxAt } from "#views/machine-canvas/pointing.ts";
import { bundleWords, endName, memoryBox, moved, type Route, type Scene, sceneOf } from "#views/machine-canvas/scene.ts";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, enter, find, press, show } from "./page.ts";

closeAfterEach();

const PAIRS = 4;

/** Two nodes of two sockets, each with two PCIe switches with a GPU and a NIC. */
function cluster(): CanvasPart {
  const base = aSnapshot().panes.machine?.canvas;
  const [first] = base?.memories ?? [];
  const [like] = base?.channels ?? [];
  assert.ok(base && first && like);
  const memories: DrawnMemory[] = [];
  const resources: DrawnResource[] = [];
  const functions = [10e9, 50e9].map((bandwidth) => ({ ...base.functions[0], bandwidth })) as CanvasPart["functions"];
  for (const node of [0, 1]) {
    const add = (short: string, kind: string, within: string[]): void => {
      memories.push({ ...first, name: `node${node}.${short}`, short, kind, node, place: null, within });
    };
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const socket = `socket ${Math.floor(pair / 2)}`;
      add(`fbm${pair}`, "FBM", [socket, `PCIe switch ${pair}`, `GPU ${pair}`]);
      add(`reg${pair}`, "REG", [socket]);
      for (const way of ["in", "out"])
        resources.push({
          name: `node${node}.nic${pair}.${way}`,
          capacity: 50e9,
          held: false,
          origin: "",
          node,
          within: [socket, `PCIe switch ${pair}`, `NIC ${pair}`],
        });
    }
    for (const socket of [0, 1])
      for (const kind of ["SYS", "ZCM"]) add(`${kind.toLowerCase()}${socket}`, kind, [`socket ${socket}`]);
    add("dsk", "DSK", []);
  }
  const places = new Map(memories.map(({ name }, place) => [name, place]));
  const channels: CanvasPart["channels"] = [];
  const join = (one: string, other: string, fast = 0): void => {
    for (const [from, to] of [
      [one, other],
      [other, one],
    ]) {
      const [source = -1, destination = -1] = [places.get(from ?? ""), places.get(to ?? "")];
      channels.push({ ...like, name: `${from}->${to}`, source, destination, function: fast, uses: [] });
    }
  };
  for (const node of [0, 1])
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const gpu = `node${node}.fbm${pair}`;
      const host = Math.floor(pair / 2);
      join(gpu, `node${node}.sys${host}`);
      join(gpu, `node${node}.zcm${host}`, 1);
      join(`node${node}.dsk`, gpu);
      for (let other = 0; other < pair; other += 1) join(`node${node}.fbm${other}`, gpu, 1);
      if (node === 0) join(gpu, `node1.fbm${pair}`, 1);
    }
  return { ...base, memories, resources, channels, functions };
}

const contains = (outer: Rect, inner: Rect): boolean =>
  inner.x > outer.x &&
  inner.y > outer.y &&
  inner.x + inner.width < outer.x + outer.width &&
  inner.y + inner.height < outer.y + outer.height;
const meet = (one: Rect, other: Rect): boolean =>
  one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;

/** Every box lies in the one around it, and meets none beside it. */
function checkBoxes(scene: Scene): void {
  const frame = (key: string): Rect => {
    const found = scene.frames.get(key);
    assert.ok(found !== undefined, `no frame for ${key}`);
    return found;
  };
  for (const box of scene.boxes.values()) {
    const parts = [
      ...box.inner.map(({ key }) => ({ name: key, rect: frame(key) })),
      ...box.memories.map(({ name }) => ({ name, rect: memoryBox(scene, name) })),
    ];
    parts.forEach(({ name, rect }, one) => {
      assert.ok(contains(frame(box.key), rect), `${name} leaves ${box.key}`);
      for (const other of parts.slice(one + 1)) assert.ok(!meet(rect, other.rect), `${name} on ${other.name}`);
    });
  }
  scene.nodes.forEach(({ key }, one) => {
    for (const other of scene.nodes.slice(one + 1)) assert.ok(!meet(frame(key), frame(other.key)), `${key} on ${other.key}`);
  });
}

test("boxes lie in their boxes, also those without a memory, and after one was moved", () => {
  const scene = sceneOf(cluster());
  assert.equal(scene.boxes.size, 2 * (1 + 2 + 3 * PAIRS));
  checkBoxes(scene);
  const gpu = memoryBox(scene, "node0.fbm1");
  assert.equal(boxAt(scene, { x: gpu.x + 5, y: gpu.y + 5 })?.key, "0/socket 0/PCIe switch 1/GPU 1");
  assert.equal(outerOf("0/socket 0/PCIe switch 1"), "0/socket 0");
  assert.equal(outerOf("0"), null);
  const before = scene.frames.get("0/socket 0/PCIe switch 1");
  scene.places.set("node0.fbm1", { x: gpu.x + 30, y: gpu.y });
  moved(scene, ["node0.fbm1"]);
  assert.notDeepEqual(scene.frames.get("0/socket 0/PCIe switch 1"), before);
});

test("memories of one box that were placed by hand keep their places, and a new one stands in their box", () => {
  const part = cluster();
  const placed = part.memories.map((each, number) => ({ ...each, place: [200 * number, 0] }));
  const fresh: DrawnMemory = { ...(placed[0] as DrawnMemory), name: "node0.fbm9", place: null };
  const memories = [...placed, fresh];
  const places = arranged(memories, boxesOf(memories, []));
  assert.deepEqual(places.get("node0.reg0"), { x: 200, y: 0 });
  const [own, new_] = [places.get("node0.fbm0"), places.get("node0.fbm9")];
  assert.ok(own !== undefined && new_ !== undefined && own.x === new_.x && new_.y > own.y + boxOf(own).height);
});

test("channels between two boxes are one line, with their number and rates, both ways", () => {
  const scene = sceneOf(cluster());
  const told = scene.bundles.map((bundle) => `${endName(bundle.from)} – ${endName(bundle.to)}: ${bundleWords(bundle)}`);
  assert.ok(told.includes("PCIe switch 0 – node0.sys0: 1 channel each way, 10 GB/s"), told.join("; "));
  assert.ok(told.includes("PCIe switch 0 – PCIe switch 1: 1 channel each way, 50 GB/s"));
  assert.ok(told.includes("socket 0 – socket 1: 4 channels each way, 50 GB/s"));
  assert.ok(told.includes("node 0 – node 1: 4 channels each way, 50 GB/s"));
  assert.ok(told.includes("node0.dsk – socket 1: 2 channels each way, 10 GB/s"));
  assert.ok(scene.bundles.every(({ gathers, both }) => gathers && both));
  // All channels that are not within a memory are in exactly one of them.
  const inside = scene.bundles.flatMap(({ edges }) => edges.map(({ name }) => name));
  assert.equal(new Set(inside).size, inside.length);
  assert.equal(inside.length, scene.edges.length);
  const from = scene.edges.filter(({ source }) => source === "node0.fbm0");
  const mixed = { edges: from, count: from.length, there: from.length } as unknown as Parameters<typeof bundleWords>[0];
  assert.match(bundleWords(mixed), /^\d+ channels, 10 to 50 GB\/s$/);
});

test("only what the plan uses leaves its memories, channels and resources, with their boxes", () => {
  const part = cluster();
  const uses = [[part.resources.findIndex(({ name }) => name === "node0.nic2.out"), 1]];
  const channels = part.channels.map((each) => (each.name === "node0.fbm2->node1.fbm2" ? { ...each, uses } : each));
  const hop = { number: 0, slowest: true, converts: false };
  const only: Route = {
    hops: new Map([["node0.fbm2->node1.fbm2", hop]]),
    stops: new Map([
      ["node0.fbm2", 0],
      ["node1.fbm2", 1],
    ]),
  };
  const scene = sceneOf({ ...part, channels }, undefined, only);
  assert.deepEqual(
    scene.memories.map(({ name }) => name),
    ["node0.fbm2", "node1.fbm2"],
  );
  assert.deepEqual(
    scene.edges.map(({ name, index }) => [name, channels[index]?.name]),
    [["node0.fbm2->node1.fbm2", "node0.fbm2->node1.fbm2"]],
  );
  assert.ok(scene.boxes.has("0/socket 1/PCIe switch 2/NIC 2") && !scene.boxes.has("1/socket 1/PCIe switch 2/NIC 2"));
  checkBoxes(scene);
});

test("the two directions of a resource are one tag", () => {
  const { memories, resources } = cluster();
  const nic = boxesOf(memories, resources).get("0/socket 0/PCIe switch 1/NIC 1");
  assert.ok(nic !== undefined);
  assert.deepEqual(
    tagsOf(nic, resources).map(({ name, places }) => [name, places.map((place) => resources[place]?.name)]),
    [["nic1", ["node0.nic1.in", "node0.nic1.out"]]],
  );
});

test("a box is selected by key, a memory added to it lies in it, and boxes are edited as text", async () => {
  const part = cluster();
  const { model, root } = show(
    aSnapshot((snapshot) => {
      if (snapshot.panes.machine !== null) snapshot.panes.machine.canvas = part;
    }),
    "machine",
  );
  await drawn();
  press(find(root, "canvas-memory-node0.fbm1"), "b");
  await drawn();
  assert.match(find(root, "edit-box").textContent ?? "", /GPU 1/);
  press(find(root, "canvas-memory-node0.fbm1"), "b");
  await drawn();
  assert.match(find(root, "edit-box").querySelector("h3")?.textContent ?? "", /PCIe switch 1/);
  find(root, "add-FBM").click();
  press(find(root, "canvas-memory-node1.dsk"), "Enter");
  await drawn();
  const within = find<HTMLInputElement>(root, "memory-within");
  enter(within, "socket 0 / drives");
  press(within, "Enter");
  const sent = model.sent.filter(({ kind }) => kind === "edit-machine").map(({ edit }) => edit as Record<string, unknown>);
  assert.deepEqual(sent[0]?.within, ["socket 0", "PCIe switch 1"]);
  assert.deepEqual([sent[0]?.node, sent[0]?.place], [0, null]);
  assert.deepEqual(sent[1], { do: "set-memory", memory: "node1.dsk", field: "within", value: "socket 0 / drives" });
});
