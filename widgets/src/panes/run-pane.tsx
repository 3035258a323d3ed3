// Runs: the one in hand, the report of the last one, and the history.
import type { JSX } from "preact";
import { Button } from "../components/button.tsx";
import { Folded, Notes } from "../components/card.tsx";
import { ErrorLine } from "../components/error-line.tsx";
import { Icon } from "../components/icon.tsx";
import { Table, type Column } from "../components/table.tsx";
import { useView } from "../components/view.ts";
import type { ShownMeasure, ShownPastRun, ShownReport } from "../types.ts";
import { counted, formatBytes, formatRate, formatSeconds } from "../units.ts";
import { doing } from "./progress.tsx";

export function RunPane(): JSX.Element {
  const { snapshot } = useView();
  const { now: run, report, history } = snapshot.panes.run;
  if (run.number === 0) return <p class="iv-faint">Nothing has run yet. A run moves real bytes, verifies them and sets measured beside predicted.</p>;
  return (
    <>
      <p class="iv-transfer">
        <b>Run {run.number}</b> <code>{run.transfer}</code>
      </p>
      {(run.phase === "running" || run.phase === "cancelling") && <p class="iv-faint">{doing(run)}</p>}
      {(run.phase === "failed" || run.phase === "cancelled") && (
        <ErrorLine name="run" calm={run.phase === "cancelled"}>
          {run.error}
        </ErrorLine>
      )}
      {report !== null && run.phase === "done" && <Report report={report} />}
      {history.length > 1 && <History history={history} />}
    </>
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
      drawn: { cells: "iv-measures", head: "iv-measures-head" },
      cell: (row) => (
        <>
          <span class="iv-measure iv-measure-predicted" style={{ width: `${(100 * row.predicted) / most}%` }} />
          <span class="iv-measure iv-measure-measured" style={{ width: `${(100 * row.measured) / most}%` }} />
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

export function Report({ report }: { report: ShownReport }): JSX.Element {
  const tried =
    report.plannedSeconds === null
      ? []
      : [`A trial just before the run made the prediction. The model alone: ${formatSeconds(report.plannedSeconds)}.`];
  return (
    <div data-testid="report">
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
      {!connection.offline && <Button label="Forget these runs" onClick={() => connection.send({ kind: "forget" })} />}
    </Folded>
  );
}
