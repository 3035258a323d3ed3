// Runs: the one in hand, the report of the last one, and the history.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Card, Folded, Notes } from "../components/card.tsx";
import { ErrorLine } from "../components/error-line.tsx";
import { Icon } from "../components/icon.tsx";
import { Table, type Column } from "../components/table.tsx";
import { useView } from "../components/view.ts";
import type { ShownMeasure, ShownPastRun, ShownReport, ShownRun } from "../types.ts";
import { counted, formatBytes, formatRate, formatSeconds } from "../units.ts";

/** The share of the progress bar that belongs to moving; the rest is verification. */
const MOVING = 0.9;

export function RunPane(): JSX.Element | null {
  const { snapshot, connection } = useView();
  const { now: run, report, history } = snapshot.panes.run;
  if (run.number === 0) return null;
  const active = run.phase === "running" || run.phase === "cancelling";
  return (
    <Card
      title={`Run ${run.number}`}
      actions={
        active && (
          <Button
            label="Cancel"
            icon="stop"
            testid="cancel"
            disabled={run.phase === "cancelling"}
            onClick={() => connection.send({ kind: "cancel" })}
          />
        )
      }
    >
      <p class="iv-transfer">
        <code>{run.transfer}</code>
      </p>
      {active && <Progress run={run} />}
      {(run.phase === "failed" || run.phase === "cancelled") && (
        <ErrorLine name="run" calm={run.phase === "cancelled"}>
          {run.error}
        </ErrorLine>
      )}
      {report !== null && run.phase === "done" && <Report report={report} />}
      {history.length > 1 && <History history={history} />}
    </Card>
  );
}

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

function Progress({ run }: { run: ShownRun }): JSX.Element {
  const percent = Math.round(100 * shareDone(run));
  return (
    <div class="iv-progress-line">
      <progress data-testid="progress" max={100} value={percent} aria-label={`Run ${run.number}`} />
      <span class="iv-number">{percent} %</span>
      <span class="iv-faint">{doing(run)}</span>
    </div>
  );
}

function Badge({ verified, verdict }: { verified: boolean | null; verdict: string }): JSX.Element {
  const kind = verified === true ? "good" : verified === false ? "bad" : "none";
  return (
    <span class={`iv-badge iv-badge-${kind}`} data-testid="verified" data-verified={String(verified)}>
      {kind !== "none" && <Icon name={kind} />}
      {verdict}
    </span>
  );
}

function measureColumns(rows: readonly ShownMeasure[]): readonly Column<ShownMeasure>[] {
  const most = Math.max(...rows.flatMap((row) => [row.predicted, row.measured])) || 1;
  return [
    { title: "Hop", names: true, cell: (row) => row.title, hover: (row) => row.name },
    { title: "Predicted", number: true, cell: (row) => formatRate(row.predicted) },
    { title: "Measured", number: true, cell: (row) => formatRate(row.measured) },
    {
      title: (
        <>
          <span class="iv-key iv-key-predicted" aria-hidden="true" /> predicted{" "}
          <span class="iv-key iv-key-measured" aria-hidden="true" /> measured
        </>
      ),
      drawn: { cells: "iv-bars", head: "iv-bars-head" },
      cell: (row) => (
        <>
          <span class="iv-bar iv-bar-predicted" style={{ width: `${(100 * row.predicted) / most}%` }} />
          <span class="iv-bar iv-bar-measured" style={{ width: `${(100 * row.measured) / most}%` }} />
        </>
      ),
    },
    {
      title: "Measured ÷ predicted",
      number: true,
      cell: (row) => (row.predicted > 0 ? (row.measured / row.predicted).toFixed(2) : ""),
    },
  ];
}

function Report({ report }: { report: ShownReport }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The report came because somebody asked for it: bring it into view where it is not.
    box.current?.scrollIntoView({ block: "nearest" });
  }, [report.number]);
  const tried =
    report.plannedSeconds === null
      ? []
      : [`Predicted as tried just before; by the model alone: ${formatSeconds(report.plannedSeconds)}`];
  return (
    <div data-testid="report" ref={box}>
      <p class="iv-verdict">
        <Badge verified={report.verified} verdict={report.verdict} />
        <span>
          <b>{formatSeconds(report.seconds)}</b> measured, {formatSeconds(report.predictedSeconds)} predicted
        </span>
      </p>
      <Table
        caption="Predicted and measured throughput, overall and for every hop"
        columns={measureColumns(report.rows)}
        rows={report.rows}
        keyOf={(row) => row.title}
        tableClass="iv-report"
      />
      <Notes notes={[...tried, ...report.notes]} />
    </div>
  );
}

/** A quantity, or nothing where nobody knows it. */
const known = (value: number | null, format: (value: number) => string): string => (value === null ? "" : format(value));

const pastColumns: readonly Column<ShownPastRun>[] = [
  { title: "Run", names: true, cell: (run) => run.number },
  { title: "Transfer", cell: (run) => <code>{run.transfer}</code> },
  { title: "Size", number: true, cell: (run) => known(run.bytes, formatBytes) },
  { title: "Predicted", number: true, cell: (run) => known(run.predicted, formatSeconds) },
  { title: "Measured", number: true, cell: (run) => known(run.measured, formatSeconds) },
  { title: "Outcome", cell: (run) => run.outcome },
];

function History({ history }: { history: readonly ShownPastRun[] }): JSX.Element {
  const { connection } = useView();
  return (
    <Folded title={`All ${counted(history.length, "run")}`} testid="history">
      <Table caption="Past runs, the newest first" columns={pastColumns} rows={history} keyOf={(run) => run.number} />
      <Button label="Forget these runs" onClick={() => connection.send({ kind: "forget" })} />
    </Folded>
  );
}
