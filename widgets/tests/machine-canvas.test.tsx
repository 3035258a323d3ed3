// The machine canvas: where memories lie, how lines go, what gestures and controls send, what is refused beside them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { neighbour } from "#lib/board.ts";
import { along, between, border, boxAround, distance, grown, holds, loop, type Rect } from "#lib/geometry.ts";
import type { CanvasPart, DrawnMemory, MachineEdit, Snapshot } from "#model/types.ts";
import { formatRate } from "#model/units.ts";
import { arranged, BOX, boxOf, framesOf, measureOf } from "#views/machine-canvas/arrangement.ts";
import { boxesOf } from "#views/machine-canvas/boxes.ts";
import { rateAt, within } from "#views/machine-canvas/curve-editor.tsx";
import { fittingFrom } from "#views/machine-canvas/drawing.tsx";
import { bundleWords, sceneOf, widthOf } from "#views/machine-canvas/scene.ts";
import { found } from "#views/machine-canvas/search.tsx";
import { brief } from "#views/machine-canvas/shape.tsx";
import { Stage } from "#views/machine-canvas/stage.ts";
import { aSnapshot, type FakeModel } from "./model.ts";
import { closeAfterEach, drawn, enter, find, press, type Shown, show } from "./page.ts";

closeAfterEach();

const part = (): CanvasPart => {
  const canvas = aSnapshot().panes.machine?.canvas;
  assert.ok(canvas);
  return canvas;
};

const memory = (
  name: string,
  kind: string,
  node = 0,
  place: [number, number] | null = null,
  within: string[] = [],
): DrawnMemory => ({
  name,
  short: name.split(".")[1] ?? name,
  kind,
  node,
  capacity: null,
  slotLimit: null,
  label: "",
  emulated: false,
  device: "",
  here: true,
  place,
  within,
});

const cluster = (nodes: number): DrawnMemory[] =>
  Array.from({ length: nodes }, (_, node) =>
    ["SYS", "REG", "ZCM", "FBM", "DSK"].map((kind) => memory(`node${node}.${kind.toLowerCase()}`, kind, node)),
  ).flat();

const meet = (one: ReturnType<typeof boxOf>, other: ReturnType<typeof boxOf>): boolean =>
  one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;

test("memories without positions are placed by kind, none on another, nodes apart", () => {
  const memories = [...cluster(7), ...Array.from({ length: 8 }, (_, k) => memory(`node0.fbm${k}`, "FBM"))];
  const places = arranged(memories);
  const boxes = memories.map(({ name }) => boxOf(places.get(name) ?? { x: 0, y: 0 }));
  boxes.forEach((box, one) => boxes.slice(one + 1).forEach((other) => assert.ok(!meet(box, other))));
  const nodes = boxesOf(memories, []);
  const frames = [...framesOf(nodes.values(), places, measureOf(nodes)).values()];
  assert.equal(frames.length, 7);
  frames.forEach((frame, one) => frames.slice(one + 1).forEach((other) => assert.ok(!meet(frame, other))));
  assert.ok((places.get("node1.fbm")?.y ?? 0) < (places.get("node1.sys")?.y ?? 0));
});

test("a position of its own is kept, and a new memory stands beside its node", () => {
  const memories = [
    memory("node0.sys", "SYS", 0, [40, 50]),
    memory("node0.zcm", "ZCM", 0, [300, 50]),
    memory("node0.fbm0", "FBM"),
    memory("node1.sys", "SYS", 1),
  ];
  const places = arranged(memories);
  assert.deepEqual(places.get("node0.sys"), { x: 40, y: 50 });
  assert.ok((places.get("node0.fbm0")?.y ?? 0) > 50 + BOX.height);
  assert.ok((places.get("node1.sys")?.x ?? 0) > 300 + BOX.width);
});

test("arrow keys find the next memory in their direction", () => {
  const places = arranged(cluster(2));
  assert.equal(neighbour(places, "node0.sys", "ArrowRight"), "node0.dsk");
  assert.equal(neighbour(places, "node0.sys", "ArrowUp"), "node0.zcm");
  assert.equal(neighbour(places, "node1.fbm", "ArrowUp"), null);
  assert.equal(neighbour(places, "node0.sys", "x"), null);
});

test("lines begin and end at the edges of their boxes, and loops outside of theirs", () => {
  const [one, other] = [boxAround({ x: 0, y: 0 }, 100, 40), boxAround({ x: 300, y: 100 }, 100, 40)];
  const [right, left] = [between(one, other, 20), between(one, other, -20)];
  for (const { from, to } of [right, left]) {
    assert.ok(Math.abs(Math.abs(from.x) - 50) < 1e-6 || Math.abs(Math.abs(from.y) - 20) < 1e-6);
    assert.ok(holds({ ...other, x: other.x - 1e-6, y: other.y - 1e-6, width: other.width + 1, height: other.height + 1 }, to));
  }
  assert.ok(along(right, 0.5).y > along(left, 0.5).y);
  assert.ok(distance(right, along(right, 0.37)) < 2);
  assert.deepEqual(border(one, { x: 500, y: 0 }), { x: 50, y: 0 });
  for (const place of [0, 1, 2]) assert.ok(!holds(one, along(loop(one, place), 0.5)));
  assert.ok(distance(loop(one, 0), along(loop(one, 1), 0.5)) > 5);
});

test("channels between two memories lie apart, in both directions", () => {
  const base = part();
  const two: CanvasPart = { ...base, memories: [memory("a", "SYS"), memory("b", "ZCM")], resources: [] };
  const channel = base.channels[0];
  assert.ok(channel !== undefined);
  const ends = [
    [0, 1],
    [0, 1],
    [1, 0],
    [0, 0],
    [0, 0],
  ] as const;
  const scene = sceneOf({
    ...two,
    channels: ends.map(([source, destination], k) => ({ ...channel, name: `c${k}`, source, destination, uses: [] })),
  });
  scene.edges.forEach((edge, one) =>
    scene.edges
      .slice(one + 1)
      .forEach((other) => assert.ok(distance(edge.curve, along(other.curve, 0.5)) > 4, `${edge.name} and ${other.name}`)),
  );
  assert.ok(widthOf(1e8) < widthOf(1e9) && widthOf(1e9) < widthOf(1e11));
});

test("many channels between two memories are one line, and many lines between two nodes are one as well", () => {
  const base = part();
  const memories = [memory("a", "SYS"), memory("b", "REG"), memory("c", "SYS", 1), memory("d", "REG", 1)];
  const channel = base.channels[0];
  assert.ok(channel !== undefined);
  const ends = [0, 1].flatMap((from) => [2, 3].flatMap((to) => [0, 1, 2].map((k) => [from, to, k] as const)));
  const channels = [...ends, [0, 1, 0], [2, 0, 0]].map(([source = 0, destination = 0, k = 0]) => ({
    ...channel,
    name: `${source}${destination}${k}`,
    source,
    destination,
    uses: [],
  }));
  const scene = sceneOf({ ...base, memories, resources: [], channels });
  assert.equal(scene.edges.length, 14);
  assert.deepEqual(
    scene.lines.map(({ name }) => name),
    ["020", "030", "120", "130", "010", "200"],
  );
  const [first, second] = scene.edges;
  assert.ok(first !== undefined && second !== undefined);
  assert.deepEqual(
    first.beside.map(({ name }) => name),
    ["020", "021", "022"],
  );
  assert.equal(second.curve, first.curve);
  assert.deepEqual(
    scene.bundles.map(({ from, to, gathers, both }) => [from, to, gathers, both]),
    [["0", "1", true, true]],
  );
  assert.deepEqual(
    scene.edges.filter(({ gathered }) => !gathered).map(({ name }) => name),
    ["010"],
    "a line within a node is its own, and one back to it is not",
  );
});

test("two nodes with nine channels each way are one line, and every line at rest lies in what is shown", () => {
  const base = part();
  const kinds = ["SYS", "REG", "ZCM"];
  const memories = [0, 1].flatMap((node) => kinds.map((kind) => memory(`${node}${kind}`, kind, node)));
  const channel = base.channels[0];
  assert.ok(channel !== undefined);
  const ends = [0, 1, 2].flatMap((from) => [3, 4, 5].flatMap((to) => [[from, to] as const, [to, from] as const]));
  const channels = [...ends, [0, 0] as const, [2, 1] as const].map(([source, destination]) => ({
    ...channel,
    name: `${source}${destination}`,
    source,
    destination,
    uses: [],
  }));
  const scene = sceneOf({ ...base, memories, resources: [], channels });
  assert.deepEqual(scene.bundles.map(bundleWords), [`9 channels each way, ${formatRate(scene.edges[0]?.rate ?? 0)}`]);
  assert.deepEqual(
    scene.edges.filter(({ gathered }) => !gathered).map(({ name }) => name),
    ["00", "21"],
  );
  const stage = new (class extends Stage {
    all(): Rect | null {
      return this.bounds(scene);
    }
  })();
  const shown = stage.all();
  assert.ok(shown !== null);
  for (const { curve } of [...scene.lines.filter(({ gathered }) => !gathered), ...scene.bundles])
    for (let t = 0; t <= 1; t += 0.05) assert.ok(holds(grown(shown, 1), along(curve, t)));
});

test("a channel may lead where its kinds let it", () => {
  const { channelKinds } = part();
  const memories = cluster(2);
  const names = (from: string): string[] => [...fittingFrom({ memories, channelKinds }, from)].sort();
  assert.deepEqual(names("node0.fbm"), [
    "node0.dsk",
    "node0.fbm",
    "node0.reg",
    "node0.sys",
    "node0.zcm",
    "node1.fbm",
    "node1.reg",
    "node1.sys",
    "node1.zcm",
  ]);
  assert.deepEqual(names("node0.dsk"), ["node0.fbm", "node0.reg", "node0.sys", "node0.zcm"]);
  assert.deepEqual(names("node0.reg"), [
    "node0.dsk",
    "node0.fbm",
    "node0.reg",
    "node0.sys",
    "node0.zcm",
    "node1.fbm",
    "node1.reg",
    "node1.sys",
    "node1.zcm",
  ]);
});

test("a point stays between its neighbours", () => {
  const points = [
    { run: 64, rate: 1e6 },
    { run: 4096, rate: 1e8 },
    { run: 65536, rate: 1e9 },
  ];
  const far = within(points, 1, { run: 1e9, rate: 1e12 });
  assert.ok(far.run < 65536 && far.rate === 1e9);
  const near = within(points, 1, { run: 1, rate: 1 });
  assert.ok(near.run > 64 && near.rate === 1e6);
  assert.equal(rateAt(points, 32), 5e5);
  assert.ok(Math.abs(rateAt(points, 512) / 1e7 - 1) < 1e-9);
  assert.equal(rateAt(points, 1e9), 1e9);
});

test("from afar a memory says its kind in a word", () => {
  assert.deepEqual(["GPU memory 3", "registered memory", "registered memory 4", "files", "pinned memory 12"].map(brief), [
    "GPU 3",
    "registered",
    "4",
    "files",
    "pinned 12",
  ]);
});

test("search finds by name and by words", () => {
  const canvas = { ...part(), memories: cluster(3), channels: [] };
  assert.deepEqual(
    found(canvas, "pinned node1").map(({ title }) => title),
    ["node1.zcm"],
  );
  assert.deepEqual(
    found(canvas, "node2.s").map(({ title }) => title),
    ["node2.sys"],
  );
  assert.deepEqual(found(canvas, "  "), []);
});

const edits = (model: FakeModel): MachineEdit[] =>
  model.sent.filter(({ kind }) => kind === "edit-machine").map((sent) => sent.edit as MachineEdit);

async function canvas(change?: (snapshot: Snapshot) => void): Promise<Shown> {
  const shown = show(aSnapshot(change), "machine");
  await drawn();
  return shown;
}

test("the canvas shows every memory with its kind in words, and its palette adds to the machine", async () => {
  const { model, root } = await canvas();
  for (const { name, kind } of part().memories) {
    const words = part().memoryKinds.find((each) => each.name === kind)?.words ?? "";
    const told = find(root, `canvas-memory-${name}`).textContent ?? "";
    assert.ok(told.startsWith(words) && told.includes(name));
  }
  find(root, "add-FBM").click();
  find(root, "add-node").click();
  find(root, "new-machine").click();
  assert.deepEqual(
    edits(model).map((edit) => edit.do),
    ["add-memory", "add-node", "new"],
  );
});

test("keys on a memory connect, move, rename and delete", async () => {
  const { model, root } = await canvas();
  const [one, other] = part().memories.map(({ name }) => name);
  assert.ok(one !== undefined && other !== undefined);
  const at = (name: string): HTMLElement => find(root, `canvas-memory-${name}`);
  press(at(one), "c");
  await drawn();
  press(at(other), "Enter");
  await drawn();
  press(at(one), "ArrowRight", { shiftKey: true });
  await drawn();
  press(at(one), "F2");
  await drawn();
  const name = find<HTMLInputElement>(root, "rename");
  enter(name, "host");
  press(name, "Enter");
  await drawn();
  press(at(other), "Delete");
  const sent = edits(model);
  assert.deepEqual(sent[0], { do: "connect", source: one, destination: other, channelKind: "" });
  assert.ok(sent[1]?.do === "place" && sent[1].goesOn && Object.keys(sent[1].positions).length === part().memories.length);
  assert.deepEqual(sent[2], { do: "set-memory", memory: one, field: "name", value: "host" });
  assert.deepEqual(sent[3], { do: "delete", memories: [other], channels: [], resources: [] });
});

test("what is refused stays in its field with the reason, and nowhere else", async () => {
  const { model, root } = await canvas();
  const first = part().memories[0]?.name ?? "";
  press(find(root, `canvas-memory-${first}`), "Enter");
  await drawn();
  const capacity = find<HTMLInputElement>(root, "memory-capacity");
  enter(capacity, "much");
  press(capacity, "Enter");
  const last = model.sent.at(-1);
  assert.ok(last !== undefined);
  model.publish((snapshot) => {
    snapshot.frame.refusal = { kind: "edit-machine", client: last.client, number: last.number, message: "size 'much': no size" };
  });
  await drawn();
  assert.equal(find<HTMLInputElement>(root, "memory-capacity").value, "much");
  assert.match(find(root, "error-memory-capacity").textContent ?? "", /no size/);
  assert.equal(root.querySelectorAll("[role=alert]").length, 1);
});

test("a memory that is added is selected, and stays so when it is renamed", async () => {
  const { model, root } = await canvas();
  find(root, "add-SYS").click();
  model.publish((snapshot) => {
    const added = snapshot.panes.machine?.canvas?.memories;
    added?.push(memory("node0.sys2", "SYS"));
  });
  await drawn();
  assert.equal(find<HTMLInputElement>(root, "memory-name").value, "node0.sys2");
  model.publish((snapshot) => {
    const renamed = snapshot.panes.machine?.canvas?.memories.at(-1);
    if (renamed !== undefined) renamed.name = "host";
  });
  await drawn();
  assert.equal(find<HTMLInputElement>(root, "memory-name").value, "host");
});

test("points of a throughput function move by keys, each press between its neighbours", async () => {
  const { model, root } = await canvas();
  const search = find<HTMLInputElement>(root, "machine-search");
  enter(search, part().channels[0]?.name ?? "");
  await drawn();
  press(search, "Enter");
  await drawn();
  find(root, "curve-point-0").focus();
  assert.equal(document.activeElement, find(root, "curve-point-0"));
  press(find(root, "curve-point-0"), "ArrowDown");
  press(find(root, "curve-point-0"), "Delete");
  const sent = edits(model);
  assert.ok(sent[0]?.do === "set-point" && sent[0].point === 0);
  assert.equal(sent[1]?.do, "remove-point");
});
