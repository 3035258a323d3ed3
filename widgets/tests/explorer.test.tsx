// The explorer drawn into a document: what stands where, what is sent when.
import { Window } from "happy-dom";
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import type { Snapshot } from "../src/types.ts";
import { aSnapshot, FakeModel } from "./model.ts";

const window = new Window({ url: "http://localhost/" });
Object.assign(globalThis, { window, document: window.document, HTMLElement: window.HTMLElement, MutationObserver: window.MutationObserver });
const { default: widget } = await import("../src/index.tsx");
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
