// A pinned layout: it stands beside the present one of its card through every later edit, with the facts of both.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Snapshot } from "#model/types.ts";
import { closeAfterEach, drawn, enter, find, press, show } from "./page.ts";

closeAfterEach();

const heads = (card: HTMLElement): (string | null)[] =>
  [...card.querySelectorAll(".iv-lin-half-head code")].map((each) => each.textContent);

const cells = (card: HTMLElement): (string | null)[][] =>
  [...find(card, "compared-layouts").querySelectorAll("tbody tr")].map((row) =>
    [...row.children].map((cell) => cell.textContent),
  );

async function until(holds: () => boolean): Promise<void> {
  for (let frame = 0; frame < 300 && !holds(); frame += 1) await drawn();
  assert.ok(holds());
}

/** Keeps the layout that a card shows, or lets it go, as the menu of the toolbar does. */
async function pin(root: ParentNode, side: "source" | "destination"): Promise<boolean> {
  find(root, "linearization-more").click();
  await drawn();
  find<HTMLInputElement>(root, `pin-layout-${side}`).click();
  await drawn();
  const { checked } = find<HTMLInputElement>(root, `pin-layout-${side}`);
  find(root, "linearization-more").click();
  await drawn();
  return checked;
}

/** The explorer with the layout of the source pinned, and then edited. */
async function edited(text: string): Promise<HTMLElement> {
  const { root } = show();
  await drawn();
  find(root, "way-index").click();
  const card = find(root, "end-source");
  assert.ok(await pin(root, "source"));
  enter(find<HTMLInputElement>(card, "source-layout"), text);
  await drawn();
  return card;
}

test("a pinned layout stays beside every later one until it is let go", async () => {
  const card = await edited("<F, x, y>");
  for (const text of ["<F, y, x>", "<F, x_in=16, y, x_out>"]) {
    enter(find<HTMLInputElement>(card, "source-layout"), text);
    await drawn();
    assert.deepEqual(heads(card), ["<F, x, y>", text]);
  }
  assert.ok(await pin(card.closest(".iv-ends") ?? card, "source"));
  assert.deepEqual(heads(card), ["<F, x_in=16, y, x_out>", "<F, x_in=16, y, x_out>"], "in the place of the other one");
  find(card, "unpin-layout").click();
  await drawn();
  assert.deepEqual(heads(card), []);
  assert.equal(card.querySelector("[data-testid=compared-layouts]"), null);
});

test("the facts of an entry in both layouts are those of the arithmetic, and the axes stay where they were", async () => {
  const card = await edited("<F, y, x>");
  const grid = find(card, "linearization-grid");
  for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown"]) {
    press(grid, key);
    await drawn();
  }
  // The array is x=64, y=32 with fields of 4 and 8 bytes. To the right is x, its last axis.
  const [before, now] = [3 + 64 * 2, 2 + 32 * 3];
  const row = (name: string, place: number): string[] =>
    [name, place * 12, place * 2, Math.floor((place * 12) / 64)].map((each) => each.toLocaleString("en"));
  assert.deepEqual(
    cells(card).map((each) => each.slice(0, 4)),
    [row("Pinned", before), row("Now", now)],
  );
});

test("an entry that the pointer is on in one half is marked in the other", async () => {
  const card = await edited("<y, F, x>");
  const marked = (name: string): string | undefined => find(card, name).querySelectorAll("canvas")[1]?.dataset.drawn;
  for (const [pointed, other] of [
    ["pinned-grid", "linearization-grid"],
    ["linearization-grid", "pinned-grid"],
  ] as const) {
    const grid = find(card, pointed);
    const { left, top, width, height } = grid.getBoundingClientRect();
    const place = { clientX: left + 0.4 * width, clientY: top + 0.4 * height, bubbles: true };
    grid.dispatchEvent(new PointerEvent("pointermove", place));
    await until(() => (marked(other) ?? "") !== "" && marked(other) === marked(pointed));
    grid.dispatchEvent(new PointerEvent("pointerleave"));
    await until(() => marked(other) === "");
  }
});

test("where the array has no such layout the card says so, and shows it again once it has", async () => {
  const { model, root } = show();
  await drawn();
  const card = find(root, "end-source");
  await pin(root, "source");
  const renamed = (from: string, to: string) => (state: Snapshot) => {
    const { dimensions, source, destination } = state.settings;
    for (const dimension of dimensions) if (dimension.name === from) dimension.name = to;
    for (const end of [source, destination]) end.layout = end.layout.replace(from, to);
    state.panes.layout.dims = dimensions.map(({ name, value }) => [name, Number(value)]);
  };
  model.publish(renamed("x", "u"));
  await drawn();
  assert.match(find(card, "pinned-layout-unfit").textContent ?? "", /Source <F, x, y> is pinned, but .*'x' is not a dimension/);
  assert.deepEqual(heads(card), []);
  model.publish(renamed("u", "x"));
  await drawn();
  assert.equal(card.querySelector("[data-testid=pinned-layout-unfit]"), null);
  assert.deepEqual(heads(card), ["<F, x, y>", "<F, x, y>"]);
});

test("the layout of a stop is pinned as well, and stays when the card shows its end again", async () => {
  const { root } = show();
  await drawn();
  find(root, "hop-0").click();
  await drawn();
  const card = find(root, "end-destination");
  assert.equal(card.dataset.shows, "1");
  await pin(root, "destination");
  find(card, "back-destination").click();
  await drawn();
  const after = find(root, "end-destination");
  assert.deepEqual(heads(after), ["<F, x, y>", "<x, y, F>"]);
  assert.match(after.querySelector<HTMLElement>(".iv-lin-half-head code")?.title ?? "", /^Stop 1 /);
  assert.deepEqual(heads(find(root, "end-source")), [], "each card has a pin of its own");
});
