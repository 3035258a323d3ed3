// What the parts of a view watch: the kernel computes it only while one of them is shown.
import { useEffect, useId } from "preact/hooks";
import type { Connection } from "./connection.ts";
import { useView } from "./view.ts";

interface Watching {
  parts: Map<string, readonly string[]>;
  told: string;
}

const watched = new WeakMap<Connection, Watching>();

function tell(connection: Connection, known: Watching): void {
  const views = [...new Set([...known.parts.values()].flat())].sort();
  if (views.join() === known.told) return;
  known.told = views.join();
  connection.send({ kind: "watch", views });
}

/** Watches views (names as in `VIEWS` of the kernel half) for as long as the component that says so is shown. */
export function useWatch(views: readonly string[]): void {
  const { connection } = useView();
  const part = useId();
  const names = views.join();
  useEffect(() => {
    let known = watched.get(connection);
    if (known === undefined) watched.set(connection, (known = { parts: new Map(), told: "" }));
    const all = known;
    all.parts.set(part, names === "" ? [] : names.split(","));
    tell(connection, all);
    return () => {
      all.parts.delete(part);
      // Another part may take its place at once: what both watch is not given up between them.
      queueMicrotask(() => tell(connection, all));
    };
  }, [connection, part, names]);
}
