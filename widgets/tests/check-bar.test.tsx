// The button Check of a pane alone: what it sends, and what is said of what is on screen.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShownVerdict } from "#model/types.ts";
import { askVerdict, verdictName } from "#views/check/words.ts";
import { aSnapshot, type FakeModel } from "./model.ts";
import { closeAfterEach, drawn, enter, find, type Shown, show } from "./page.ts";

closeAfterEach();

const NONE: ShownVerdict = { busy: false, kind: "open", text: "", fresh: false };

function shownEditor(checked: ShownVerdict | null = NONE, traits = {}): Shown {
  const state = aSnapshot((snapshot) => {
    snapshot.frame.bothEnds = false;
  });
  return show(state, "layout-editor", "source", { checked, ...traits });
}

/** The kernel has the commands so far and says this. */
function say(model: FakeModel, checked: ShownVerdict, source?: string): void {
  model.set("checked", checked);
  model.publish((snapshot) => {
    if (source !== undefined) snapshot.settings.source.layout = source;
  });
}

const checks = (model: FakeModel) => model.sent.filter(({ kind }) => kind === "check");

test("a click carries what is on screen, also what the kernel does not know yet", async () => {
  const { model, root } = shownEditor();
  enter(find<HTMLInputElement>(root, "source-layout"), "<x, F, y>");
  find(root, "check").click();
  await drawn();
  const [sent] = checks(model);
  assert.ok(sent !== undefined);
  const { settings } = aSnapshot();
  const { client: _, number: __, ...command } = sent;
  assert.deepEqual(command, askVerdict({ ...settings, source: { ...settings.source, layout: "<x, F, y>" } }, null));
  assert.equal(command.source, "<x, F, y>");
});

test("a second click waits for the first, unless something else is on screen", async () => {
  const { model, root } = shownEditor();
  const check = (): void => find(root, "check").click();
  check();
  await drawn();
  assert.equal(find(root, "check-bar").dataset.checking, "true");
  check();
  say(model, { ...NONE, busy: true });
  await drawn();
  assert.equal(find(root, "verdict").textContent, "Checking…");
  check();
  assert.equal(checks(model).length, 1);
  enter(find<HTMLInputElement>(root, "source-layout"), "<x, F, y>");
  check();
  assert.deepEqual(
    checks(model).map((each) => each.source),
    [aSnapshot().settings.source.layout, "<x, F, y>"],
  );
  say(model, { busy: false, kind: "right", text: "Right.", fresh: true }, "<x, F, y>");
  await drawn();
  assert.equal(find(root, "verdict").textContent, "Right.");
  check();
  assert.equal(checks(model).length, 3);
});

test("a verdict is greyed at once when something else is on screen, and back when it is there again", async () => {
  const { model, root } = shownEditor();
  const text = aSnapshot().settings.source.layout;
  say(model, { busy: false, kind: "wrong", text: "The first element is b.", fresh: true });
  await drawn();
  const verdict = find(root, "verdict");
  assert.equal(verdict.getAttribute("role"), "status");
  assert.deepEqual([verdict.dataset.kind, verdict.dataset.old], ["wrong", "false"]);
  assert.equal(verdict.textContent, "Not yet. The first element is b.");
  enter(find<HTMLInputElement>(root, "source-layout"), "<x, F, y>");
  await drawn();
  assert.equal(verdict.dataset.old, "true");
  assert.match(verdict.textContent ?? "", /^Said of what was there before:/);
  say(model, { busy: false, kind: "wrong", text: "The first element is b.", fresh: false }, "<x, F, y>");
  await drawn();
  assert.equal(verdict.dataset.old, "true");
  say(model, { busy: false, kind: "wrong", text: "The first element is b.", fresh: true }, text);
  await drawn();
  assert.equal(verdict.dataset.old, "false");
});

test("what a check says is text, never markup", async () => {
  const { model, root } = shownEditor();
  say(model, { busy: false, kind: "unread", text: '<img src="x" onerror="alert(1)">\n<b>bold</b>', fresh: true });
  await drawn();
  assert.equal(find(root, "verdict").querySelector("img"), null);
  assert.equal(find(root, "verdict").textContent, 'Not counted. <img src="x" onerror="alert(1)">\n<b>bold</b>');
});

test("the kind is named where the text does not name it", () => {
  assert.equal(verdictName({ kind: "right", text: "The tapes are equal." }), "Right");
  assert.equal(verdictName({ kind: "right", text: "1.2: Right at the first attempt." }), "");
  assert.equal(verdictName({ kind: "wrong", text: "Not yet." }), "");
  assert.equal(verdictName({ kind: "unread", text: "'<x' ends. This is not counted." }), "");
  assert.equal(verdictName({ kind: "open", text: "Not answered yet." }), "");
});

test("there is no button without a check, without a kernel, and on a page", async () => {
  for (const [checked, traits] of [[null, {}] as const, [NONE, { offline: true }] as const]) {
    const { root } = shownEditor(checked, traits);
    await drawn();
    assert.equal(root.querySelector('[data-testid="check"]'), null);
  }
  const { model, root } = shownEditor();
  model.dead = true;
  find(root, "check").click();
  await drawn();
  assert.equal(find(root, "check-bar").closest("[inert]") !== null, true);
  assert.equal(find(root, "check-bar").dataset.checking, "false");
});
