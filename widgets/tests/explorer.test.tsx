// The explorer drawn into a document: what stands where, what is sent when.
import { Window } from "happy-dom";
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import type { Snapshot } from "../src/types.ts";
import { aSnapshot, FakeModel } from "./model.ts";

const window = new Window({ url: "http://localhost/" });
Object.assign(globalThis, { window, document: window.document, HTMLElement: window.HTMLElement, MutationObserver: window.MutationObserver });
const { default: widget } = await import("../src/index.tsx");
const { panes } = await import("../src/panes/pane-table.tsx");
const { doing, shareDone } = await import("../src/panes/run-pane.tsx");
const { strideText } = await import("../src/panes/layout-pane.tsx");
// Renderings and effects as soon as the current task is done: what a test waits for is then a matter of order, not of time.
const { options } = await import("preact");
options.debounceRendering = queueMicrotask;
options.requestAnimationFrame = queueMicrotask;

let closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing) close();
  closing = [];
  document.body.innerHTML = "";
});

function drawn(snapshot: Snapshot | null, pictures: Record<string, string> = {}): { model: FakeModel; root: HTMLElement } {
  const model = new FakeModel(snapshot, pictures);
  const root = document.createElement("div");
  document.body.append(root);
  closing.push(widget.render({ model, el: root }));
  return { model, root };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function find<T extends HTMLElement = HTMLElement>(root: HTMLElement, testid: string): T {
  const found = root.querySelector<T>(`[data-testid="${testid}"]`);
  assert.ok(found, `no ${testid} on the page`);
  return found;
}

function type(input: HTMLInputElement, value: string): void {
  input.value = value;
  input.dispatchEvent(new window.Event("input", { bubbles: true }) as unknown as Event);
}

test("before the first snapshot it says what it waits for", () => {
  const { root } = drawn(null);
  assert.match(find(root, "explorer").textContent ?? "", /Waiting for the kernel/);
});

test("every control has a label of its own and keeps JupyterLab's shortcuts away", () => {
  const { root } = drawn(aSnapshot());
  const controls = [...root.querySelectorAll<HTMLElement>("input, select")];
  assert.ok(controls.length > 10);
  for (const control of controls) {
    const label = root.querySelector(`label[for="${control.id}"]`);
    assert.ok(label?.textContent?.trim(), `${control.dataset["testid"]} has no label`);
  }
  for (const element of root.querySelectorAll<HTMLElement>("input, select, button, summary, [tabindex]"))
    assert.equal(element.getAttribute("data-lm-suppress-shortcuts"), "true", element.outerHTML.slice(0, 120));
});

test("ids are unique on a page with two explorers", () => {
  drawn(aSnapshot());
  drawn(aSnapshot());
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  assert.ok(ids.length > 20);
  assert.equal(new Set(ids).size, ids.length);
});

test("a restarted kernel is told of, and the controls stop", async () => {
  const { model, root } = drawn(aSnapshot());
  await settle();
  model.dead = true;
  model.disconnect();
  await settle();
  assert.match(find(root, "status").textContent ?? "", /kernel of this explorer is gone/);
  assert.ok(root.querySelector(".iv-body")?.hasAttribute("inert"));
  assert.equal(find(root, "run").getAttribute("aria-disabled"), "true");
});

test("what is typed is sent, stays while the kernel is behind, and gives way to what the kernel says", async () => {
  const { model, root } = drawn(aSnapshot());
  await settle();
  const input = find<HTMLInputElement>(root, "source-layout");
  type(input, "<x, F, y>");
  type(input, "<x, F, y >");
  assert.deepEqual(
    model.sent.map((sent) => sent["value"]),
    ["<x, F, y>", "<x, F, y >"],
  );
  model.publish((snapshot) => {
    snapshot.settings.source.layout = "<x, F, y>";
  }, 1);
  await settle();
  assert.equal(input.value, "<x, F, y >", "a snapshot that is behind must not undo what was typed since");
  model.publish((snapshot) => {
    snapshot.settings.source.layout = "<x, F, y >";
  });
  await settle();
  assert.equal(input.value, "<x, F, y >");
  model.publish((snapshot) => {
    snapshot.settings.source.layout = "<F, x, y>";
  });
  await settle();
  assert.equal(input.value, "<F, x, y>");
});

test("a problem stands beside its control, in words, with a caret, and is tied to it", async () => {
  const { model, root } = drawn(aSnapshot());
  await settle();
  model.publish((snapshot) => {
    snapshot.settings.source.layout = "<F, q>";
    snapshot.problems["source-layout"] = { message: "Unknown dimension; expected x or y", text: "<F, q>", position: 4 };
    snapshot.stale = ["source", "plan"];
  });
  await settle();
  const note = find(root, "error-source-layout");
  assert.match(note.textContent ?? "", /Unknown dimension; expected x or y/);
  assert.equal(note.querySelector("pre")?.textContent, "<F, q>\n    ^");
  const input = find(root, "source-layout");
  assert.equal(input.getAttribute("aria-invalid"), "true");
  assert.equal(input.getAttribute("aria-describedby"), note.id);
});

test("an arrow key moves a chip and the text follows", async () => {
  const { model, root } = drawn(aSnapshot());
  await settle();
  const chip = root.querySelector<HTMLElement>(".iv-chip");
  assert.equal(chip?.textContent, "F");
  chip?.dispatchEvent(new window.KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }) as unknown as Event);
  await settle();
  assert.equal(model.sent.at(-1)?.["value"], "<x, F, y>");
  assert.equal(root.querySelector(".iv-chip")?.textContent, "x", "the order on screen does not wait for the kernel");
});

test("run is sent once, and not while a run is under way", async () => {
  const { model, root } = drawn(
    aSnapshot((snapshot) => {
      snapshot.panes.run.now.canRun = true;
      snapshot.panes.run.now.reason = "";
    }),
  );
  await settle();
  find(root, "run").click();
  assert.equal(model.sent.at(-1)?.kind, "run");
  model.publish((snapshot) => {
    Object.assign(snapshot.panes.run.now, { number: 7, phase: "running", canRun: false, stage: "move", bytesDone: 5, bytes: 18 });
  });
  await settle();
  find(root, "run").click();
  assert.equal(model.sent.filter((sent) => sent.kind === "run").length, 1);
  assert.equal(find(root, "explorer").dataset["running"], "true");
  assert.equal(find(root, "progress").getAttribute("value"), "25");
  find(root, "cancel").click();
  assert.equal(model.sent.at(-1)?.kind, "cancel");
});

test("where it cannot run it says why, ties the reason to the button, and offers this computer", async () => {
  const { model, root } = drawn(
    aSnapshot((snapshot) => {
      Object.assign(snapshot.panes.run.now, { canRun: false, reason: "sapling describes another computer", offerLocal: true });
    }),
  );
  await settle();
  const button = find(root, "run");
  assert.equal(button.getAttribute("aria-disabled"), "true");
  const reason = root.querySelector(`[id="${button.getAttribute("aria-describedby")}"]`);
  assert.match(reason?.textContent ?? "", /another computer/);
  find(root, "use-local").click();
  assert.equal(model.sent.at(-1)?.kind, "use-local");
});

test("the picture is replaced when the kernel draws another", async () => {
  const { model, root } = drawn(aSnapshot(), { source: '<svg id="one"></svg>' });
  await settle();
  assert.ok(find(root, "plot-source").querySelector("#one"));
  (model.get("pictures") as Record<string, string>)["source"] = '<svg id="two"></svg>';
  model.publish(() => undefined);
  await settle();
  assert.ok(find(root, "plot-source").querySelector("#two"));
});

test("a figure to zoom is asked for again with every picture and every theme", async () => {
  const { model, root } = drawn(aSnapshot(), { source: "<svg></svg>", destination: "<svg></svg>" });
  await settle();
  find(root, "zoom-destination").click();
  await settle();
  (model.get("pictures") as Record<string, string>)["destination"] = '<svg id="turned"></svg>'; // with the axes of the other end
  model.publish(() => undefined);
  await settle();
  document.body.setAttribute("data-jp-theme-light", "false");
  await settle();
  document.body.removeAttribute("data-jp-theme-light");
  const asked = model.sent.filter((sent) => sent.kind === "bokeh-figure");
  assert.deepEqual(
    asked.map((sent) => sent["dark"]),
    [false, false, true],
  );
});

test("the revision on the page is that of the snapshot", async () => {
  const { model, root } = drawn(aSnapshot());
  await settle();
  const before = Number(find(root, "explorer").dataset["revision"]);
  model.publish(() => undefined);
  await settle();
  assert.equal(Number(find(root, "explorer").dataset["revision"]), before + 1);
});

test("the static picture beside is hidden while the view lives", () => {
  const { model } = drawn(aSnapshot());
  const count = (): number => [...document.head.querySelectorAll("style")].filter((style) => style.textContent?.includes("isoviz-static")).length;
  assert.equal(count(), 1);
  for (const close of closing) close();
  closing = [];
  assert.equal(count(), 0);
  assert.equal(model.listeners, 0);
});

test("every part of the snapshot has a pane, and every pane is drawn where there is something to show", async () => {
  const snapshot = aSnapshot();
  assert.deepEqual(panes.map((pane) => pane.name).sort(), Object.keys(snapshot.panes).sort());
  const { root } = drawn(snapshot);
  await settle();
  for (const pane of panes) assert.ok(find(root, `pane-${pane.name}`).children.length > 0, pane.name);
  const empty = drawn(
    aSnapshot((next) => {
      Object.assign(next.panes, { plan: null, machine: null });
      next.panes.layout = { source: null, destination: null };
      next.panes.run.now.number = 0;
    }),
  ).root;
  await settle();
  assert.deepEqual(
    [...empty.querySelectorAll<HTMLElement>(".iv-pane")].map((pane) => pane.dataset["testid"]),
    ["pane-layout"],
    "a pane with nothing to show leaves no gap",
  );
});

test("a pane alone has its controls where it needs them, and no other pane", async () => {
  for (const [name, controls] of [["plan", true], ["run", false]] as const) {
    const model = new FakeModel(aSnapshot(), {}, name);
    const root = document.createElement("div");
    document.body.append(root);
    closing.push(widget.render({ model, el: root }));
    await settle();
    assert.deepEqual([...root.querySelectorAll<HTMLElement>(".iv-pane")].map((pane) => pane.dataset["testid"]), [`pane-${name}`]);
    assert.equal(root.querySelector(".iv-panel") !== null, controls);
  }
});

test("quantities are written here, from numbers", async () => {
  const { root } = drawn(
    aSnapshot((snapshot) => {
      assert.ok(snapshot.panes.plan !== null);
      Object.assign(snapshot.panes.plan, { bytes: 64 * 2 ** 20, seconds: 0.0151, throughput: 5.214e9, buffers: 1, bufferBytes: 40 * 2 ** 20 });
      Object.assign(snapshot.panes.plan, { chunks: 2048, chunkBytes: 2 ** 15 });
    }),
  );
  await settle();
  const figures = ["bytes", "seconds", "throughput", "buffers"].map((name) => find(root, `figure-${name}`).textContent);
  assert.deepEqual(figures, ["Moves64 MiB", "Predicted time15.1 ms", "Steady throughput5.21 GB/s", "Buffers40 MiB"]);
  assert.match(find(root, "status").textContent ?? "", /2,048 chunks of 32 KiB, planned for local by/);
});

test("what a run does is said in words, with a share of the bar", () => {
  const run = { ...aSnapshot().panes.run.now, phase: "running", stage: "move", bytesDone: 2 ** 20, bytes: 2 ** 22 } as const;
  assert.equal(doing(run), "1 MiB of 4 MiB moved");
  assert.equal(shareDone(run), 0.225);
  assert.equal(doing({ ...run, stage: "verify" }), "Verifying every byte");
  assert.equal(shareDone({ ...run, stage: "verify" }), 0.9);
  assert.equal(shareDone({ ...run, stage: "prepare" }), 0);
  assert.equal(doing({ ...run, phase: "cancelling" }), "Cancelling");
  assert.equal(shareDone({ ...run, bytes: 0 }), 0);
});

test("strides are told once where all fields share them, and of many fields the first ones", () => {
  assert.equal(strideText([], 1), "");
  assert.equal(strideText([8192], 12), "8,192");
  assert.equal(strideText([4, 8], 2), "4 / 8");
  assert.equal(strideText([1, 2, 3], 12), "1 / 2 / 3 / …");
});

test("a refused command is told to the view that sent it, and to all where nobody knows who did", async () => {
  const { model, root } = drawn(aSnapshot());
  await settle();
  find(root, "swap").click();
  const client = model.sent.at(-1)?.client ?? "";
  const refusal = { kind: "swap", client, number: 1, message: "command 'swap': not today" };
  model.publish((snapshot) => void (snapshot.refusal = refusal));
  await settle();
  assert.match(find(root, "error-command").textContent ?? "", /This was not done.*not today/);
  model.publish((snapshot) => void (snapshot.refusal = { ...refusal, client: "another view" }));
  await settle();
  assert.equal(root.querySelector("[data-testid=error-command]"), null);
  model.publish((snapshot) => void (snapshot.refusal = { ...refusal, client: null }));
  await settle();
  find(root, "error-command");
});

test("undo and redo are offered where there is something to go to", async () => {
  const { model, root } = drawn(aSnapshot());
  await settle();
  find(root, "undo").click();
  assert.equal(model.sent.length, 0);
  model.publish((snapshot) => void Object.assign(snapshot, { canUndo: true, canRedo: true }));
  await settle();
  find(root, "undo").click();
  find(root, "redo").click();
  assert.deepEqual(model.sent.map((sent) => sent.kind), ["undo", "redo"]);
});

test("a described machine is in the menu, has no options, and shows its drawing", async () => {
  const { model, root } = drawn(
    aSnapshot((snapshot) => {
      snapshot.settings.machine = { kind: "described", name: "sketch", options: {} };
      assert.ok(snapshot.panes.machine !== null);
      Object.assign(snapshot.panes.machine, { name: "sketch", memories: 2, channels: 1, drawing: "Machine sketch: …" });
    }),
  );
  await settle();
  const menu = find<HTMLSelectElement>(root, "machine");
  assert.equal(menu.options[menu.selectedIndex]?.textContent, "sketch");
  assert.equal(root.querySelector("[data-testid^=machine-option]"), null);
  assert.match(find(root, "machine-card").textContent ?? "", /Machine sketch2 memories, 1 channel/);
  assert.ok(find(root, "machine-drawing").hasAttribute("open"));
  menu.value = "two-node";
  menu.dispatchEvent(new window.Event("change", { bubbles: true }) as unknown as Event);
  const sent = model.sent.at(-1);
  assert.deepEqual([sent?.kind, sent?.["field"], sent?.["value"]], ["set", "machine", "two-node"]);
});
