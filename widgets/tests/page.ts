// An explorer on the page of the tests, as JupyterLab would show it.
import assert from "node:assert/strict";
import { afterEach } from "node:test";
import widget from "#index.tsx";
import type { Snapshot } from "#model/types.ts";
import { aSnapshot, FakeModel } from "./model.ts";

let closing: (() => void)[] = [];

export interface Shown {
  readonly model: FakeModel;
  readonly root: HTMLElement;
  readonly close: () => void;
}

/** A view of a state, on the page until its test ends; `traits` are further ones of the model. */
export function show(state: Snapshot | null = aSnapshot(), pane = "explorer", side = "both", traits = {}): Shown {
  const model = new FakeModel(state, pane, side);
  for (const [name, value] of Object.entries(traits)) model.set(name, value);
  const root = document.createElement("div");
  document.body.append(root);
  const close = widget.render({ model, el: root });
  closing.push(close);
  return { model, root, close };
}

/** Takes every view off the page after each test of a file. */
export function closeAfterEach(): void {
  afterEach(() => {
    for (const close of closing) close();
    closing = [];
    document.body.replaceChildren();
    document.body.removeAttribute("data-jp-theme-light");
  });
}

/** Waits until the page is drawn and its effects have run. */
export async function drawn(): Promise<void> {
  for (let frame = 0; frame < 2; frame += 1) await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** The element with a test id. */
export function find<T extends HTMLElement = HTMLElement>(root: ParentNode, testid: string): T {
  const found = root.querySelector<T>(`[data-testid="${testid}"]`);
  assert.ok(found !== null, `no ${testid} on the page`);
  return found;
}

/** The same, of a part whose code comes when it is first shown. */
export async function found(root: ParentNode, testid: string): Promise<HTMLElement> {
  for (let frame = 0; frame < 200 && root.querySelector(`[data-testid="${testid}"]`) === null; frame += 1) await drawn();
  return find(root, testid);
}

/** Enters a text as a person does. */
export function enter(input: HTMLInputElement, value: string): void {
  input.focus();
  input.value = value;
  input.dispatchEvent(new InputEvent("input", { bubbles: true }));
}

/** Presses a key at an element. */
export function press(element: HTMLElement, key: string, more: KeyboardEventInit = {}): void {
  element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
}

/** The elements with a text of their own that can be seen. */
export function withText(root: HTMLElement): HTMLElement[] {
  return [...root.querySelectorAll<HTMLElement>("*")].filter(
    (element) =>
      element.checkVisibility({ visibilityProperty: true }) &&
      element.closest(".iv-hidden") === null &&
      [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && (node.textContent ?? "").trim() !== ""),
  );
}
