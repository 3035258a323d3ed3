// Traces from the kernel: asked for when the state says that there is one, and kept for as long as the view is open.
import { useEffect, useState } from "preact/hooks";
import type { Connection } from "#model/connection.ts";
import type { AskTrace, ShownTrace, TraceKind } from "#model/types.ts";
import { useView } from "#model/view.ts";
import { type TraceData, traceOf } from "./trace-data.ts";

/** A trace, the newest that has come; it may be older than what the kernel has (`told`), and `told` older than the plan. */
export interface Traced {
  readonly trace: TraceData | null;
  readonly told: ShownTrace | null;
  /** Why the kernel gave none, in words. */
  readonly error: string;
}

/** Traces of a view that are kept: those that are compared, and the last ones. */
const KEPT = 6;

const kept = new WeakMap<Connection, Map<string, Promise<TraceData>>>();

/** The trace of that name, asked for once for all parts of a view. */
function asked(connection: Connection, command: AskTrace, id: string): Promise<TraceData> {
  let known = kept.get(connection);
  if (known === undefined) kept.set(connection, (known = new Map()));
  const there = known.get(id);
  if (there !== undefined) return there;
  const coming = connection.ask(command).then(({ message, buffers, error }) => {
    if (message?.kind !== "trace" || message.trace === null) throw new Error(error || "The trace did not come.");
    return traceOf(message.trace, buffers);
  });
  known.set(id, coming);
  coming.catch(() => known.delete(id)); // it may be asked for again
  for (const name of [...known.keys()].slice(0, -KEPT)) known.delete(name);
  return coming;
}

type Found = Pick<Traced, "trace" | "error">;

/** A trace of the session; none is asked for unless `wanted`. */
export function useTrace(which: TraceKind, wanted = true): Traced {
  const told = useView().snapshot.panes.trace?.[which] ?? null;
  const found = useAsked(which, "", wanted ? (told?.id ?? "") : "");
  return told === null ? { trace: null, told, error: "" } : { ...found, told };
}

/** The measured trace of a run of the session, by its name in the list of runs. */
export function useRunTrace(run: string): Found {
  const { trace, error } = useAsked("measured", run, run);
  return { trace: trace?.id === run ? trace : null, error }; // not that of the run before
}

/** The trace with that name; none is asked for where it is "". */
function useAsked(which: TraceKind, run: string, id: string): Found {
  const { connection } = useView();
  const [found, setFound] = useState<Found>({ trace: null, error: "" });
  useEffect(() => {
    if (id === "") return;
    let here = true;
    asked(connection, { kind: "trace", which, run }, id).then(
      (trace) => here && setFound({ trace, error: "" }),
      (error: unknown) =>
        here && setFound((before) => ({ ...before, error: error instanceof Error ? error.message : String(error) })),
    );
    return () => void (here = false);
  }, [connection, which, run, id]);
  return found;
}
