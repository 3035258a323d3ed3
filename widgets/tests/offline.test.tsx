// What a saved page draws without a kernel: the model that answers from what is embedded, and pictures of what is shown.
import assert from "node:assert/strict";
import { test } from "node:test";
import { commandKey, NO_KERNEL, StaticModel } from "#app/offline/static-model.ts";
import { isClear, pictureOf, pixels } from "#lib/picture.ts";
import { Connection } from "#model/connection.ts";
import { aSnapshot, traitsOf } from "./model.ts";
import { closeAfterEach, drawn, find, show } from "./page.ts";

closeAfterEach();

const encoded = (value: unknown): ArrayBuffer => new TextEncoder().encode(JSON.stringify(value)).buffer as ArrayBuffer;

function offline(): Connection {
  const message = { kind: "export", what: "plan", name: "plan.json", text: "{}", error: "" };
  const trace = { kind: "trace", which: "simulated", trace: null, error: "" };
  const data: Record<string, ArrayBuffer> = {
    answers: encoded({
      [commandKey({ what: "plan", kind: "export" })]: { message, buffers: [] },
      [commandKey({ kind: "trace", which: "simulated", run: "" })]: { message: trace, buffers: ["data-0"] },
    }),
    "data-0": new Uint8Array([1, 2, 3]).buffer,
  };
  return new Connection(
    new StaticModel(traitsOf(aSnapshot()), (name) => {
      const found = data[name];
      return found === undefined ? Promise.reject(new Error(name)) : Promise.resolve(found);
    }),
  );
}

test("a saved page answers what it holds, with its binary data, and says what it does not hold", async () => {
  const connection = offline();
  assert.equal(connection.offline, true);
  assert.equal((await connection.exported("plan")).text, "{}");
  const { buffers } = await connection.ask({ kind: "trace", which: "simulated", run: "" });
  assert.deepEqual([...new Uint8Array(buffers[0]?.buffer ?? new ArrayBuffer(0))], [1, 2, 3]);
  assert.equal((await connection.exported("machine")).error, NO_KERNEL);
  connection.close();
});

test("what a saved page cannot do is not waited for", () => {
  const connection = offline();
  const before = connection.settings;
  connection.send({ kind: "set", field: "source-layout", value: "<x, F>" });
  assert.equal(connection.waiting, false);
  assert.equal(connection.unanswered, false);
  assert.equal(connection.settings, before);
  connection.close();
});

test("a command is looked up in any order of its members", () => {
  assert.equal(commandKey({ what: "plan", kind: "export", client: "a", number: 3 }), '[["kind","export"],["what","plan"]]');
});

test("a picture has the words of a view as text and its canvases as drawings, and becomes pixels", async () => {
  const { root } = show(aSnapshot());
  await drawn();
  find(root, "way-both").click();
  await drawn();
  await drawn();
  const end = find(root, "end-source");
  const picture = pictureOf(end, "Source <F> & more");
  const parsed = new DOMParser().parseFromString(picture.svg, "image/svg+xml");
  assert.equal(parsed.querySelector("parsererror"), null);
  assert.equal(parsed.querySelector("title")?.textContent, "Source <F> & more");
  const words = [...parsed.querySelectorAll("text")].map((text) => text.textContent ?? "");
  assert.ok(
    words.some((text) => text.startsWith("Source")),
    "the heading",
  );
  assert.ok(
    words.some((text) => text.startsWith("y = 0")),
    "what is written on the canvas",
  );
  assert.ok(parsed.querySelectorAll("image").length > 0, "cells");
  assert.ok(!picture.svg.includes("NaN") && !picture.svg.includes("undefined"));
  const blob = await pixels(picture);
  const bitmap = await createImageBitmap(blob);
  assert.deepEqual([bitmap.width, bitmap.height], [2 * picture.width, 2 * picture.height]);
});

test("a picture of the journey has its shafts and the heads of its arrows", async () => {
  assert.ok(isClear("rgba(0, 0, 0, 0)") && isClear("transparent") && !isClear("rgb(168, 67, 0)"));
  const { root } = show(aSnapshot());
  await drawn();
  const journey = find(root, "journey");
  const { svg } = pictureOf(journey, "Journey");
  const hop = journey.querySelector(".iv-slowest .iv-shaft > span");
  assert.ok(hop !== null);
  assert.ok(svg.includes(`fill="${getComputedStyle(hop).backgroundColor}"`), "the share of the slowest hop");
  assert.equal(svg.match(/l8 6l-8 6z/g)?.length, journey.querySelectorAll(".iv-shaft").length, "heads");
});

test("a picture has what is seen: frames, half-filled boxes, cut words; not what is folded away or acts", () => {
  const root = document.createElement("div");
  root.style.cssText = "width:200px;font:12px sans-serif";
  root.innerHTML =
    '<div style="height:20px;background:linear-gradient(to top, rgb(1, 2, 3) 50%, transparent 50%)"></div>' +
    '<div style="height:20px;outline:2px solid rgb(4, 5, 6);box-shadow:inset 0 0 0 1px rgb(7, 8, 9)">framed</div>' +
    '<p style="width:60px;overflow:hidden;white-space:nowrap;text-overflow:ellipsis">words that have no room</p>' +
    '<details><summary>As tables</summary><p>folded away</p></details><button class="iv-button">Run</button>';
  document.body.append(root);
  const { svg } = pictureOf(root, "all");
  root.remove();
  assert.match(svg, /<linearGradient[^>]*y1="1"[^>]*y2="0"><stop offset="0.5" stop-color="rgb\(1, 2, 3\)"\/><stop offset="0.5"/);
  assert.ok(svg.includes('stroke="rgb(4, 5, 6)" stroke-width="2"') && svg.includes('stroke="rgb(7, 8, 9)" stroke-width="1"'));
  assert.match(svg, />words[^<]*…</);
  assert.ok(svg.includes("As tables") && !svg.includes("folded away") && !svg.includes(">Run<") && !svg.includes("no room"));
});

test("canvases draw as before once a picture was taken", async () => {
  const { root } = show(aSnapshot());
  await drawn();
  const path = globalThis.Path2D;
  const canvas = find(root, "end-source").querySelector("canvas");
  const before = canvas?.toDataURL();
  pictureOf(root, "all");
  assert.equal(globalThis.Path2D, path);
  assert.equal(canvas?.toDataURL(), before);
});
