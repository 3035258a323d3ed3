import assert from "node:assert/strict";
import { test } from "node:test";
import { caret, dropPlace, layoutText, moved } from "../src/chips.ts";

test("a chip moves and the others keep their order", () => {
  assert.deepEqual(moved(["a", "b", "c", "d"], 0, 2), ["b", "c", "a", "d"]);
  assert.deepEqual(moved(["a", "b", "c", "d"], 3, 0), ["d", "a", "b", "c"]);
  assert.deepEqual(moved(["a", "b"], 1, 1), ["a", "b"]);
});

test("a move beyond the ends stops at the end, a move of nothing changes nothing", () => {
  assert.deepEqual(moved(["a", "b", "c"], 0, 9), ["b", "c", "a"]);
  assert.deepEqual(moved(["a", "b", "c"], 2, -4), ["c", "a", "b"]);
  assert.deepEqual(moved(["a", "b"], 5, 0), ["a", "b"]);
});

test("components become the text of a layout", () => {
  assert.equal(layoutText(["x_in=4", "F", "x_out"]), "<x_in=4, F, x_out>");
});

test("a dragged chip belongs after the chips whose middle it has passed", () => {
  assert.equal(dropPlace([10, 50, 90], 0), 0);
  assert.equal(dropPlace([10, 50, 90], 51), 2);
  assert.equal(dropPlace([10, 50, 90], 500), 3);
});

test("the caret stands below the offending character, wide characters counted once", () => {
  assert.equal(caret("<F, q>", 4), "<F, q>\n    ^");
  assert.equal(caret("𝒙 !", 2), "𝒙 !\n  ^");
});
