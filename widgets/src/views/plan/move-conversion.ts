// The conversion of a path at another hop: a plan by hand.
import { spacesOf } from "#model/ends.ts";
import type { ShownPath } from "#model/types.ts";
import { useView } from "#model/view.ts";
import { convertedAt, convertingHop } from "./hand.ts";
import { useHand } from "./use-hand.ts";

/** Moves the conversion of the only path of the plan to another hop. */
export function useMoveConversion(): (hop: number) => void {
  const { connection, snapshot } = useView();
  const send = useHand();
  return (hop) => {
    const { plan } = snapshot.panes;
    const { dims, fields } = spacesOf(connection.settings, snapshot);
    const hand = plan === null ? null : convertedAt(plan, hop, dims, fields);
    if (hand !== null) send("", hand);
  };
}

/** Whether the conversion of a path can be moved to another hop. */
export function isMovable(paths: readonly ShownPath[], offline: boolean): boolean {
  const [path, another] = paths;
  return path !== undefined && another === undefined && !offline && path.hops.length > 1 && convertingHop(path) >= 0;
}
