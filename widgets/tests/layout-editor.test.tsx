// The layout editor: what it says, what it computes, and what it sends while the kernel is silent.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ArrayControls } from "#app/array-controls.tsx";
import { dropPlace } from "#lib/dragging.ts";
import { caret } from "#lib/error-line.tsx";
import { Connection } from "#model/connection.ts";
import { dimensionProblem, keptByBoth, readEnd, typedDimensions } from "#model/ends.ts";
import { type Linearization, linearize } from "#model/layouts/linearization.ts";
import { type Part, parse } from "#model/layouts/notation.ts";
import type { Snapshot } from "#model/types.ts";
import { ViewContext } from "#model/view.ts";
import { LayoutEditor } from "#views/layout-editor/layout-editor.tsx";
import { wordAt } from "#views/layout-editor/text-field.tsx";
import {
  blockChoices,
  blockEntry,
  chipLabel,
  digitState,
  digitWords,
  firstSplit,
  paddingWords,
  splitWords,
} from "#views/layout-editor/words.ts";
import { aSnapshot, FakeModel } from "./model.ts";
import { drawn as settle } from "./page.ts";

const FIELDS = [
  { name: "a", size: 4 },
  { name: "b", size: 8 },
];

function partsOf(text: string): readonly Part[] {
  const { parts } = parse(text);
  assert.ok(parts !== null, text);
  return parts;
}

function linearOf(text: string, sizes: Record<string, number>): Linearization {
  const { linear } = linearize(text, dimsOf(sizes), FIELDS);
  assert.ok(linear !== null, text);
  return linear;
}

function dimsOf(sizes: Record<string, number>): { name: string; size: number }[] {
  return Object.entries(sizes).map(([name, size]) => ({ name, size }));
}

function stateOf(text: string, at: number, sizes: Record<string, number>): NonNullable<ReturnType<typeof digitState>> {
  const state = digitState(partsOf(text), at, dimsOf(sizes));
  assert.ok(state !== null);
  return state;
}

// ---- words and numbers

test("a component is whole, has a block, or counts the blocks", () => {
  assert.equal(stateOf("<x, F>", 0, { x: 12 }).kind, "whole");
  assert.deepEqual(
    { ...stateOf("<x_in=4, F, x_out>", 0, { x: 12 }), part: null },
    {
      part: null,
      kind: "inner",
      size: 12,
      step: 1,
      extent: 4,
      most: 12,
      choices: [1, 2, 3, 4, 6, 12],
    },
  );
  const top = stateOf("<x_in=4, F, x_out>", 2, { x: 12 });
  assert.deepEqual([top.kind, top.step, top.extent], ["top", 4, 3]);
  assert.equal(digitState(partsOf("<x, F>"), 1, dimsOf({ x: 12 })), null);
  assert.equal(digitState(partsOf("<q, F>"), 0, dimsOf({ x: 12 })), null);
});

test("a block of a middle digit leaves room for its neighbours", () => {
  const middle = stateOf("<x_0=4, x_1=2, F, x_2>", 1, { x: 64 });
  assert.equal(middle.most, 16);
  assert.deepEqual(middle.choices, [1, 2, 4, 8, 16]);
  const lowest = stateOf("<x_0=4, x_1=2, F, x_2>", 0, { x: 64 });
  assert.equal(lowest.most, 32);
});

test("the slider has the divisors, and powers of two where there are too few; the block that is there is among them", () => {
  assert.deepEqual(blockChoices(12, 12, 4), [1, 2, 3, 4, 6, 12]);
  assert.deepEqual(blockChoices(13, 13, 5), [1, 2, 4, 5, 8, 13]);
  assert.deepEqual(blockChoices(12, 6, 5), [1, 2, 3, 4, 5, 6]);
});

test("a split begins in the middle", () => {
  assert.equal(firstSplit(stateOf("<x, F>", 0, { x: 4096 })), 64);
  assert.equal(firstSplit(stateOf("<x, F>", 0, { x: 4098 })), 64, "6 and 683 are far off");
  assert.equal(firstSplit(stateOf("<x, F>", 0, { x: 13 })), 4);
  assert.equal(firstSplit(stateOf("<x, F>", 0, { x: 1 })), null);
  assert.equal(firstSplit(stateOf("<x_in=7, F, x_out>", 0, { x: 49 })), null, "a block of 7 has no digits");
  assert.equal(firstSplit(stateOf("<x_in=8, F, x_out>", 2, { x: 512 })), 8);
});

test("blocks are told with what the last one has", () => {
  assert.equal(digitWords(stateOf("<x_in=4, F, x_out>", 0, { x: 11 })), "3 blocks of 4; the last has 3");
  assert.equal(digitWords(stateOf("<x_in=4, F, x_out>", 2, { x: 12 })), "3 blocks of 4");
  assert.equal(digitWords(stateOf("<x, F>", 0, { x: 4096 })), "x is whole: 4,096 in a row");
  assert.equal(splitWords(stateOf("<x, F>", 0, { x: 10 }), 4), "gives 3 blocks of 4; the last has 2");
});

test("padding is told by dimension and in bytes", () => {
  assert.equal(paddingWords(linearOf("<x, F>", { x: 11 })), "");
  assert.equal(paddingWords(linearOf("<x_in=4, F, x_out>", { x: 11 })), "12 B; the last block of x holds 3 of 4");
});

test("a typed block is a whole number that fits", () => {
  assert.deepEqual(blockEntry(" 1,024 ", 2048), { block: 1024, problem: null });
  assert.equal(blockEntry("5000", 4096).problem, "at most 4,096 fit here");
  assert.equal(blockEntry("0", 8).problem, "expected a whole number from 1 to 8");
  assert.equal(blockEntry("4.5", 8).problem, "expected a whole number from 1 to 8");
  assert.equal(blockEntry("", 8).problem, "expected a whole number from 1 to 8");
});

test("a chip says its place", () => {
  assert.equal(chipLabel("F", 0, 3), "F, 1 of 3, fastest");
  assert.equal(chipLabel({ dim: "x", label: "in", rank: 0, extent: 4 }, 1, 3), "x_in=4, 2 of 3");
});

test("what is wrong is marked as a word, else as a character", () => {
  assert.equal(wordAt("hello, y>"), "hello");
  assert.equal(wordAt("!x"), "!");
  assert.equal(wordAt(""), "");
});

test("the caret stands below the offending character, wide characters counted once", () => {
  assert.equal(caret("<F, q>", 4), "<F, q>\n    ^");
  assert.equal(caret("𝒙 !", 2), "𝒙 !\n  ^");
});

test("a dragged chip belongs after the chips that the pointer has passed, line by line", () => {
  const box = (left: number, top: number) => ({ left, top, width: 40, height: 28 });
  const others = [box(0, 0), box(50, 0), box(0, 35), box(50, 35)];
  assert.equal(dropPlace(others, -5, 10), 0);
  assert.equal(dropPlace(others, 30, 10), 1);
  assert.equal(dropPlace(others, 300, 10), 2);
  assert.equal(dropPlace(others, 10, 40), 2);
  assert.equal(dropPlace(others, 300, 400), 4);
  assert.equal(dropPlace(others, 0, -50), 0);
});

// ---- ends

test("a wrong text keeps the last right layout", () => {
  const spaces = { dims: dimsOf({ x: 8, y: 4 }), fields: FIELDS };
  const right = readEnd("<F, x, y>", spaces, null, undefined);
  assert.equal(right.stale, false);
  const wrong = readEnd("<F, hello>", spaces, right, undefined);
  assert.equal(wrong.problem?.message, "'hello' is not a dimension; expected x or y");
  assert.equal(wrong.problem?.position, 4);
  assert.equal(wrong.parts, right.parts);
  assert.equal(wrong.linear, right.linear);
  assert.equal(wrong.stale, true);
});

test("the kernel's word counts, whichever it is", () => {
  const spaces = { dims: dimsOf({ x: 8 }), fields: FIELDS };
  const refused = readEnd("<F, x>", spaces, null, { message: "no", text: null, position: null });
  assert.equal(refused.problem?.message, "no");
  const allowed = readEnd("<F, x>", spaces, null, null);
  assert.equal(allowed.problem, null);
});

test("arrays beyond what a browser counts have chips, but no numbers", () => {
  const spaces = { dims: dimsOf({ x: 2 ** 50, y: 64 }), fields: FIELDS };
  const end = readEnd("<F, x, y>", spaces, null, undefined);
  assert.equal(end.problem, null);
  assert.equal(end.parts.length, 3);
  assert.equal(end.linear, null);
});

test("both ends tell what they keep", () => {
  const spaces = { dims: dimsOf({ x: 8, y: 4 }), fields: FIELDS };
  const end = (text: string) => readEnd(text, spaces, null, undefined);
  assert.deepEqual(keptByBoth(end("<F, x, y>"), end("<F, x_in=4, y, x_out>")), {
    prefix: 1,
    shares: true,
    suffix: 0,
    runBytes: 48,
    same: false,
  });
  assert.equal(keptByBoth(end("<F, x, y>"), end("<F, x, y>"))?.same, true);
  assert.equal(
    keptByBoth(end("<F, x, y>"), readEnd("<F, x>", { dims: dimsOf({ x: 8 }), fields: FIELDS }, null, undefined)),
    null,
  );
});

test("rows that cannot be are told", () => {
  const row = (name: string, value: string, key = 1) => ({ key, name, value });
  const problem = (name: string, value: string) => dimensionProblem(row(name, value), [row(name, value)]);
  assert.equal(problem("x", "4096"), null);
  assert.equal(problem("x", "12x")?.about, "value");
  assert.equal(problem("x", "0")?.about, "value");
  assert.equal(problem("x", "9".repeat(18)), null);
  assert.equal(problem("x", "9".repeat(19))?.about, "value");
  assert.equal(problem("x", "9".repeat(30))?.about, "value");
  assert.equal(problem("F", "4")?.about, "name");
  assert.equal(problem("x_in", "4")?.about, "name");
  assert.equal(problem("<script>", "4")?.about, "name");
  assert.equal(dimensionProblem(row("x", "4", 2), [row("x", "4", 1), row("x", "4", 2)])?.about, "name");
  assert.equal(typedDimensions(Array.from({ length: 30 }, (_, key) => row(`d${key}`, "2", key))), null);
});

// ---- on the page

let closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing) close();
  closing = [];
  document.body.replaceChildren();
});

function Shown({ connection, array }: { connection: Connection; array: boolean }) {
  const [, again] = useState(0);
  useEffect(() => connection.listen(() => again((count) => count + 1)), [connection]);
  const { snapshot } = connection;
  if (snapshot === null) return null;
  return (
    <ViewContext.Provider value={{ connection, snapshot }}>
      <div class="isoviz">{array ? <ArrayControls /> : <LayoutEditor side="source" />}</div>
    </ViewContext.Provider>
  );
}

async function drawn(
  change: (snapshot: Snapshot) => void = () => undefined,
  array = false,
): Promise<{ model: FakeModel; root: HTMLElement }> {
  const model = new FakeModel(aSnapshot(change));
  const root = document.createElement("div");
  root.style.width = "420px";
  document.body.append(root);
  const connection = new Connection(model);
  render(<Shown connection={connection} array={array} />, root);
  closing.push(() => {
    render(null, root);
    connection.close();
  });
  await settle();
  return { model, root };
}

function find<T extends HTMLElement = HTMLElement>(root: HTMLElement, testid: string): T {
  const found = root.querySelector<T>(`[data-testid="${testid}"]`);
  assert.ok(found, `no ${testid} on the page`);
  return found;
}

const chips = (root: HTMLElement): string[] => [...root.querySelectorAll(".iv-edit-chip")].map((chip) => chip.textContent ?? "");
const press = (element: HTMLElement, key: string): boolean =>
  element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));

function type(input: HTMLInputElement, value: string): void {
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

test("an arrow key moves a chip at once, its text follows, and the focus stays with it", async () => {
  const { model, root } = await drawn();
  assert.deepEqual(chips(root), ["F", "x", "y"]);
  find(root, "chip-F").focus();
  press(find(root, "chip-F"), "ArrowRight");
  await settle();
  assert.deepEqual(chips(root), ["x", "F", "y"]);
  assert.equal(find<HTMLInputElement>(root, "source-layout").value, "<x, F, y>");
  assert.equal(model.sent.at(-1)?.value, "<x, F, y>");
  assert.equal(document.activeElement, find(root, "chip-F"));
  press(find(root, "chip-F"), "End");
  await settle();
  assert.deepEqual(chips(root), ["x", "y", "F"]);
  const sent = model.sent.length;
  press(find(root, "chip-F"), "End");
  await settle();
  assert.equal(model.sent.length, sent, "a move to the same place is no command");
});

test("a dimension is split, its block changed, and made whole again, by keyboard alone", async () => {
  const { root } = await drawn();
  find(root, "chip-x:0").click();
  await settle();
  assert.equal(document.activeElement, find(root, "block-number"));
  find(root, "chip-split").click();
  await settle();
  assert.deepEqual(chips(root), ["F", "x_in=8", "x_out", "y"]);
  assert.equal(document.activeElement, find(root, "block-slider"));
  const slider = find<HTMLInputElement>(root, "block-slider");
  slider.value = "2";
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  await settle();
  assert.equal(find<HTMLInputElement>(root, "source-layout").value, "<F, x_in=4, x_out, y>");
  type(find<HTMLInputElement>(root, "block-number"), "5");
  await settle();
  assert.match(find(root, "layout-editor-source").textContent ?? "", /13 blocks of 5; the last has 4/);
  find(root, "chip-merge").click();
  await settle();
  assert.deepEqual(chips(root), ["F", "x", "y"]);
  press(find(root, "block-number"), "Escape");
  await settle();
  assert.equal(document.activeElement, find(root, "chip-x:0"));
  assert.equal(root.querySelector(".iv-edit-strip"), null);
});

test("a wrong text stays as typed, is told at its place, and leaves the chips", async () => {
  const { model, root } = await drawn();
  const before = root.getBoundingClientRect().height;
  type(find<HTMLInputElement>(root, "source-layout"), "<F, hello, y>");
  await settle();
  assert.equal(find<HTMLInputElement>(root, "source-layout").value, "<F, hello, y>");
  assert.equal(find(root, "error-source-layout").textContent, "'hello' is not a dimension; expected x or y");
  assert.equal(find(root, "source-layout-mark").querySelector("mark")?.textContent, "hello");
  assert.deepEqual(chips(root), ["F", "x", "y"]);
  assert.equal(find(root, "layout-editor-source").dataset.stale, "true");
  assert.equal(root.getBoundingClientRect().height, before, "nothing jumps");
  model.publish((snapshot) => {
    snapshot.settings.source.layout = "<F, hello, y>";
    snapshot.faults.problems["source-layout"] = { message: "The kernel's words", text: "<F, hello, y>", position: 4 };
  });
  await settle();
  assert.equal(find(root, "error-source-layout").textContent, "The kernel's words");
  assert.deepEqual(chips(root), ["F", "x", "y"]);
});

test("a wrong size leaves the chips and says so beside itself", async () => {
  const { root } = await drawn(undefined, true);
  const before = root.getBoundingClientRect().height;
  type(find<HTMLInputElement>(root, "size-x"), "12x");
  await settle();
  assert.match(find(root, "error-size-x").textContent ?? "", /expected one such as 4096, 4Ki, 1e3/);
  assert.equal(find(root, "size-x").getAttribute("aria-invalid"), "true");
  assert.equal(find(root, "name-x").getAttribute("aria-invalid"), "false");
  assert.equal(root.getBoundingClientRect().height, before, "nothing jumps");
});

test("thirty dimensions are refused in words, a name with markup is text, petabytes are told", async () => {
  const many = await drawn((snapshot) => {
    snapshot.settings.dimensions = Array.from({ length: 30 }, (_, key) => ({ key, name: `d${key}`, value: "2" }));
  }, true);
  assert.match(find(many.root, "error-dimensions").textContent ?? "", /30 dimensions are too many; the explorer shows up to 16/);
  assert.equal(find(many.root, "add-dimension").getAttribute("aria-disabled"), "true");
  const odd = await drawn((snapshot) => {
    snapshot.settings.dimensions = [{ key: 1, name: "<script>alert(1)</script>", value: String(2 ** 52) }];
    snapshot.panes.layout.dims = [["y", 2 ** 52]];
  }, true);
  assert.equal(odd.root.querySelector("script"), null);
  assert.match(find(odd.root, "array-extent").textContent ?? "", /PiB/);
});
