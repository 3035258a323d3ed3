// The requests of a hop: messages as a sequence, and what descriptors name, marked at both ends.
import assert from "node:assert/strict";
import { test } from "node:test";
import { linearize } from "#model/layouts/linearization.ts";
import type { RequestsPart, ShownDescriptors, ShownHandshake, ShownMessage, Snapshot } from "#model/types.ts";
import { descriptorsSaid, descriptorWords, piecesOf } from "#views/inspector/descriptors.tsx";
import { placed } from "#views/inspector/handshake.tsx";
import { chosenBytes, isInside } from "#views/linearization/drawing/chunk-marks.ts";
import { aSnapshot } from "./model.ts";
import { closeAfterEach, drawn, find, found, press, show } from "./page.ts";

closeAfterEach();

const DESCRIPTORS: ShownDescriptors = {
  limit: 2,
  name: "key",
  window: 24,
  count: 3,
  chunks: 1,
  shown: 3,
  source: { starts: [0, 32, 40, 64, 96], lengths: [16, 8, 8, 16, 8], owners: [0, 0, 1, 1, 2] },
  destination: { starts: [8, 32, 56], lengths: [24, 24, 8], owners: [0, 1, 2] },
};

const message = (name: string, start: number, end: number, more: Partial<ShownMessage> = {}): ShownMessage => ({
  ...{ name, sender: "source", receiver: "destination", start, end, bytes: 0, words: "says", count: 1 },
  ...more,
});

const shake = (again: boolean, messages: ShownMessage[]): ShownHandshake => ({
  again,
  seconds: messages.at(-1)?.end ?? 0,
  source: "a.fbm0",
  destination: "b.fbm0",
  messages,
});

const FIRST = shake(false, [
  message("RTS", 0, 3e-6),
  message("ready", 3e-6, 9e-6, { sender: "destination" }),
  message("CTS", 9e-6, 12e-6, { sender: "destination", receiver: "source", bytes: 8 }),
  message("write", 12e-6, 16e-6, { words: "write 1 of 2", bytes: 24 }),
  message("write", 16e-6, 20e-6, { words: "write 2 of 2", bytes: 24 }),
  message("FIN", 20e-6, 23e-6),
]);
const PART: RequestsPart = {
  isOfPlan: true,
  hops: [{ hop: 0, descriptors: DESCRIPTORS, handshakes: [FIRST, shake(true, FIRST.messages.slice(2))] }],
};

function known(part: RequestsPart | null): Snapshot {
  return aSnapshot((snapshot) => {
    const hop = snapshot.panes.plan?.paths[0]?.hops[0];
    assert.ok(hop !== undefined);
    [hop.descriptors, hop.hasProtocol] = [2, true];
    snapshot.panes.requests = part;
    snapshot.selected = { ...snapshot.selected, selection: { ...snapshot.selected.selection, hop: 0 } };
  });
}

test("descriptors are gone through by keys, and asked for while they are open", async () => {
  const { root, model } = show(known(PART));
  await found(root, "inspector");
  const watched = (): string => JSON.stringify(model.sent.filter((each) => each.kind === "watch").at(-1)?.views ?? []);
  assert.doesNotMatch(watched(), /requests/);
  find(root, "descriptors").querySelector("summary")?.click();
  await drawn();
  await drawn();
  assert.match(watched(), /requests/);
  const list = find(root, "descriptor-list");
  assert.equal(list.children.length, 3);
  list.focus();
  press(list, "ArrowDown");
  await drawn();
  assert.equal(find(root, "descriptor-0").getAttribute("aria-selected"), "true");
  press(list, "End");
  await drawn();
  assert.equal(list.getAttribute("aria-activedescendant"), find(root, "descriptor-2").id);
  press(list, "Escape");
  await drawn();
  assert.equal(list.getAttribute("aria-activedescendant"), null);
  assert.equal(find(root, "hop-0").getAttribute("aria-pressed"), "true", "Escape lets the descriptor go, not the hop");
});

test("what a descriptor names is told in words", () => {
  assert.equal(descriptorWords(DESCRIPTORS, 0), "key 0: 2 → 1 run, 24 B");
  assert.equal(descriptorWords(DESCRIPTORS, 2), "key 2: 1 run, 8 B");
  assert.equal(descriptorsSaid(DESCRIPTORS), "It takes 3 keys, 24 B each, with at most 2 runs at either end.");
  const requests = { ...DESCRIPTORS, name: "request", window: null, chunks: 4, shown: 2 };
  assert.match(descriptorsSaid(requests), /^The first of 4 chunks takes 3 requests with .* The first 2 are listed\.$/);
  assert.deepEqual(piecesOf(DESCRIPTORS.source, 1), { starts: [40, 64], lengths: [8, 16] });
  assert.deepEqual(piecesOf(DESCRIPTORS.source, 9), { starts: [], lengths: [] });
});

test("the bytes that are pointed at are exactly those that are marked", () => {
  const { linear } = linearize(
    "<x, F, y>",
    [
      { name: "x", size: 4 },
      { name: "y", size: 3 },
    ],
    [
      { name: "a", size: 4 },
      { name: "b", size: 8 },
    ],
  );
  assert.ok(linear !== null);
  const bytes = { starts: [96, 8, 60], lengths: [16, 12, 4] };
  const marked = chosenBytes(linear, bytes);
  assert.ok(marked !== null && marked.when === null);
  for (let y = 0; y < 3; y += 1)
    for (let x = 0; x < 4; x += 1)
      for (const field of [0, 1]) {
        const at = linear.offset([x, y], field);
        const own = bytes.starts.some((start, place) => start <= at && at < start + (bytes.lengths[place] ?? 0));
        assert.equal(isInside(marked, [x, y], field), own, `${x} ${y} ${field}`);
      }
  assert.equal(chosenBytes(linear, { starts: [], lengths: [] }), null);
  const timed = chosenBytes(linear, { ...bytes, owners: [0, 500, 875] });
  assert.deepEqual(
    [96, 8, 60].map((at) => timed?.when?.(at)),
    [0, 0.5, 0.875],
  );
  assert.equal(timed?.when?.(104), 0.25, "within a stretch time goes on");
});

test("messages are shown as a sequence, at the first start and at later ones", async () => {
  const { root } = show(known(PART));
  await found(root, "inspector");
  find(root, "messages").querySelector("summary")?.click();
  await drawn();
  await drawn();
  const names = (): string[] => [...root.querySelectorAll(".iv-handshake-message text")].map((each) => each.textContent ?? "");
  assert.ok(names().includes("CTS 3 µs") && names().includes("ready 6 µs"), names().join());
  assert.equal(root.querySelectorAll(".iv-handshake-message").length, 6);
  find(root, "handshake-again").click();
  await drawn();
  assert.equal(find(root, "handshake").getAttribute("data-again"), "true");
  assert.equal(root.querySelectorAll(".iv-handshake-message").length, 4);
});

test("messages that would lie on each other are one band, with a name", () => {
  const writes = Array.from({ length: 300 }, (_, k) =>
    message("write", 1e-6 + k * 1e-8, 1e-6 + (k + 1) * 1e-8, { words: `write ${k}`, bytes: 8 }),
  );
  const { drawn: shown, height } = placed(shake(false, [message("RTS", 0, 1e-6), ...writes, message("FIN", 4e-6, 5e-6)]));
  assert.deepEqual(
    shown.map(({ first, count, bytes, band }) => [first.name, count, bytes, band]),
    [
      ["RTS", 1, 0, false],
      ["write", 300, 2400, true],
      ["FIN", 1, 0, false],
    ],
  );
  assert.ok(height < 500 && shown.every(({ named }) => named));
});
