// The explorer on a page: what stands where, what is sent when, what shows before the kernel answers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { panes } from "../src/panes/pane-table.tsx";
import { doing, shareDone } from "../src/panes/progress.tsx";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, enter, find, press, show, withText } from "./page.ts";

closeAfterEach();

test("before the first state it says what it waits for", () => {
  const { root } = show(null);
  assert.match(find(root, "explorer").textContent ?? "", /Waiting for the kernel/);
});

test("every control has a name", async () => {
  const { root } = show();
  find(root, "title").click();
  await drawn();
  const controls = [...root.querySelectorAll<HTMLElement>("input, select, button, [role=slider], [role=button], summary")];
  assert.ok(controls.length > 20, `${controls.length} controls`);
  for (const control of controls) {
    const label = control.id === "" ? null : root.querySelector(`label[for="${CSS.escape(control.id)}"]`);
    const named = [control.getAttribute("aria-label"), label?.textContent, control.closest("label")?.textContent, control.textContent];
    assert.ok(named.some((name) => (name ?? "").trim() !== ""), control.outerHTML.slice(0, 200));
  }
});

test("ids are unique on a page with two explorers, and every reference finds its element", async () => {
  const [one, other] = [show(), show()];
  for (const { root } of [one, other]) find(root, "title").click();
  await drawn();
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  assert.ok(ids.length > 20, `${ids.length} ids`);
  assert.equal(new Set(ids).size, ids.length);
  for (const name of ["for", "aria-controls", "aria-describedby", "aria-labelledby"])
    for (const element of document.querySelectorAll(`[${name}]`))
      for (const id of (element.getAttribute(name) ?? "").split(" "))
        assert.ok(document.getElementById(id) !== null, `${name}=${id} of ${element.outerHTML.slice(0, 150)}`);
});

test("no text is smaller than 12 pixels, in any view", async () => {
  for (const pane of Object.keys(panes)) {
    const { root, close } = show(aSnapshot(), pane);
    if (pane === "explorer") find(root, "title").click();
    await drawn();
    for (const element of withText(root)) {
      const size = Number.parseFloat(getComputedStyle(element).fontSize);
      assert.ok(size >= 12, `${pane}: ${size} px: ${element.outerHTML.slice(0, 200)}`);
    }
    close();
  }
});

test("every view is drawn, with a plan and without one", async () => {
  for (const pane of Object.keys(panes))
    for (const state of [
      aSnapshot(),
      aSnapshot((next) => {
        Object.assign(next.panes, { plan: null, machine: null });
        next.panes.layout = { dims: {}, fieldSizes: [], source: null, destination: null };
        next.faults = { problems: { transfer: { message: "There is no path", text: null, position: null } }, stale: ["plan"] };
      }),
    ]) {
      const { root, close } = show(state, pane);
      await drawn();
      const view = find(root, "explorer");
      assert.equal(view.querySelector("[data-testid=error-drawing], [data-testid=error-pane]"), null, `${pane}: ${view.textContent}`);
      assert.ok(view.childElementCount > 0, pane);
      close();
    }
});

test("a view of one side shows that side alone", async () => {
  for (const side of ["source", "destination"]) {
    const { root } = show(aSnapshot(), "layout-editor", side);
    await drawn();
    find(root, `layout-editor-${side}`);
    assert.equal(root.querySelectorAll("[data-testid^=layout-editor-]").length, 1);
  }
});

test("a restarted kernel is told of, and the controls stop", async () => {
  const { model, root } = show();
  await drawn();
  model.dead = true;
  model.disconnect();
  await drawn();
  assert.match(find(root, "status").textContent ?? "", /kernel of this explorer is gone/);
  assert.ok(root.querySelector(".iv-body")?.hasAttribute("inert"));
  assert.equal(find(root, "run").getAttribute("aria-disabled"), "true");
});

test("an arrow key moves a chip: chips and text follow before the kernel answers", async () => {
  const { model, root } = show();
  await drawn();
  const chips = (): string[] => [...find(root, "layout-editor-source").querySelectorAll("[data-testid^=chip-]")].map((chip) => chip.textContent ?? "");
  const before = chips();
  assert.ok(before.length >= 3);
  press(find(find(root, "layout-editor-source"), `chip-${before[0]}`), "ArrowRight");
  await drawn();
  const [first, second, ...rest] = before;
  assert.deepEqual(chips(), [second, first, ...rest]);
  const text = `<${[second, first, ...rest].join(", ")}>`;
  assert.equal(find<HTMLInputElement>(root, "source-layout").value, text);
  const sent = model.sent.at(-1);
  assert.deepEqual([sent?.kind, sent?.["field"], sent?.["value"]], ["set", "source-layout", text]);
});

test("a wrong text stays as typed, is told at its character, and leaves the chips", async () => {
  const { model, root } = show();
  await drawn();
  const editor = find(root, "layout-editor-source");
  const chips = editor.querySelectorAll("[data-testid^=chip-]").length;
  const input = find<HTMLInputElement>(editor, "source-layout");
  enter(input, "hello");
  await drawn();
  const note = find(editor, "error-source-layout");
  assert.match(note.textContent ?? "", /'hello' is not a dimension; expected x or y/);
  assert.equal(input.getAttribute("aria-invalid"), "true");
  assert.equal(input.getAttribute("aria-describedby"), note.id);
  assert.equal(editor.querySelector("mark")?.textContent, "hello");
  assert.equal(editor.querySelectorAll("[data-testid^=chip-]").length, chips);
  model.publish(() => undefined, 0);
  await drawn();
  assert.equal(input.value, "hello", "a state that is behind does not undo what was typed since");
  model.publish((snapshot) => void (snapshot.settings.source.layout = "<F, x, y>"));
  await drawn();
  assert.equal(input.value, "<F, x, y>");
  assert.equal(editor.querySelector("[data-testid=error-source-layout]"), null);
});

test("names are text, whatever they say", async () => {
  const name = "<img src=x onerror=alert(1)>";
  const { root } = show(
    aSnapshot((next) => {
      next.settings.dimensions.push({ key: 99, name, value: "4" });
      next.settings.source.layout = `<F, x, y, ${name}>`;
      next.frame.notice = name;
      next.faults.problems["transfer"] = { message: name, text: null, position: null };
    }),
  );
  find(root, "title").click();
  await drawn();
  assert.equal(root.querySelectorAll("img").length, 0);
  assert.match(find(root, "status").textContent ?? "", /<img/);
});

test("run is sent once, and not while a run is under way", async () => {
  const { model, root } = show(aSnapshot((next) => void Object.assign(next.panes.run.now, { canRun: true, reason: "" })));
  await drawn();
  find(root, "run").click();
  assert.equal(model.sent.at(-1)?.kind, "run");
  model.publish((next) => {
    Object.assign(next.panes.run.now, { number: 7, phase: "running", canRun: false, stage: "move", bytesDone: 5, bytes: 18 });
  });
  await drawn();
  find(root, "run").click();
  assert.equal(model.sent.filter((sent) => sent.kind === "run").length, 1);
  assert.equal(find(root, "explorer").dataset["running"], "true");
  assert.equal(find<HTMLProgressElement>(root, "progress").value, 25);
  find(root, "cancel").click();
  assert.equal(model.sent.at(-1)?.kind, "cancel");
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

test("where it cannot run it says why, ties the reason to the button, and offers this computer", async () => {
  const { model, root } = show(
    aSnapshot((next) => {
      Object.assign(next.panes.run.now, { canRun: false, reason: "sapling describes another computer", offerLocal: true });
    }),
  );
  await drawn();
  const button = find(root, "run");
  assert.equal(button.getAttribute("aria-disabled"), "true");
  assert.match(document.getElementById(button.getAttribute("aria-describedby") ?? "")?.textContent ?? "", /another computer/);
  button.click();
  find(root, "use-local").click();
  assert.deepEqual(
    model.sent.map((sent) => sent.kind),
    ["use-local"],
  );
});

test("undo and redo are offered where there is something to go to", async () => {
  const { model, root } = show();
  await drawn();
  find(root, "undo").click();
  assert.equal(model.sent.length, 0);
  model.publish((next) => void Object.assign(next.frame, { canUndo: true, canRedo: true }));
  await drawn();
  find(root, "undo").click();
  find(root, "redo").click();
  press(find(root, "run"), "z", { ctrlKey: true });
  press(find(root, "run"), "Z", { ctrlKey: true, shiftKey: true });
  press(find(root, "source-layout"), "z", { ctrlKey: true }); // texts have an undo of their own
  assert.deepEqual(
    model.sent.map((sent) => sent.kind),
    ["undo", "redo", "undo", "redo"],
  );
});

test("JupyterLab gets its own shortcuts, and no single keys, wherever the focus is", async () => {
  const { root } = show();
  await drawn();
  const view = find(root, "explorer");
  const suppressed = (element: HTMLElement, key: string, more: KeyboardEventInit = {}): boolean => {
    let found = false;
    const look = (): void => void (found = element.closest("[data-lm-suppress-shortcuts=true]") !== null);
    document.addEventListener("keydown", look, true); // where JupyterLab looks
    press(element, key, more);
    document.removeEventListener("keydown", look, true);
    element.dispatchEvent(new KeyboardEvent("keyup", { key, bubbles: true }));
    return found;
  };
  for (const element of [find(root, "source-layout"), find(root, "run"), find(root, "chip-F"), view]) {
    assert.equal(suppressed(element, "d"), true);
    assert.equal(suppressed(element, "s", { ctrlKey: true }), false);
    assert.equal(suppressed(element, "s", { metaKey: true }), false);
    assert.equal(suppressed(element, "b"), true);
  }
});

test("a refused command is told to the view that sent it, and to all where nobody knows who did", async () => {
  const { model, root } = show();
  await drawn();
  find(root, "swap").click();
  const client = model.sent.at(-1)?.client ?? "";
  const refusal = { kind: "swap", client, number: 1, message: "command 'swap': not today" };
  model.publish((next) => void (next.frame.refusal = refusal));
  await drawn();
  assert.match(find(root, "error-command").textContent ?? "", /This was not done.*not today/);
  model.publish((next) => void (next.frame.refusal = { ...refusal, client: "another view" }));
  await drawn();
  assert.equal(root.querySelector("[data-testid=error-command]"), null);
  model.publish((next) => void (next.frame.refusal = { ...refusal, client: null }));
  await drawn();
  find(root, "error-command");
});

test("quantities are written here, from numbers", async () => {
  const { root } = show(
    aSnapshot((next) => {
      assert.ok(next.panes.plan !== null);
      Object.assign(next.panes.plan, { bytes: 64 * 2 ** 20, seconds: 0.0151, throughput: 5.214e9, buffers: 1, bufferBytes: 40 * 2 ** 20 });
    }),
  );
  await drawn();
  const figures = ["bytes", "seconds", "throughput", "buffers"].map((name) => find(root, `figure-${name}`).querySelector("dd")?.textContent);
  assert.deepEqual(figures, ["64 MiB", "15.1 ms", "5.21 GB/s", "40 MiB"]);
});

test("a stop that is selected in one view is selected in every view of the session", async () => {
  const [one, other] = [show(), show(aSnapshot(), "plan")];
  await drawn();
  const stop = find(one.root, "stop-1");
  (stop.matches("button") ? stop : (stop.querySelector("button") ?? stop)).click();
  await drawn();
  const chosen = (root: HTMLElement): (string | undefined)[] =>
    [...root.querySelectorAll<HTMLElement>("[aria-pressed=true][data-testid^=stop-], [data-testid^=stop-]:has([aria-pressed=true])")].map(
      (element) => element.dataset["testid"],
    );
  assert.deepEqual(chosen(one.root), ["stop-1"]);
  assert.deepEqual(chosen(other.root), ["stop-1"]);
});

test("the revision on the page is that of the state; the view is busy until its commands are answered", async () => {
  const { model, root } = show();
  await drawn();
  const view = find(root, "explorer");
  const before = Number(view.dataset["revision"]);
  find(root, "swap").click();
  await drawn();
  assert.equal(view.dataset["busy"], "true");
  model.publish(() => undefined);
  await drawn();
  assert.deepEqual([Number(view.dataset["revision"]), view.dataset["busy"]], [before + 1, "false"]);
});

test("a view that is closed leaves nothing behind, and shows the static picture again", () => {
  const sheets = (): number => [...document.head.querySelectorAll("style")].filter((sheet) => sheet.textContent?.includes("isoviz-static")).length;
  const { model, close } = show();
  assert.equal(sheets(), 1);
  close();
  assert.deepEqual([sheets(), model.listeners], [0, 0]);
});
