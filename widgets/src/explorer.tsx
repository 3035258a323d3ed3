// The whole explorer: the bar on top, the controls, the panes.
import type { JSX } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { Answer } from "./answer.tsx";
import { ErrorLine, ProblemLine } from "./components/error-line.tsx";
import { keys, ViewContext } from "./components/view.ts";
import type { Connection } from "./connection.ts";
import { panesOf } from "./panes/pane-table.tsx";
import { Panel } from "./panel/panel.tsx";
import { statusText } from "./status.ts";

export function Explorer({ connection, pane }: { connection: Connection; pane: string }): JSX.Element {
  const [, setCount] = useState(0);
  const [error] = useErrorBoundary((caught: unknown) => console.error(caught));
  useEffect(() => {
    const again = (): void => setCount((count) => count + 1);
    again(); // a snapshot may have come between drawing and listening
    return connection.listen(again);
  }, [connection]);
  const snapshot = connection.snapshot;
  if (error !== undefined)
    return <ErrorLine name="drawing">The explorer could not be drawn: {error instanceof Error ? error.message : String(error)}</ErrorLine>;
  if (snapshot === null) {
    return (
      <div class="isoviz" data-testid="explorer" data-revision="0" data-busy="true">
        <p class="iv-faint">Waiting for the kernel…</p>
      </div>
    );
  }
  const busy = !connection.gone && (!snapshot.settled || connection.waiting);
  const { phase } = snapshot.panes.run.now;
  const { refusal } = snapshot;
  const shown = panesOf(pane);
  return (
    <ViewContext.Provider value={{ connection, snapshot }}>
      <div
        class="isoviz"
        data-testid="explorer"
        data-pane={pane}
        data-revision={snapshot.revision}
        data-busy={busy ? "true" : "false"}
        data-running={phase === "running" || phase === "cancelling" ? "true" : "false"}
      >
        <div class="iv-top">
          <Answer />
          <p class={`iv-status${busy ? " iv-busy" : ""}`} data-testid="status" role="status" aria-live="polite">
            {statusText(snapshot, connection)}
          </p>
          <ProblemLine name="transfer" problem={snapshot.problems["transfer"]} />
          {refusal !== null && (refusal.client === null || refusal.client === connection.client) && (
            <ErrorLine name="command">This was not done. {refusal.message}</ErrorLine>
          )}
          {snapshot.defect !== "" && (
            <ErrorLine name="defect">
              <details>
                <summary {...keys}>Something went wrong inside of isoviz: {snapshot.defect.split("\n")[0]}</summary>
                <pre>{snapshot.defect}</pre>
              </details>
            </ErrorLine>
          )}
        </div>
        <div class={`iv-body${connection.gone ? " iv-gone" : ""}`} inert={connection.gone}>
          {shown.some((each) => each.controls) && <Panel />}
          <div class="iv-views">
            {shown
              .filter((each) => each.needs(snapshot.panes))
              .map((each) => (
                <section key={each.name} class="iv-pane" data-testid={`pane-${each.name}`} aria-label={each.title}>
                  <each.render />
                </section>
              ))}
          </div>
        </div>
      </div>
    </ViewContext.Provider>
  );
}
