// A drawing board: any canvas is what it hits and paints; the rest is tried here on one that is a handful of dots.
import assert from "node:assert/strict";
import { test } from "node:test";
import { render } from "preact";
import { useState } from "preact/hooks";
import { Board, type Limits, onScreen, type Sheet } from "#lib/board.ts";
import { BoardView } from "#lib/board-view.tsx";
import type { Point, Rect } from "#lib/geometry.ts";
import { closeAfterEach, drawn, find, press } from "./page.ts";

closeAfterEach();

type Dots = readonly Point[];

class DotBoard extends Board<Dots, number | null> {
  protected readonly limits: Limits = { least: 0.5, most: 4, whole: 2, margin: 20, below: 0, follows: true };
  protected marks: number | null = null;
  rested = 0;

  protected bounds(dots: Dots): Rect {
    return { x: 0, y: 0, width: Math.max(...dots.map(({ x }) => x)), height: Math.max(...dots.map(({ y }) => y)) };
  }
  protected detail(): string {
    return this.at.scale < 1 ? "small" : "large";
  }
  protected paintRest({ context, at, colour }: Sheet, dots: Dots): void {
    this.rested += 1;
    context.fillStyle = colour("--iv-ink");
    for (const dot of dots) {
      const { x, y } = onScreen(dot, at);
      context.fillRect(x - 3, y - 3, 6, 6);
    }
  }
  protected paintLive({ context, at, colour }: Sheet, dots: Dots, chosen: number | null): void {
    if (chosen === null) return;
    const { x, y } = onScreen(dots[chosen]!, at);
    context.fillStyle = colour("--iv-accent");
    context.fillRect(x - 5, y - 5, 10, 10);
  }
  dotAt(point: Point, dots: Dots): number | null {
    const { x, y } = this.toWorld(point);
    const found = dots.findIndex((dot) => Math.hypot(dot.x - x, dot.y - y) < 8);
    return found < 0 ? null : found;
  }
}

const DOTS: Dots = [
  { x: 0, y: 0 },
  { x: 200, y: 0 },
  { x: 200, y: 100 },
];

function View({ board, dots }: { board: DotBoard; dots: Dots }) {
  const [chosen, choose] = useState<number | null>(null);
  return (
    <BoardView
      board={board}
      scene={dots}
      marks={chosen}
      subject="dots"
      testid="dots"
      zooms="dots"
      label="Dots"
      status={chosen === null ? "" : `dot ${chosen}`}
      press={() => ({ end: (at, moved) => !moved && choose(board.dotAt(at, dots)) })}
      point={() => undefined}
      keys={({ key }) => {
        if (key === "Escape") choose(null);
        return key === "Escape";
      }}
      more={{ tabIndex: 0 }}
    />
  );
}

async function shown(dots: Dots = DOTS): Promise<{ board: DotBoard; root: HTMLElement }> {
  const holder = document.createElement("div");
  holder.className = "isoviz";
  holder.style.width = "600px";
  document.body.append(holder);
  const board = new DotBoard();
  render(<View board={board} dots={dots} />, holder);
  await drawn();
  return { board, root: find(holder, "dots") };
}

/** The colour of a place of the board, as its canvases show it: the upper one, else what is at rest. */
function pixel(root: HTMLElement, { x, y }: Point): string {
  for (const canvas of [...root.querySelectorAll("canvas")].reverse()) {
    const [box, outer] = [canvas.getBoundingClientRect(), root.getBoundingClientRect()];
    const ratio = canvas.width / box.width;
    const at = [(x + outer.left + root.clientLeft - box.left) * ratio, (y + outer.top + root.clientTop - box.top) * ratio];
    const [red = 0, green = 0, blue = 0, alpha = 0] =
      canvas.getContext("2d")?.getImageData(Math.floor(at[0]!), Math.floor(at[1]!), 1, 1).data ?? [];
    if (alpha > 0) return `rgb(${red}, ${green}, ${blue})`;
  }
  return "nothing";
}

/** A colour of the style sheet as pixels have it. */
function painted(root: HTMLElement, variable: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${variable})`;
  root.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

const fire = (root: HTMLElement, type: string, { x, y }: Point): boolean => {
  const box = root.getBoundingClientRect();
  const place = { clientX: box.left + x, clientY: box.top + y };
  return root.dispatchEvent(new PointerEvent(type, { bubbles: true, button: 0, isPrimary: true, pointerId: 1, ...place }));
};

/** A press from one place to another, without a capture: no device stands behind it. */
function drag(root: HTMLElement, from: Point, to: Point): void {
  root.setPointerCapture = () => undefined;
  fire(root, "pointerdown", from);
  if (from.x !== to.x || from.y !== to.y) fire(root, "pointermove", to);
  fire(root, "pointerup", to);
}

test("a board shows all of its drawing, in the middle, in the colours of the theme", async () => {
  const { board, root } = await shown();
  assert.equal(board.at.scale, 2);
  const places = DOTS.map((dot) => onScreen(dot, board.at));
  assert.ok(Math.abs(places[0]!.x + places[1]!.x - root.clientWidth) < 1 && places[0]!.x > 20);
  const light = painted(root, "--iv-ink");
  for (const place of places) assert.equal(pixel(root, place), light);
  document.body.dataset.jpThemeLight = "false";
  await drawn();
  assert.notEqual(painted(root, "--iv-ink"), light);
  assert.equal(pixel(root, places[0]!), painted(root, "--iv-ink"));
});

test("a drag takes the drawing along without painting it anew, and what is beyond its edge is there", async () => {
  const { board, root } = await shown();
  const before = onScreen(DOTS[0]!, board.at);
  drag(root, { x: 300, y: 30 }, { x: 306, y: 30 });
  await drawn();
  const { rested } = board;
  drag(root, { x: 300, y: 30 }, { x: 300 - before.x - 2, y: 30 });
  await drawn();
  assert.equal(board.rested, rested);
  assert.equal(pixel(root, onScreen(DOTS[0]!, board.at)), painted(root, "--iv-ink"));
  drag(root, { x: 100, y: 30 }, { x: 400, y: 30 });
  await drawn();
  assert.equal(board.rested, rested + 1, "so far, it is painted anew");
  assert.equal(pixel(root, onScreen(DOTS[1]!, board.at)), painted(root, "--iv-ink"));
  press(root, "0");
  assert.deepEqual(onScreen(DOTS[0]!, board.at), before);
});

test("a click takes what it hits and a drag does not; the status says it, and Escape lets go", async () => {
  const { board, root } = await shown();
  const place = onScreen(DOTS[2]!, board.at);
  drag(root, place, place);
  await drawn();
  assert.equal(root.querySelector("[role=status]")?.textContent, "dot 2");
  assert.equal(pixel(root, place), painted(root, "--iv-accent"));
  press(root, "Escape");
  await drawn();
  assert.equal(pixel(root, place), painted(root, "--iv-ink"));
  drag(root, place, { x: place.x - 40, y: place.y });
  await drawn();
  assert.equal(root.querySelector("[role=status]")?.textContent, "");
});

test("keys, buttons and the wheel zoom within limits; the wheel leaves the page its own while the board has no focus", async () => {
  const { board, root } = await shown();
  const wheel = (more: WheelEventInit = {}): boolean =>
    root.dispatchEvent(new WheelEvent("wheel", { deltaY: -200, bubbles: true, cancelable: true, clientX: 9, ...more }));
  assert.ok(wheel(), "the page scrolls");
  assert.equal(board.at.scale, 2);
  const corner = board.toWorld({ x: 9 - root.getBoundingClientRect().left, y: -root.getBoundingClientRect().top });
  assert.ok(!wheel({ ctrlKey: true }));
  assert.ok(board.at.scale > 2);
  const after = board.toWorld({ x: 9 - root.getBoundingClientRect().left, y: -root.getBoundingClientRect().top });
  assert.ok(Math.hypot(after.x - corner.x, after.y - corner.y) < 1e-9, "what the pointer is on stays there");
  root.focus();
  assert.ok(!wheel());
  for (let each = 0; each < 20; each += 1) press(root, "+");
  assert.equal(board.at.scale, 4);
  for (let each = 0; each < 30; each += 1) find(root, "dots-out").click();
  assert.equal(board.at.scale, 0.5);
  assert.equal(root.dataset.lod, "small");
  find(root, "dots-fit").click();
  assert.equal(board.at.scale, 2);
});

test("another size shows all again, unless a person has chosen what is seen", async () => {
  const { board, root } = await shown();
  root.parentElement!.style.width = "300px";
  await drawn();
  assert.ok(board.at.scale < 2);
  press(root, "+");
  const { at } = board;
  root.parentElement!.style.width = "500px";
  await drawn();
  assert.deepEqual(board.at, at);
});

test("what is revealed comes into the window, and no farther", async () => {
  const { board, root } = await shown();
  board.zoom(2);
  const box = { x: 196, y: 96, width: 8, height: 8 };
  board.reveal(box);
  const { x, y } = onScreen({ x: 204, y: 104 }, board.at);
  assert.ok(Math.abs(x - (root.clientWidth - 20)) < 1e-6 && y <= root.clientHeight - 20 + 1e-6);
  const { at } = board;
  board.reveal(box);
  assert.deepEqual(board.at, at);
});
