// Keys inside of an explorer: undo, texts, and what JupyterLab gets.
import assert from "node:assert/strict";
import { test } from "node:test";
import { editOf } from "#lib/shortcuts.ts";
import { aSnapshot, type FakeModel } from "./model.ts";
import { closeAfterEach, drawn, find, press, show } from "./page.ts";

closeAfterEach();

/** What was sent, without what a view asks for when it appears: that comes when the browser has time. */
const kinds = (model: FakeModel): string[] => model.sent.map((sent) => sent.kind).filter((kind) => kind !== "runs");

test("undo and redo of the explorer by key, but not inside of a text", async () => {
  const { model, root } = show(aSnapshot());
  await drawn();
  press(find(root, "stop-0"), "z", { ctrlKey: true });
  press(find(root, "stop-0"), "Z", { ctrlKey: true, shiftKey: true });
  press(find(root, "source-layout"), "z", { ctrlKey: true });
  assert.deepEqual(kinds(model), ["undo", "redo"]);
  assert.equal(editOf({ key: "z", ctrlKey: false, metaKey: true, altKey: false, shiftKey: false }), "undo");
  assert.equal(editOf({ key: "z", ctrlKey: true, metaKey: false, altKey: true, shiftKey: false }), null);
});

test("undo inside of a text is the text's own: JupyterLab, which listens at the text, does not hear of it", async () => {
  const { root } = show(aSnapshot());
  await drawn();
  const heard: string[] = [];
  for (const name of ["source-layout", "stop-0"]) {
    const element = find(root, name);
    element.addEventListener("beforeinput", (event) => heard.push(`${name} ${(event as InputEvent).inputType}`));
    for (const inputType of ["historyUndo", "insertText"])
      element.dispatchEvent(new InputEvent("beforeinput", { inputType, bubbles: true, cancelable: true }));
  }
  assert.deepEqual(heard, ["source-layout insertText", "stop-0 historyUndo", "stop-0 insertText"]);
});

test("Escape gives up a name that is being typed, and the drawer stays", async () => {
  const { model, root } = show(aSnapshot());
  await drawn();
  find(root, "title").click();
  await drawn();
  const input = find(root, "drawer").querySelector<HTMLInputElement>(".iv-array-name input");
  assert.ok(input !== null);
  const before = input.value;
  input.value = "other";
  input.dispatchEvent(new InputEvent("input", { bubbles: true }));
  await drawn();
  press(input, "Escape");
  await drawn();
  assert.equal(input.value, before);
  find(root, "drawer");
  assert.deepEqual(kinds(model), []);
});

test("JupyterLab gets its shortcuts with Ctrl from any focus, and no single key", async () => {
  const { root } = show(aSnapshot());
  await drawn();
  const suppressed: boolean[] = [];
  const look = (event: Event): void =>
    void suppressed.push((event.target as Element).closest("[data-lm-suppress-shortcuts='true']") !== null);
  document.addEventListener("keydown", look, true);
  press(find(root, "stop-0"), "b");
  press(find(root, "source-layout"), "s", { ctrlKey: true });
  press(find(root, "stop-0"), "Enter", { shiftKey: true });
  document.removeEventListener("keydown", look, true);
  assert.deepEqual(suppressed, [true, false, true]);
});
