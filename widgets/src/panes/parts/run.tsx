// Runs: where they run, the one in hand, what the last one has shown and what to do next, and all runs that are known.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { ErrorLine } from "#lib/error-line.tsx";
import { useId } from "#lib/use-id.ts";
import { type Draft, shown } from "#model/connection.ts";
import type { RunPart, ShownPlace } from "#model/types.ts";
import { counted } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { Term } from "#views/controls/term.tsx";
import { PastRuns } from "#views/runs/past-runs.tsx";
import { doing, Phases } from "#views/runs/progress.tsx";
import { Ranks } from "#views/runs/ranks.tsx";
import { Advice, Parts, Report } from "#views/runs/run-report.tsx";
import { RunTimeline } from "#views/runs/run-timeline.tsx";

/** Runs of one click; isoviz/widgets/running/begin_run.py has the same. */
const MOST_REPEATS = 100;

export function RunPane(): JSX.Element {
  const { connection, snapshot } = useView();
  const { now: run, report, parts, advice, emulated } = snapshot.panes.run;
  const active = run.phase === "running" || run.phase === "cancelling";
  return (
    <div class="iv-runs" data-testid="runs">
      {!connection.offline && <Head />}
      {!connection.offline && <Ranks />}
      {run.number === 0 ? (
        <p class="iv-faint">
          Nothing has run yet. A run moves real bytes, verifies them and sets what it measured beside what was planned.
        </p>
      ) : (
        <p class="iv-transfer">
          <b>Run {run.number}</b> <code>{run.transfer}</code>
        </p>
      )}
      {active && (
        <p class="iv-hidden" role="status">
          {doing(run)}
        </p>
      )}
      {active && <Phases run={run} />}
      {!active && (run.phase === "failed" || run.phase === "cancelled") && (
        <ErrorLine name="run" calm={run.phase === "cancelled"}>
          {run.error}
        </ErrorLine>
      )}
      {!active && parts.length > 0 && <Parts parts={parts} />}
      {!active && report !== null && (run.phase === "done" || report.spread !== null || parts.length > 0) && (
        <Report report={report} emulated={emulated} several={parts.length > 0} />
      )}
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
  const places = offered(snapshot.panes.run);
  const [text, setText] = useState("5");
  const id = useId();
  const times = /^[0-9]{1,3}$/.test(text.trim()) ? Number(text.trim()) : 0;
  const good = times >= 1 && times <= MOST_REPEATS;
  return (
    <div class="iv-run-head">
      {places.length > 1 && places.some(({ reason }) => reason === "") && <Places places={places} />}
      <span class="iv-repeat">
        <label for={id}>Repeat</label>
        <input
          id={id}
          type="text"
          class="iv-input iv-numeric"
          inputMode="numeric"
          data-testid="repeat-times"
          value={text}
          aria-invalid={!good}
          aria-describedby={good ? undefined : `${id}-problem`}
          onInput={(event) => setText(event.currentTarget.value)}
        />
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
      <p class="iv-run-where" data-testid="run-where">
        <Where />
      </p>
    </div>
  );
}

const nameOf = ({ name, ranks }: ShownPlace): string => (name === "ranks" ? counted(ranks, "MPI rank") : "This process");

/** The places that are told of. One rank alone is no news where it cannot be. */
const offered = ({ place, places }: RunPart): ShownPlace[] =>
  places.filter(({ name, ranks, reason }) => ranks !== 1 || reason === "" || name === place);

/** The places where the plan can run, to choose from; why one of them cannot is said below. */
function Places({ places }: { places: readonly ShownPlace[] }): JSX.Element {
  const { connection, snapshot } = useView();
  const { place, now } = snapshot.panes.run;
  const [draft, setDraft] = useState<Draft | null>(null);
  const id = useId();
  const chosen = shown(draft, place, connection.acknowledged);
  const busy = now.phase === "running" || now.phase === "cancelling";
  return (
    <fieldset class="iv-places" data-testid="places">
      <legend class="iv-hidden">Where it runs</legend>
      {places.map((each) => (
        <label
          key={each.name}
          class={`iv-place${each.name === chosen ? " iv-place-chosen" : ""}${each.reason === "" ? "" : " iv-place-off"}`}
          title={each.reason === "" ? undefined : each.reason}
        >
          <input
            type="radio"
            name={id}
            data-testid={`place-${each.name}`}
            value={each.name}
            checked={each.name === chosen}
            disabled={each.reason !== "" || busy || connection.gone}
            onChange={() =>
              setDraft({ text: each.name, number: connection.send({ kind: "set", field: "runs-in", value: each.name }) })
            }
          />
          {nameOf(each)}
        </label>
      ))}
    </fieldset>
  );
}

/** A sentence behind a colon; what begins with a name or an abbreviation stays as it is. */
const within = (sentence: string): string => sentence.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());

/** Where the next run takes place, in words. */
function Where(): JSX.Element {
  const { snapshot } = useView();
  const { plan, run } = snapshot.panes;
  const { place, now } = run;
  const places = offered(run);
  const emulated = [
    ...new Set(
      (plan?.paths ?? [])
        .flatMap((path) => path.stops)
        .filter((stop) => stop.emulated)
        .map((stop) => stop.memory),
    ),
  ];
  const here = places.find(({ name }) => name === place);
  const others = places.filter(({ name, reason }) => name !== place && reason !== "");
  if (here === undefined) return <>{plan === null || now.reason === "" ? "" : `Nothing runs here: ${now.reason}`}</>;
  return (
    <>
      {here.name === "ranks" ? (
        <>
          Runs in <Term name="MPI rank">MPI ranks</Term> on this computer, one for every node of the machine
        </>
      ) : (
        "Runs in this process, on this computer's memory and files"
      )}
      {emulated.length > 0 && (
        <>
          ; {emulated.join(", ")} <Term name="emulated">emulated</Term> in main memory
        </>
      )}
      . {here.about} {now.together > 1 && `${now.together} transfers run together.`}{" "}
      {others.map((each) => (
        <span key={each.name} class="iv-faint" data-testid={`no-${each.name}`}>
          {each.name === "ranks" ? "Not in ranks" : "Not in this process"}: {within(each.reason)}
        </span>
      ))}
    </>
  );
}
