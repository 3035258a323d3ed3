// How far a run is, and what ends it.
import type { JSX } from "preact";
import { Button } from "../components/button.tsx";
import { useView } from "../components/view.ts";
import type { ShownRun } from "../types.ts";
import { formatBytes } from "../units.ts";

/** The share of the progress bar that belongs to moving; the rest is verification. */
const MOVING = 0.9;

/** How far a run is, from 0 to 1. */
export function shareDone(run: ShownRun): number {
  if (run.stage === "verify") return MOVING;
  return run.stage === "move" && run.bytes > 0 ? MOVING * Math.min(1, run.bytesDone / run.bytes) : 0;
}

/** What a run is doing, in words. */
export function doing(run: ShownRun): string {
  if (run.phase === "cancelling") return "Cancelling";
  if (run.stage === "verify") return "Verifying every byte";
  return run.stage === "move" ? `${formatBytes(run.bytesDone)} of ${formatBytes(run.bytes)} moved` : "Preparing";
}

export function Progress(): JSX.Element {
  const { snapshot, connection } = useView();
  const run = snapshot.panes.run.now;
  const percent = Math.round(100 * shareDone(run));
  return (
    <div class="iv-progress-line">
      <span class="iv-faint iv-number">{doing(run)}</span>
      <progress data-testid="progress" max={100} value={percent} aria-label={`Run ${run.number}`} />
      <span class="iv-number iv-percent">{percent} %</span>
      <Button label="Cancel" icon="stop" testid="cancel" disabled={run.phase === "cancelling"} onClick={() => connection.send({ kind: "cancel" })} />
    </div>
  );
}
