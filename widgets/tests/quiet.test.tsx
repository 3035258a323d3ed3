// An editor that says nothing of bytes until it is told to.
import assert from "node:assert/strict";
import { test } from "node:test";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, find, show } from "./page.ts";

closeAfterEach();

test("a quiet editor has neither padding, runs nor sizes of fields, and no second layout, until it is revealed", async () => {
  const state = aSnapshot((snapshot) => {
    snapshot.frame.bothEnds = false;
    snapshot.settings.source.layout = "<x_in=5, F, x_out, y>";
  });
  const traits = { quiet: true, beside_text: "<F, x, y>" };
  const { model, root } = show(state, "layout-editor", "source", traits);
  await drawn();
  const words = (): string => root.textContent ?? "";
  find(root, "chip-F").click();
  await drawn();
  assert.doesNotMatch(words(), /\d B\b|padding|byte/);
  assert.equal(root.querySelector("[data-testid=beside]"), null);
  model.set("quiet", false);
  model.publish(() => undefined);
  await drawn();
  assert.match(words(), /padding: .*a 4 B, b 8 B/s);
  assert.notEqual(find(root, "beside").dataset.differs, "");
});
