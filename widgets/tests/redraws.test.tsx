// How many components are drawn again by what happens all the time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { options, type VNode } from "preact";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, enter, find, show } from "./page.ts";

closeAfterEach();

/** Draws done while something happens, by the name of the component. */
async function redraws(happens: () => void): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const hooks = options as { __r?: ((vnode: VNode) => void) | undefined }; // Preact calls it with every component that it draws
  const before = hooks.__r;
  hooks.__r = (vnode) => {
    const name = typeof vnode.type === "function" ? vnode.type.name : "";
    if (name !== "") counts.set(name, (counts.get(name) ?? 0) + 1);
    before?.(vnode);
  };
  try {
    happens();
    await drawn();
  } finally {
    hooks.__r = before;
  }
  return counts;
}

const total = (counts: Map<string, number>): number => [...counts.values()].reduce((sum, count) => sum + count, 0);

/** The components of the whole explorer, each as often as it is drawn at first. */
const everything = (): Promise<Map<string, number>> => redraws(() => void show());

test("progress of a run draws what tells of runs, and nothing of the array, the plan and the machine", async () => {
  const all = await everything();
  const { model } = show(
    aSnapshot(
      (snapshot) => void Object.assign(snapshot.panes.run.now, { number: 7, phase: "running", bytes: 100, stage: "move" }),
    ),
  );
  await drawn();
  const again = await redraws(() => model.publish((next) => void (next.panes.run.now.bytesDone = 50)));
  assert.ok(again.has("Progress"));
  for (const name of ["Journey", "Strip", "LayoutEditor", "Memory", "Tape"])
    assert.ok(all.has(name) && !again.has(name), `${name} is drawn ${again.get(name)} times`);
  assert.ok(total(again) < total(all) / 4, `${total(again)} of ${total(all)}`);
});

test("a notice of the kernel draws the line that shows it", async () => {
  const { model } = show();
  await drawn();
  const again = await redraws(() => model.publish((next) => void (next.frame.notice = "news")));
  assert.deepEqual([...again].sort(), [
    ["Root", 1], // it has the number of the revision
    ["Status", 1],
  ]);
});

test("what is typed is drawn at once where it is shown, and the plan only when it comes", async () => {
  const { model, root } = show();
  await drawn();
  const typed = await redraws(() => enter(find<HTMLInputElement>(root, "source-layout"), "<x, F, y>"));
  assert.ok(typed.has("LayoutEditor") && typed.has("Memory"));
  assert.ok(!typed.has("Journey") && !typed.has("Leading"));
  const planned = await redraws(() =>
    model.publish((next) => {
      next.settings.source.layout = "<x, F, y>";
      assert.ok(next.panes.plan !== null);
      next.panes.plan.seconds *= 2;
    }),
  );
  assert.ok(planned.has("Journey") && planned.has("Leading"));
});
