// The first byte at which two layouts differ, beside a search byte by byte.
import assert from "node:assert/strict";
import { test } from "node:test";
import { firstDifference } from "#model/layouts/difference.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { layout } from "./linear.ts";

/** What a byte holds, as text; the byte of an element counts as well. */
function held(linear: Linearization, byte: number): string {
  const there = linear.at(byte);
  return there === null ? (byte < linear.nbytes ? "padding" : "end") : `${there.index.join()} ${there.field} ${there.byte}`;
}

function searched(own: Linearization, other: Linearization): number | null {
  for (let byte = 0; byte < Math.max(own.nbytes, other.nbytes); byte += 1) if (held(own, byte) !== held(other, byte)) return byte;
  return null;
}

const FIELDS = { a: 4, b: 8, c: 2 };

test("the difference is where a search byte by byte finds it", () => {
  let seed = 11;
  const draw = (below: number): number => (seed = (seed * 48271) % 2147483647) % below;
  const digits = (dim: string, size: number): string[] => {
    const block = 1 + draw(size);
    return draw(2) === 0 || block > size ? [dim] : [`${dim}_in=${block}`, `${dim}_out`];
  };
  const kinds = new Set<string>();
  for (let round = 0; round < 400; round += 1) {
    const sizes = { x: 1 + draw(6), y: 1 + draw(6) };
    const text = (): string => {
      const parts = ["F", ...digits("x", sizes.x), ...digits("y", sizes.y)];
      for (let at = parts.length - 1; at > 0; at -= 1) {
        const to = draw(at + 1);
        [parts[at], parts[to]] = [parts[to] ?? "", parts[at] ?? ""];
      }
      return `<${parts.join(", ")}>`;
    };
    const [own, other] = [layout(text(), sizes, FIELDS), layout(text(), sizes, FIELDS)];
    const found = firstDifference(own, other);
    assert.equal(found?.byte ?? null, searched(own, other), `${own} and ${other} on ${JSON.stringify(sizes)}`);
    if (found !== null) kinds.add(`${found.own === null} ${found.other === null}`);
    if (found?.own != null) assert.equal(own.offset(found.own.index, found.own.field), found.byte);
    if (found?.other != null) assert.equal(other.offset(found.other.index, found.other.field), found.byte);
  }
  assert.ok(kinds.size >= 3, "padding stands against entries, both ways");
});

test("layouts of a large array are compared at once", () => {
  const sizes = { x: 2 ** 15, y: 2 ** 15 };
  const [own, other] = [layout("<F, x, y>", sizes, FIELDS), layout("<F, x_in=1024, y, x_out>", sizes, FIELDS)];
  assert.equal(firstDifference(own, other)?.byte, 1024 * 14);
  assert.equal(firstDifference(own, own), null);
});
