// The pane "Runs".
import type { JSX } from "preact";
import { later } from "#lib/later.tsx";
import { registerPane } from "#model/pane.ts";
import { useView } from "#model/view.ts";
import { Progress } from "#views/runs/progress.tsx";

const RunPane = later(() => import("./parts/run.tsx").then((part) => part.RunPane));

registerPane({
  name: "run",
  title: "Runs",
  tab: 5,
  render: ({ alone }) => (
    <>
      {alone && <ProgressOfRun />}
      <RunPane />
    </>
  ),
});

/** The run that is under way. */
function ProgressOfRun(): JSX.Element | null {
  const { phase } = useView().snapshot.panes.run.now;
  return phase === "running" || phase === "cancelling" ? <Progress /> : null;
}
