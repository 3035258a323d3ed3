// Runs: where they run, the one in hand, what the last one has shown and what to do next, and all runs that are known.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorLine } from "../components/error-line.tsx";
import { Term } from "../components/term.tsx";
import { useId, useView } from "../components/view.ts";
import type { Snapshot } from "../types.ts";
import { PastRuns } from "./past-runs.tsx";
import { RunTimeline } from "./run-timeline.tsx";
import { doing, Phases } from "./progress.tsx";
import { Advice, Parts, Report } from "./run-report.tsx";

/** Runs of one click; isoviz/widgets/running/begin_run.py has the same. */
const MOST_REPEATS = 100;

export function RunPane(): JSX.Element {
  const { connection, snapshot } = useView();
  const { now: run, report, parts, advice } = snapshot.panes.run;
  const active = run.phase === "running" || run.phase === "cancelling";
  return (
    <div class="iv-runs" data-testid="runs">
      {!connection.offline && <Head />}
      {run.number === 0 ? (
        <p class="iv-faint">Nothing has run yet. A run moves real bytes, verifies them and sets measured beside predicted.</p>
      ) : (
        <p class="iv-transfer">
          <b>Run {run.number}</b> <code>{run.transfer}</code>
        </p>
      )}
      {active && <p class="iv-hidden" role="status">{doing(run)}</p>}
      {active && <Phases run={run} />}
      {!active && (run.phase === "failed" || run.phase === "cancelled") && (
        <ErrorLine name="run" calm={run.phase === "cancelled"}>
          {run.error}
        </ErrorLine>
      )}
      {!active && parts.length > 0 && <Parts parts={parts} />}
      {!active && report !== null && (run.phase === "done" || report.spread !== null || parts.length > 0) && <Report report={report} several={parts.length > 0} />}
      {!active && <Advice advice={advice} />}
      {!active && report !== null && <RunTimeline />}
      {!connection.offline && <PastRuns />}
    </div>
  );
}

/** Where a run takes place, and how often it is repeated. */
function Head(): JSX.Element {
  const { connection, snapshot } = useView();
  const { now } = snapshot.panes.run;
  const [text, setText] = useState("5");
  const id = useId();
  const times = /^[0-9]{1,3}$/.test(text.trim()) ? Number(text.trim()) : 0;
  const good = times >= 1 && times <= MOST_REPEATS;
  return (
    <div class="iv-run-head">
      <p data-testid="run-where">{whereWords(snapshot)}</p>
      <span class="iv-repeat">
        <label for={id}>Repeat</label>
        <input id={id} type="text" class="iv-input iv-numeric" inputMode="numeric" data-testid="repeat-times" value={text} aria-invalid={!good} aria-describedby={good ? undefined : `${id}-problem`} onInput={(event) => setText(event.currentTarget.value)} />
        <span>times</span>
        <Button
          label={now.together > 1 ? `Run all ${now.together}` : "Run"}
          icon="run"
          testid="repeat"
          disabled={!now.canRun || !good || connection.gone}
          title="Run it this number of times, one after the other; then see the median, the lowest and the highest time"
          onClick={() => connection.send({ kind: "repeat", times })}
        />
        <span id={`${id}-problem`} class="iv-repeat-problem" role={good ? undefined : "alert"}>
          {good ? "" : `1 to ${MOST_REPEATS} times`}
        </span>
      </span>
    </div>
  );
}

function whereWords(snapshot: Snapshot): JSX.Element {
  const { plan, run } = snapshot.panes;
  const emulated = [...new Set((plan?.paths ?? []).flatMap((path) => path.stops).filter((stop) => stop.emulated).map((stop) => stop.memory))];
  if (plan !== null && plan.where !== "this computer") return <>Nothing runs here: {run.now.reason}</>;
  return (
    <>
      Runs in this process, on this computer's memory and files
      {emulated.length > 0 && (
        <>
          ; {emulated.join(", ")} <Term name="emulated">emulated</Term> in main memory
        </>
      )}
      . {run.now.together > 1 && `${run.now.together} transfers run together.`}
    </>
  );
}
