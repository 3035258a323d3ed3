// How far a run is: phase by phase, and what ends it.
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import type { ShownRun, Stage } from "#model/types.ts";
import { counted, formatBytes, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";

interface Phase {
  stage: Stage;
  title: string;
  from: number;
  to: number;
}

/** The phases in their order, with the part of the progress bar that belongs to each. */
const PHASES: readonly Phase[] = [
  { stage: "prepare", title: "Prepare", from: 0, to: 0.02 },
  { stage: "trial", title: "Trial", from: 0.02, to: 0.1 },
  { stage: "generate", title: "Fill the source", from: 0.1, to: 0.3 },
  { stage: "move", title: "Move", from: 0.3, to: 0.8 },
  { stage: "verify", title: "Verify", from: 0.8, to: 1 },
];

/** The phases of a run in MPI ranks. */
const phasesOnRanks = (ranks: number): readonly Phase[] => [
  { stage: "ranks", title: `Start ${counted(ranks, "rank")}`, from: 0, to: 0.2 },
  { stage: "generate", title: "Fill the source", from: 0.2, to: 0.4 },
  { stage: "move", title: "Move", from: 0.4, to: 0.85 },
  { stage: "verify", title: "Verify", from: 0.85, to: 1 },
];

const phasesOf = (run: ShownRun): readonly Phase[] => (run.ranks > 0 ? phasesOnRanks(run.ranks) : PHASES);

/** The place of the phase that is at work, from 0: what comes before the first one belongs to it. */
const placeOf = (run: ShownRun): number =>
  Math.max(
    0,
    phasesOf(run).findIndex((each) => each.stage === run.stage),
  );

/** The share of its phase that a run has done, from 0 to 1; null where nobody knows. */
export function shareOfPhase(run: ShownRun): number | null {
  if (run.stage !== "move" && run.stage !== "verify") return null;
  return run.bytes > 0 ? Math.min(1, run.bytesDone / run.bytes) : 0;
}

/** How far a run is, from 0 to 1, the runs before it among those that were asked for included. */
export function shareDone(run: ShownRun): number {
  const phase = phasesOf(run)[placeOf(run)];
  if (phase === undefined) return 0;
  const own = phase.from + (phase.to - phase.from) * (shareOfPhase(run) ?? 0);
  return (Math.min(run.over, run.wanted - 1) + own) / run.wanted;
}

const DOING: Record<Stage, string> = {
  prepare: "Preparing",
  ranks: "Starting the ranks",
  trial: "Trying a few MiB",
  generate: "Filling the source",
  move: "moved",
  verify: "verified",
};

/** What a run is doing, in words. */
export function doing(run: ShownRun): string {
  if (run.phase === "cancelling") return "Cancelling";
  const counts = run.stage === "move" || run.stage === "verify";
  const starting = run.stage === "ranks" ? `Starting ${counted(run.ranks, "rank")}` : DOING[run.stage];
  const now = counts ? `${formatBytes(run.bytesDone)} of ${formatBytes(run.bytes)} ${DOING[run.stage]}` : starting;
  return run.wanted > 1 ? `Run ${Math.min(run.wanted, run.over + 1)} of ${run.wanted}: ${now}` : now;
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
      <Button
        label="Cancel"
        icon="stop"
        testid="cancel"
        disabled={run.phase === "cancelling"}
        onClick={() => connection.send({ kind: "cancel" })}
      />
    </div>
  );
}

/** The phases of the run in hand: those that are over, the one at work with its share, those to come. */
export function Phases({ run }: { run: ShownRun }): JSX.Element {
  const at = placeOf(run);
  return (
    <ol class="iv-phases" aria-label="Phases of the run" data-testid="phases">
      {phasesOf(run).map(({ stage, title }, place) => {
        const share = place === at ? shareOfPhase(run) : null;
        const state = place < at ? "over" : place === at ? "now" : "later";
        return (
          <li
            key={stage}
            class={`iv-phase iv-phase-${state}`}
            aria-current={state === "now" ? "step" : undefined}
            data-testid={`phase-${stage}`}
          >
            <span>{title}</span>
            <span class="iv-number">
              {state === "over" ? "done" : state === "now" ? (share === null ? "at work" : formatShare(share)) : ""}
            </span>
            <span class="iv-phase-bar" aria-hidden="true">
              <span
                class={share === null && state === "now" ? "iv-phase-busy" : ""}
                style={{ width: `${100 * (state === "over" ? 1 : state === "later" ? 0 : (share ?? 1))}%` }}
              />
            </span>
          </li>
        );
      })}
    </ol>
  );
}
