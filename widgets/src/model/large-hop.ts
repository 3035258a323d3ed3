// Whether one hop is shown large. It is the selected one, so that every other view knows which.
import { type Signal, signal } from "@preact/signals";
import type { Connection } from "./connection.ts";
import { usePlace } from "./selection.ts";
import { useView } from "./view.ts";

/** "follows": it is played, and the next hops after it. */
export type Large = "no" | "shown" | "follows";

const known = new WeakMap<Connection, Signal<Large>>();

function largeOf(connection: Connection): Signal<Large> {
  let found = known.get(connection);
  if (found === undefined) known.set(connection, (found = signal<Large>("no")));
  return found;
}

export function useLargeHop(): Large {
  return largeOf(useView().connection).value;
}

/** Shows a hop large, by its number in the plan. */
export function useShowLarge(): (hop: number, how?: Large) => void {
  const { connection } = useView();
  const [, select] = usePlace();
  return (hop, how = "shown") => {
    select({ hop });
    largeOf(connection).value = how;
  };
}

export function useLeaveLarge(): () => void {
  const { connection } = useView();
  return () => void (largeOf(connection).value = "no");
}
