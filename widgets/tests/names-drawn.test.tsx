// Names that users choose, drawn; and the ways out where drawing has failed.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Named, Snapshot } from "#model/types.ts";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, find, show } from "./page.ts";

closeAfterEach();

/** The state with other names of its dimensions and of a field, wherever they stand. */
function named(x: string, y: string, field: string): Snapshot {
  const text = JSON.stringify(aSnapshot());
  const renamed = text.replace(
    /(?<![\w\\])([xya])(?=(_in|_out|_\d+)?(?!\w))/g,
    (letter) => ({ x, y, a: field })[letter] ?? letter,
  );
  return JSON.parse(renamed) as Snapshot;
}

test("an explorer of such names is drawn, tab by tab", async () => {
  for (const [x, y, field] of [
    ["constructor", "toString", "valueOf"],
    ["__proto__", "hasOwnProperty", "__proto__"],
    ["valueOf", "isPrototypeOf", "constructor"],
  ] as const) {
    const { root, close } = show(named(x, y, field));
    await drawn();
    find(root, "title").click();
    await drawn();
    for (const tab of root.querySelectorAll<HTMLElement>("[role=tab]")) {
      tab.click();
      await drawn();
      assert.equal(root.querySelector("[data-testid=error-drawing]"), null, `${tab.textContent} of ${x}, ${y}`);
    }
    assert.ok((find(root, "journey").textContent ?? "").length > 0);
    close();
  }
});

test("where drawing has failed, the last change can be undone, and all of it begun afresh", async () => {
  for (const kind of ["undo", "begin-afresh"]) {
    const { root, model } = show(aSnapshot((state) => void (state.frame.canUndo = true)));
    await drawn();
    model.publish((state) => void (state.panes.layout.dims = null as unknown as Named<number>));
    await drawn();
    assert.match(find(root, "error-drawing").textContent ?? "", /could not be drawn/);
    find(root, kind).click();
    assert.equal(model.sent.at(-1)?.kind, kind);
    await drawn();
    assert.ok(find(root, "error-drawing"), "it waits for the kernel");
    model.publish((state) => void (state.panes.layout = aSnapshot().panes.layout));
    await drawn();
    assert.equal(root.querySelector("[data-testid=error-drawing]"), null);
    assert.ok(find(root, "journey"));
  }
});

test("what another view of the session mends is drawn", async () => {
  const { root, model } = show(aSnapshot());
  await drawn();
  model.publish((state) => void (state.panes.layout.dims = null as unknown as Named<number>));
  await drawn();
  assert.equal(find(root, "undo").getAttribute("aria-disabled"), "true", "nothing to undo");
  model.publish((state) => {
    state.panes.layout = aSnapshot().panes.layout;
    state.settings.slotLimit = "1 MiB";
  });
  await drawn();
  assert.equal(root.querySelector("[data-testid=error-drawing]"), null);
});
