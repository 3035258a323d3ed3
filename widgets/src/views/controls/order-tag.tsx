// What a hop does to the order, as a tag; nothing where it keeps it.
import type { JSX } from "preact";
import type { ShownHop } from "#model/types.ts";
import { Term } from "./term.tsx";

export function OrderTag({ order }: Pick<ShownHop, "order">): JSX.Element | null {
  if (order === "keeps") return null;
  return (
    <span class={`iv-tag${order === "converts" ? " iv-tag-turn" : ""}`}>
      <Term name={order}>{order}</Term>
    </span>
  );
}
