// What every part of the explorer has at hand: the line to the kernel, and the state.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Connection } from "./connection.ts";
import type { Snapshot } from "./types.ts";

export interface View {
  connection: Connection;
  snapshot: Snapshot;
}

export const ViewContext = createContext<View | null>(null);

export function useView(): View {
  const view = useContext(ViewContext);
  if (view === null) throw new Error("a part of the explorer outside of it");
  return view;
}
