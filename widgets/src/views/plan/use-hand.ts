// A path by hand is sent to the kernel.
import type { ShownByHand } from "#model/types.ts";
import { useView } from "#model/view.ts";

/** Sends a path by hand; edits of one part in a row are one step to undo. */
export function useHand(): (part: string, hand: ShownByHand | null) => void {
  const { connection } = useView();
  return (part, byHand) => void connection.send({ kind: "by-hand", part, byHand });
}
