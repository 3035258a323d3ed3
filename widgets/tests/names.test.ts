// Names that users choose: an object of JavaScript has a `constructor` before anybody names a dimension so.
import assert from "node:assert/strict";
import { test } from "node:test";
import { byName, withName } from "#model/by-name.ts";
import { entryFrom, shownFrom } from "#model/entries.ts";
import { linearize } from "#model/layouts/linearization.ts";
import { contiguousBox, requestBox, requestOrigin } from "#model/layouts/requests.ts";
import type { Named } from "#model/types.ts";
import { colouring, inView } from "#views/linearization/drawing/colouring.ts";

/** Everything that an empty object has, and what other programs look for in one. */
const ODD = [...Object.getOwnPropertyNames(Object.prototype), "toJSON", "then", "length", "prototype", "_", "x".repeat(200)];

test("a table by name has what was put there, and nothing else", () => {
  for (const name of ODD) {
    const pairs: Named<number> = [["x", 1]];
    assert.equal(byName(pairs).get(name), undefined, name);
    const more = withName(pairs, name, 2);
    assert.deepEqual([byName(more).get(name), byName(more).get("x"), more.length], [2, 1, 2], name);
    assert.deepEqual(JSON.parse(JSON.stringify(more)), more, name);
  }
});

test("colours, requests and entries are the same whatever dimensions are called", () => {
  const numbers = (one: string, other: string): unknown => {
    const dims = [
      { name: one, size: 12 },
      { name: other, size: 8 },
    ];
    const of = (text: string) =>
      linearize(text.replaceAll("$", one).replaceAll("%", other), dims, [{ name: one, size: 4 }]).linear;
    const [a, b] = [of("<F, $_in=4, %_in=2, $_out, %_out>"), of("<F, $_in=4, %, $_out>")];
    assert.ok(a !== null && b !== null);
    const box = requestBox(a, b);
    const part = contiguousBox({ linear: a, first: [4, 2], sizes: [8, 6] });
    const whole = colouring(a, {
      options: { colour: "offset", digit: null },
      palette: [],
      chunks: null,
      dark: false,
    });
    const seen = inView(whole, new Map([[one, [4, 5]]]));
    const shown = shownFrom(a, { index: [5, 3], field: 0 });
    return [
      [...box.extents.values(), ...box.steps.values(), box.entries],
      [...part.extents.values(), ...part.steps.values(), part.entries],
      requestOrigin(box, a, [7, 5]),
      [...seen.bytes, seen.top],
      entryFrom(a, shown),
      entryFrom(a, { index: [[one, 5]], field: one }),
    ];
  };
  const expected = numbers("x", "y");
  for (const name of ODD) if (/^\p{L}|_[^\d]/u.test(name)) assert.deepEqual(numbers(name, "y"), expected, name);
});
