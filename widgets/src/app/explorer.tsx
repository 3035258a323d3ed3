// A view of the session: the frame around every pane, with the state at hand for all that is in it.
import type { JSX } from "preact";
import { useCallback, useEffect, useErrorBoundary, useRef, useState } from "preact/hooks";
import { paneOf } from "#model/pane.ts";
import { Screen } from "./screen.tsx";
import "isoviz:panes";
import { ErrorLine } from "#lib/error-line.tsx";
import { useShortcuts } from "#lib/shortcuts.ts";
import type { Connection } from "#model/connection.ts";
import type { Side } from "#model/settings.ts";
import { statusText } from "#model/status.ts";
import type { Snapshot } from "#model/types.ts";
import { ViewContext } from "#model/view.ts";
import { Errors } from "#views/controls/errors.tsx";

interface ExplorerProps {
  connection: Connection;
  pane: string;
  side: "both" | Side;
}

export function Explorer({ connection, pane, side }: ExplorerProps): JSX.Element {
  const [, setCount] = useState(0);
  const [error] = useErrorBoundary((caught: unknown) => console.error(caught));
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const again = (): void => setCount((count) => count + 1);
    again(); // a state may have come between drawing and listening
    return connection.listen(again);
  }, [connection]);
  const edit = useCallback((kind: "undo" | "redo") => void connection.send({ kind }), [connection]);
  useShortcuts(root, edit);
  const snapshot = connection.snapshot;
  const busy = !connection.gone && (snapshot === null || !snapshot.frame.settled || connection.waiting);
  const phase = snapshot?.panes.run.now.phase;
  return (
    <div
      class="isoviz"
      ref={root}
      data-lm-suppress-shortcuts="true"
      data-testid="explorer"
      data-pane={pane}
      data-revision={snapshot?.frame.revision ?? 0}
      data-busy={busy ? "true" : "false"}
      data-phase={phase}
      data-run={snapshot?.panes.run.now.number ?? 0}
      data-running={phase === "running" || phase === "cancelling" ? "true" : "false"}
    >
      {error !== undefined ? (
        <ErrorLine name="drawing">
          The explorer could not be drawn: {error instanceof Error ? error.message : String(error)}
        </ErrorLine>
      ) : snapshot === null ? (
        <p class="iv-waiting">Waiting for the kernel…</p>
      ) : (
        <ViewContext.Provider value={{ connection, snapshot }}>
          <Pane connection={connection} snapshot={snapshot} pane={pane} side={side} />
        </ViewContext.Provider>
      )}
    </div>
  );
}

function Pane({ connection, snapshot, pane, side }: ExplorerProps & { snapshot: Snapshot }): JSX.Element {
  if (pane === "explorer") return <Screen />;
  const found = paneOf(pane);
  if (found === undefined) return <ErrorLine name="pane">There is no view called {pane}.</ErrorLine>;
  const shown = found.render({ alone: true, sides: side === "both" ? ["source", "destination"] : [side] });
  const told = statusText(snapshot, connection, false);
  return (
    <section class="iv-alone" data-testid={`pane-${pane}`} aria-label={found.title}>
      <Errors />
      <div inert={connection.gone}>{shown}</div>
      <p class="iv-status" data-testid="status" role="status" aria-live="polite">
        {told}
      </p>
    </section>
  );
}
