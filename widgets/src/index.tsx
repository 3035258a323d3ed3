// The explorer as an anywidget: `render` puts a view of the kernel's session into an element.
import { render as draw, type JSX } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { Connection } from "./connection.ts";
import { keys, ViewContext } from "./controls.tsx";
import { Panel } from "./panel.tsx";
import type { Model } from "./types.ts";
import { Answer, PlanCards, Plots, Runs } from "./views.tsx";

export function Explorer({ connection, pane }: { connection: Connection; pane: string }): JSX.Element {
  const [, setCount] = useState(0);
  const [error] = useErrorBoundary((caught: unknown) => console.error(caught));
  useEffect(() => {
    const again = (): void => setCount((count) => count + 1);
    again(); // a snapshot may have come between drawing and listening
    return connection.listen(again);
  }, [connection]);
  const snapshot = connection.snapshot;
  if (error !== undefined) {
    return (
      <div class="iv-problem" role="alert">
        The explorer could not be drawn: {error instanceof Error ? error.message : String(error)}
      </div>
    );
  }
  if (snapshot === null) {
    return (
      <div class="isoviz" data-testid="explorer" data-revision="0" data-busy="true">
        <p class="iv-faint">Waiting for the kernel…</p>
      </div>
    );
  }
  const busy = !connection.gone && (!snapshot.settled || connection.waiting);
  const shows = (name: string): boolean => pane === "explorer" || pane === name;
  return (
    <ViewContext.Provider value={{ connection, snapshot }}>
      <div
        class="isoviz"
        data-testid="explorer"
        data-pane={pane}
        data-revision={snapshot.revision}
        data-busy={busy ? "true" : "false"}
        data-running={snapshot.run.phase === "running" || snapshot.run.phase === "cancelling" ? "true" : "false"}
      >
        <div class="iv-top">
          <Answer />
          <p class={`iv-status${busy ? " iv-busy" : ""}`} data-testid="status" role="status" aria-live="polite">
            {connection.gone
              ? "The kernel of this explorer is gone, restarted perhaps: run its cell again."
              : connection.unanswered
              ? "The kernel is busy, perhaps with a cell of yours; this arrives when it is free. Where nothing runs, reload the page."
              : snapshot.notice !== ""
                ? snapshot.notice
                : snapshot.status}
          </p>
          {snapshot.problems["transfer"] !== undefined && (
            <p class="iv-problem" data-testid="error-transfer" role="alert">
              {snapshot.problems["transfer"].message}
            </p>
          )}
          {snapshot.defect !== "" && (
            <details class="iv-problem" data-testid="error-defect">
              <summary {...keys}>Something went wrong inside of isoviz: {snapshot.defect.split("\n")[0]}</summary>
              <pre>{snapshot.defect}</pre>
            </details>
          )}
        </div>
        <div class={`iv-body${connection.gone ? " iv-gone" : ""}`} inert={connection.gone}>
          {(shows("layout") || pane === "plan") && <Panel />}
          <div class="iv-views">
            {shows("run") && <Runs />}
            {shows("layout") && <Plots />}
            {shows("plan") && <PlanCards />}
          </div>
        </div>
      </div>
    </ViewContext.Provider>
  );
}

/** Hides the static picture that stands beside this explorer for viewers without a kernel; returns what shows it again. */
function hideStaticPicture(token: string): () => void {
  if (!/^[0-9a-f]+$/.test(token)) return () => undefined;
  const sheet = document.createElement("style");
  sheet.textContent = `[data-isoviz-static="${token}"]{display:none}`;
  document.head.append(sheet);
  return () => sheet.remove();
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const connection = new Connection(model);
  const showStaticPicture = hideStaticPicture(String(model.get("static_picture") ?? ""));
  draw(<Explorer connection={connection} pane={String(model.get("pane") ?? "explorer")} />, el);
  return () => {
    draw(null, el);
    connection.close();
    showStaticPicture();
  };
}

export default { render };
