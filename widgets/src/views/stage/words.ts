// What a hop does to the entries of a block, in words: how they are read, how they are written, and how they lie.
import type { ByName } from "#model/by-name.ts";
import type { Linearization } from "#model/layouts/linearization.ts";

/** The components that tell elements of a block apart, fastest first, by name: those of one dimension that follow each other are one. */
function orderOf({ digits, fields }: Linearization, block: ByName<number>): string[] {
  const found: string[] = [];
  for (const { part, dim, extent, step } of digits) {
    if (part === "F" ? fields.length < 2 : extent < 2 || step >= (block.get(dim) ?? Infinity)) continue;
    if (found.at(-1) !== dim) found.push(dim);
  }
  return found;
}

/**
 * How the elements of a block are read and written, as pictures of memory show it: they leave in the order in which they lie, so a row
 * is a stretch of the memory that they leave. Null where they keep their order.
 */
export function waysOf(from: Linearization, to: Linearization, block: ByName<number>): { read: string; written: string } | null {
  const [here, there] = [orderOf(from, block), orderOf(to, block)];
  const apart = here.findIndex((name, place) => name !== there[place]);
  if (apart < 0) return null;
  if (here[apart] === "F") return { read: "entry by entry", written: "field by field" };
  if (there[apart] === "F") return { read: "field by field", written: "entry by entry" };
  const first = here[0] === "F" ? 1 : 0; // fields lie in their entry, and move with it
  return apart === first && there.indexOf(here[apart] ?? "") === apart + 1
    ? { read: "by rows", written: "by columns" }
    : { read: "one after the other", written: "far apart" };
}

/** How entries lie in a memory: "in blocks, x varies fastest". */
export function liesWords(linear: Linearization, block: ByName<number>): string {
  const isBlocked = linear.dims.some(
    ({ name }) => linear.digits.filter(({ dim, extent }) => dim === name && extent > 1).length > 1,
  );
  const order = orderOf(linear, block);
  const dim = order.find((name) => name !== "F");
  const at = order.indexOf("F");
  return [
    isBlocked ? "in blocks" : "",
    at < 0 ? "" : at === 0 ? "all fields of an entry together" : "field by field",
    dim === undefined ? "" : `${dim} varies fastest`,
  ]
    .filter((part) => part !== "")
    .join(", ");
}
