// A path by hand is sent to the kernel; the planner's plan that it began from is kept beside it.
import { keepPlan } from "#model/before-hand.ts";
import type { ShownByHand } from "#model/types.ts";
import { useView } from "#model/view.ts";

/** Sends a path by hand; edits of one part in a row are one step to undo. */
export function useHand(): (part: string, hand: ShownByHand | null) => void {
  const { connection, snapshot } = useView();
  return (part, byHand) => {
    keepPlan(connection, snapshot.panes.plan);
    connection.send({ kind: "by-hand", part, byHand });
  };
}
