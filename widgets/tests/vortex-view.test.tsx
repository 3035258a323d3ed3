// The view of a switch on the page: what it says after steps, what its canvas shows, and its keys.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShownNetwork } from "#model/types.ts";
import { rateWords } from "#views/network/network-panel.tsx";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, enter, find, press, show } from "./page.ts";

closeAfterEach();

test("what a network carries is said of each link, and of a Data Vortex in all", () => {
  const network = { rate: 8e9, whole: null, sizes: [6, 32, 4, 1] } as unknown as ShownNetwork;
  assert.equal(rateWords(network), "8 GB/s of data over a link");
  assert.equal(
    rateWords({ ...network, whole: 128e9 }),
    "128 GB/s of data through the whole switch: 32 ports × 0.500 words per cycle × 8 GB/s, a word in each cycle",
  );
});

/** The view of a switch of 64 ports, at rest. */
async function shown(): Promise<HTMLElement> {
  const part = { heights: 16, angles: 4, inputs: [0, 1, 2, 3], outputs: [0, 1, 2, 3] };
  const { root } = show(
    aSnapshot((state) => void (state.panes.switch = part)),
    "switch",
  );
  for (let turn = 0; turn < 50 && root.querySelector("[data-testid=switch]") === null; turn++) await drawn();
  if (find(root, "switch-play").textContent === "Pause") find(root, "switch-play").click();
  await drawn();
  return root;
}

/** How many pixels of the canvas above have the colour of a variable. */
function pixels(root: HTMLElement, variable: string): number {
  const board = find(root, "switch-board");
  const colour = getComputedStyle(board).getPropertyValue(variable).trim();
  const wanted = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  const canvas = board.querySelectorAll("canvas")[1]!;
  const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4)
    if (data[at + 3] === 255 && wanted.every((value, k) => data[at + k] === value)) count++;
  return count;
}

test("an empty switch shows no packet; a saturated one shows what is deflected, and a followed one its way in words", async () => {
  const root = await shown();
  find(root, "switch-afresh").click();
  find(root, "switch-empty").click();
  await drawn();
  for (let turn = 0; turn < 3; turn++) find(root, "switch-step").click();
  await drawn();
  assert.match(find(root, "switch-told").textContent!, /^Cycle 3: 0 packets in the switch, 0 waiting/);
  assert.equal(pixels(root, "--iv-slow") + pixels(root, "--iv-accent"), 0);
  enter(find<HTMLInputElement>(root, "switch-load"), "1");
  await drawn();
  for (let turn = 0; turn < 20; turn++) find(root, "switch-step").click();
  await drawn();
  assert.ok(pixels(root, "--iv-slow") > 200 && pixels(root, "--iv-accent") > 200);
  assert.equal(pixels(root, "--iv-turn"), 0);
  find(root, "switch-follow").click();
  await drawn();
  find(root, "switch-step").click();
  await drawn();
  assert.match(find(root, "switch-way").textContent!, /It has gone 1 hop\. .* 4 inwards \+ .* = \d+\.$/);
  assert.ok(pixels(root, "--iv-turn") > 100);
});

test("keys play and step; sizes and ports are chosen", async () => {
  const root = await shown();
  const board = find(root, "switch-board");
  const cycle = (): number => Number(find(root, "switch").dataset.cycle);
  board.focus();
  const before = cycle();
  press(board, "ArrowRight");
  await drawn();
  assert.equal(cycle(), before + 1);
  press(board, " ");
  await drawn();
  assert.equal(find(root, "switch-play").textContent, "Pause");
  press(board, " ");
  find(root, "switch-input-2").click();
  await drawn();
  assert.equal(find(root, "switch").dataset.ports, "48");
  const heights = find<HTMLSelectElement>(root, "switch-heights");
  heights.value = "1024";
  heights.dispatchEvent(new Event("change", { bubbles: true }));
  await drawn();
  assert.equal(find(root, "switch").dataset.ports, "3072");
  assert.equal(board.dataset.lod, "many");
});
