// Saved pictures show what the page shows: pixels of the picture, drawn anew, at the places of the page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { pictureOf, pixels } from "#lib/picture.ts";

/** Pixels around a picture. */
const MARGIN = 12;

/** The colour at a place of an element, in the picture of it. */
async function drawn(element: HTMLElement): Promise<(x: number, y: number) => string> {
  const bitmap = await createImageBitmap(await pixels(pictureOf(element, "test"), 1));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
  const context = canvas.getContext("2d");
  assert.ok(context !== null);
  context.drawImage(bitmap, 0, 0);
  return (x, y) => [...context.getImageData(Math.floor(x + MARGIN), Math.floor(y + MARGIN), 1, 1).data.slice(0, 3)].join();
}

/** A box with this inside, in a page that scrolls. */
function page(html: string): { box: HTMLElement; scroller: HTMLElement } {
  const scroller = document.createElement("div");
  scroller.style.cssText = "height:120px;width:300px;overflow-y:auto";
  scroller.innerHTML = `<div data-box style="background:#fff">${html}</div>`;
  document.body.append(scroller);
  const box = scroller.querySelector<HTMLElement>("[data-box]");
  assert.ok(box !== null);
  return { box, scroller };
}

test("a head that sticks while its page is scrolled stands at its own place, and sticks again", async () => {
  const { box, scroller } = page(
    '<div data-head style="position:sticky;top:0;height:20px;background:#f00"></div><div style="height:400px;background:#0f0"></div>',
  );
  scroller.scrollTop = 200;
  const head = box.querySelector<HTMLElement>("[data-head]");
  const place = head?.getBoundingClientRect().top;
  const at = await drawn(box);
  assert.equal(at(50, 10), "255,0,0");
  assert.equal(at(50, 210), "0,255,0", "nothing covers what is in sight");
  assert.equal(head?.getBoundingClientRect().top, place);
});

test("a canvas keeps its ground, its frame and what is drawn on it", async () => {
  const { box } = page('<canvas width="40" height="40" style="display:block;background:#00f;border:4px solid #f00"></canvas>');
  const context = box.querySelector("canvas")?.getContext("2d");
  assert.ok(context);
  context.fillStyle = "#0f0";
  context.fillRect(0, 0, 20, 20);
  const at = await drawn(box);
  assert.deepEqual(
    [at(2, 2), at(6, 6), at(22, 22), at(26, 26), at(46, 46)],
    ["255,0,0", "0,255,0", "0,255,0", "0,0,255", "255,0,0"],
  );
});

test("a dotted line is dotted", async () => {
  const { box } = page('<i style="display:block;width:60px;height:0;border-bottom:3px dotted #000"></i>');
  const at = await drawn(box);
  const row = Array.from({ length: 60 }, (_, x) => at(x, 1));
  const changes = row.filter((colour, x) => colour < "128" !== (row[x - 1] ?? colour) < "128").length;
  assert.ok(changes >= 10, `${changes} changes`);
});
