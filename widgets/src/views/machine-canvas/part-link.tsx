// The name of a part of the machine; clicked, the part is selected.
import type { JSX } from "preact";
import { useEditing } from "./edits.ts";

export function PartLink({ kind, place }: { kind: "memory" | "channel" | "resource"; place: number }): JSX.Element | null {
  const { part, choose } = useEditing();
  const found = (kind === "memory" ? part.memories : kind === "channel" ? part.channels : part.resources)[place];
  if (found === undefined) return null;
  return (
    <button type="button" class="iv-link iv-mc-link" onClick={() => choose({ kind, name: found.name, place })}>
      {found.name}
    </button>
  );
}
