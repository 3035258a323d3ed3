// A view of the session: the frame around every pane, with the state at hand for all that is in it.
import type { JSX, RenderableProps } from "preact";
import { useCallback, useEffect, useErrorBoundary, useMemo, useRef, useState } from "preact/hooks";
import { type Pane, paneOf } from "#model/pane.ts";
import { Screen } from "./screen.tsx";
import "isoviz:panes";
import { Button } from "#lib/button.tsx";
import { ErrorLine } from "#lib/error-line.tsx";
import { useShortcuts } from "#lib/shortcuts.ts";
import { useToolbars } from "#lib/toolbars.ts";
import type { Connection } from "#model/connection.ts";
import type { Side } from "#model/settings.ts";
import { statusText } from "#model/status.ts";
import { useView, ViewContext } from "#model/view.ts";
import { CheckBar } from "#views/check/check-bar.tsx";
import { Errors } from "#views/controls/errors.tsx";

interface ExplorerProps {
  connection: Connection;
  pane: string;
  side: "both" | Side;
}

export function Explorer(props: ExplorerProps): JSX.Element {
  const [error, drawAgain] = useErrorBoundary((caught: unknown) => console.error(caught));
  return (
    <Root connection={props.connection} pane={props.pane}>
      {error !== undefined ? (
        <NotDrawn connection={props.connection} error={error} drawAgain={drawAgain} />
      ) : (
        <Content {...props} />
      )}
    </Root>
  );
}

interface NotDrawnProps {
  connection: Connection;
  error: unknown;
  drawAgain: () => void;
}

/** What is left where drawing has failed: the ways out. Once the kernel has done what was chosen, it is drawn again. */
function NotDrawn({ connection, error, drawAgain }: NotDrawnProps): JSX.Element {
  const { snapshot } = connection;
  const [asked, setAsked] = useState(Infinity);
  const failed = useRef(snapshot?.settings);
  const done = connection.acknowledged >= asked || snapshot?.settings !== failed.current;
  useEffect(() => {
    if (done) drawAgain();
  }, [done]);
  const offer = (kind: "undo" | "begin-afresh", label: string, disabled = false): JSX.Element => (
    <Button label={label} testid={kind} disabled={disabled} onClick={() => setAsked(connection.send({ kind }))} />
  );
  return (
    <ErrorLine name="drawing">
      <p>The explorer could not be drawn: {error instanceof Error ? error.message : String(error)}</p>
      {!connection.offline && (
        <p>
          {offer("undo", "Undo the last change", snapshot?.frame.canUndo !== true)} {offer("begin-afresh", "Begin afresh")}
        </p>
      )}
    </ErrorLine>
  );
}

/** The element around everything, with what tests and style sheets ask for. */
function Root({ connection, pane, children }: Pick<ExplorerProps, "connection" | "pane"> & RenderableProps<object>): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  const edit = useCallback((kind: "undo" | "redo") => void connection.send({ kind }), [connection]);
  useShortcuts(root, edit);
  useToolbars(root);
  const { snapshot } = connection;
  const busy = !connection.gone && (snapshot === null || !snapshot.frame.settled || connection.waiting);
  const run = snapshot?.panes.run.now;
  return (
    <div
      class="isoviz"
      ref={root}
      data-lm-suppress-shortcuts="true"
      data-testid="explorer"
      data-pane={pane}
      data-revision={snapshot?.frame.revision ?? 0}
      data-busy={busy ? "true" : "false"}
      data-phase={run?.phase}
      data-run={run?.number ?? 0}
      data-running={run?.phase === "running" || run?.phase === "cancelling" ? "true" : "false"}
    >
      {children}
    </div>
  );
}

function Content({ connection, pane, side }: ExplorerProps): JSX.Element {
  const { snapshot } = connection;
  const view = useMemo(() => (snapshot === null ? null : { connection, snapshot }), [connection, snapshot]);
  return view === null ? (
    <p class="iv-waiting">Waiting for the kernel…</p>
  ) : (
    <ViewContext.Provider value={view}>
      {pane === "explorer" ? <Screen /> : <Alone pane={paneOf(pane)} name={pane} side={side} />}
    </ViewContext.Provider>
  );
}

interface AloneProps {
  pane: Pane | undefined;
  name: string;
  side: "both" | Side;
}

/** A pane that is all there is of this view. */
function Alone({ pane, name, side }: AloneProps): JSX.Element {
  const { connection, snapshot } = useView();
  if (pane === undefined) return <ErrorLine name="pane">There is no view called {name}.</ErrorLine>;
  return (
    <section class="iv-alone" data-testid={`pane-${name}`} aria-label={pane.title}>
      <Errors />
      <div inert={connection.gone}>
        {pane.render({ alone: true, sides: side === "both" ? ["source", "destination"] : [side] })}
        <CheckBar />
      </div>
      <p class="iv-status" data-testid="status" role="status" aria-live="polite">
        {statusText(snapshot, connection, false)}
      </p>
    </section>
  );
}
