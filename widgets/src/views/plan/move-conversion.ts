// The conversion of a path at another hop: a plan by hand, whose blocks the kernel chooses.
import type { ShownPath } from "#model/types.ts";
import { useView } from "#model/view.ts";
import { convertingHop } from "./hand.ts";

/** Moves the conversion of the only path of the plan to another hop. */
export function useMoveConversion(): (hop: number) => void {
  const { connection, snapshot } = useView();
  return (hop) => {
    const [path] = snapshot.panes.plan?.paths ?? [];
    if (path === undefined || convertingHop(path) === hop) return;
    connection.send({ kind: "convert-at", hop });
  };
}

/** Whether the conversion of a path can be moved to another hop. */
export function isMovable(paths: readonly ShownPath[], offline: boolean): boolean {
  const [path, another] = paths;
  return path !== undefined && another === undefined && !offline && path.hops.length > 1 && convertingHop(path) >= 0;
}
