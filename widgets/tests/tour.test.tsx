// The tour: who sees it by itself, what it notices, and where the focus goes.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Snapshot } from "#model/types.ts";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, find, press, show } from "./page.ts";

closeAfterEach();

const newcomer = { tour: true };
const isShown = (root: HTMLElement): boolean => root.querySelector("[data-testid=tour]") !== null;
const withoutRun = (): Snapshot => aSnapshot((state) => void (state.panes.run.report = null));

/** Begins the tour from the menu. */
async function begin(root: HTMLElement): Promise<HTMLElement> {
  find(root, "menu").click();
  await drawn();
  find(root, "menu-tour").click();
  await drawn();
  return find(root, "tour");
}

async function next(root: HTMLElement): Promise<void> {
  find(root, "tour-next").click();
  await drawn();
}

test("nobody sees it by itself but a newcomer with a kernel that answers", async () => {
  const other = show();
  await drawn();
  assert.ok(!isShown(other.root));
  other.model.publish(() => undefined);
  await drawn();
  assert.ok(!isShown(other.root));
  const { model, root } = show(aSnapshot(), "explorer", "both", newcomer);
  await drawn();
  assert.ok(!isShown(root), "the state of a saved notebook asks for it too");
  assert.deepEqual(
    model.sent.map(({ kind }) => kind),
    ["hello"],
  );
  model.publish(() => undefined);
  await drawn();
  assert.equal(find(root, "tour").dataset.step, "1");
  assert.equal(document.activeElement, document.body, "it takes no focus");
  find(root, "tour-end").click();
  await drawn();
  assert.ok(!isShown(root));
  assert.equal(model.get("tour"), false, "the kernel is told");
  assert.equal(document.activeElement, find(root, "menu"));
});

test("from the menu it begins with the focus, and Escape gives it back", async () => {
  const { model, root } = show();
  await drawn();
  const tour = await begin(root);
  assert.equal(document.activeElement, find(root, "tour-next"));
  assert.match(tour.textContent ?? "", /1 of 6 · One array, two orders/);
  await next(root);
  assert.equal(document.activeElement, find(root, "tour-next"), "the same button goes on");
  find(root, "tour-back").click();
  await drawn();
  assert.equal(tour.dataset.step, "1");
  press(find(root, "tour-next"), "Escape");
  await drawn();
  assert.ok(!isShown(root));
  assert.equal(document.activeElement, find(root, "menu"));
  assert.equal(model.get("tour"), undefined, "who has seen it needs no note");
});

test("each step notices that it was done, and stays done", async () => {
  const { model, root } = show(withoutRun());
  await drawn();
  const tour = await begin(root);
  const expectDone = async (title: RegExp): Promise<void> => {
    assert.equal(tour.dataset.done, "true", tour.textContent ?? "");
    assert.match(tour.textContent ?? "", title);
    await next(root);
    assert.equal(tour.dataset.done, "false", `step ${tour.dataset.step} begins with nothing done`);
  };
  const chip = find(root, "layout-editor-source").querySelector<HTMLElement>(".iv-edit-chip");
  assert.ok(chip !== null);
  press(chip, "ArrowRight");
  await drawn();
  model.publish((state) => void (state.settings.source.layout = String(model.sent.at(-1)?.value)));
  await drawn();
  await expectDone(/1 of 6 · One array, two orders/);

  find(root, "stop-1").click();
  await drawn();
  find(root, "stop-1").click();
  await drawn();
  await expectDone(/2 of 6 · The journey/);

  const hops = aSnapshot().panes.plan?.paths[0]?.hops ?? [];
  const [converting, keeping] = [true, false].map((turns) => hops.findIndex(({ order }) => (order === "converts") === turns));
  find(root, `hop-${keeping}`).click();
  await drawn();
  assert.equal(tour.dataset.done, "false", "that one does not convert");
  find(root, `hop-${converting}`).click();
  await drawn();
  await expectDone(/3 of 6 · Where it turns/);

  const planner = aSnapshot().panes.plan?.planner ?? "";
  const plannedBy = async (name: string): Promise<void> => {
    model.publish((state) => void (state.panes.plan !== null && (state.panes.plan.planner = name)));
    await drawn();
  };
  await plannedBy("by hand");
  await plannedBy(planner);
  await expectDone(/4 of 6 · Why there/);

  model.publish((state) => void (state.panes.run.report = aSnapshot().panes.run.report));
  await drawn();
  await expectDone(/5 of 6 · Run and measure/);

  find(root, "compare").click();
  await drawn();
  assert.equal(tour.dataset.done, "true");
  await next(root);
  assert.ok(!isShown(root), "the last step finishes it");
});

test("it leads to what it talks about, and is no part of pictures", async () => {
  const { root } = show();
  await drawn();
  find(root, "title").click();
  await drawn();
  const tour = await begin(root);
  await drawn();
  assert.equal(root.querySelector("[data-testid=drawer]"), null, "the drawer does not lie over it");
  find(root, "tour-show").click();
  await drawn();
  await drawn();
  assert.ok(document.activeElement?.matches(".iv-edit-chip, .iv-edit-chips *"), document.activeElement?.outerHTML);
  assert.ok(tour.matches("[data-no-picture]"));
});
