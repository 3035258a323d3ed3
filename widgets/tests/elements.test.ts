// Elements belong to the page that shows them: one that a module kept would keep the last page that showed it, and all of its elements.
import assert from "node:assert/strict";
import { test } from "node:test";
import { options } from "preact";

globalThis.Path2D ??= class {} as typeof Path2D; // node has none

test("modules make no elements while they are loaded", async () => {
  let made = 0;
  const before = options.vnode;
  options.vnode = () => void (made += 1);
  try {
    await import("#index.tsx");
  } finally {
    if (before === undefined) delete options.vnode;
    else options.vnode = before;
  }
  assert.equal(made, 0);
});
