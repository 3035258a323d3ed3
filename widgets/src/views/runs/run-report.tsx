// What the last run has shown: verified or not, planned beside measured, its transfers, and what to do next.
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { Notes } from "#lib/card.tsx";
import { Icon } from "#lib/icon.tsx";
import { type Column, Table } from "#lib/table.tsx";
import { rateOf, secondsOf } from "#model/measured.ts";
import type { Command, ShownAdvice, ShownMeasure, ShownReport, ShownTransferRun } from "#model/types.ts";
import { counted, formatBytes, formatRate, formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { Term } from "#views/controls/term.tsx";
import { Spread } from "./spread.tsx";

function Badge({ verified, verdict }: { verified: boolean | null; verdict: string }): JSX.Element {
  const kind = verified === true ? "good" : verified === false ? "bad" : "none";
  return (
    <span class={`iv-badge iv-badge-${kind}`} data-testid="verified" data-verified={String(verified)}>
      {kind !== "none" && <Icon name={kind} />}
      {verdict}
    </span>
  );
}

/**
 * Where memories were emulated, measured figures are of other hardware than planned ones: those do not stand beside them.
 */
function measureColumns({ rows, trialLeads }: ShownReport, emulated: boolean): readonly Column<ShownMeasure>[] {
  const predicted = ({ planned, tried }: ShownMeasure): number => (trialLeads ? (tried ?? planned) : planned);
  const basis = trialLeads ? "after the trial" : "planned";
  const most = Math.max(...rows.flatMap((row) => [predicted(row), row.measured])) || 1;
  const repeated = rows.some((row) => row.spread !== null);
  const tried = !emulated && rows.some((row) => row.tried !== null);
  const columns: readonly Column<ShownMeasure>[] = [
    { title: "Hop", names: true, cell: (row) => row.title, hover: (row) => row.name },
    ...(emulated ? [] : [{ title: "Planned", number: true, cell: (row: ShownMeasure) => formatRate(row.planned) }]),
    ...(tried
      ? [
          {
            title: () => (
              <>
                After the <Term name="trial">trial</Term>
              </>
            ),
            number: true,
            cell: (row: ShownMeasure) => row.tried !== null && formatRate(row.tried),
          },
        ]
      : []),
    {
      title: emulated ? "Measured in main memory" : repeated ? () => <Term name="median">Median</Term> : "Measured",
      number: true,
      cell: (row) => formatRate(rateOf(row)),
    },
  ];
  const everyRun: Column<ShownMeasure> = {
    title: "Every run",
    cell: (row) =>
      row.spread !== null && (
        <Spread spread={row.spread} format={formatRate} {...(emulated ? {} : { predicted: predicted(row) })} />
      ),
  };
  if (emulated) return repeated ? [...columns, everyRun] : columns;
  return [
    ...columns,
    repeated
      ? everyRun
      : {
          title: () => (
            <>
              <span class="iv-key iv-key-predicted" aria-hidden="true" /> {basis}{" "}
              <span class="iv-key iv-key-measured" aria-hidden="true" /> measured
            </>
          ),
          drawn: { cells: "iv-measures", head: "iv-measures-head" },
          cell: (row) => (
            <>
              <span class="iv-measure iv-measure-predicted" style={{ width: `${(100 * predicted(row)) / most}%` }} />
              <span class="iv-measure iv-measure-measured" style={{ width: `${(100 * row.measured) / most}%` }} />
            </>
          ),
        },
    {
      title: `Measured ÷ ${basis}`,
      number: true,
      cell: (row) => (predicted(row) > 0 ? (rateOf(row) / predicted(row)).toFixed(2) : ""),
    },
  ];
}

interface ReportProps {
  report: ShownReport;
  /** The memories that main memory stood in for. */
  emulated: readonly string[];
  several?: boolean;
}

export function Report({ report, emulated, several = false }: ReportProps): JSX.Element {
  const waited =
    report.bufferSeconds === null
      ? []
      : [`Before the measured time, the system took ${formatSeconds(report.bufferSeconds)} to give memory for the buffers.`];
  const { spread } = report;
  const stands = emulated.length > 0;
  const triedSeconds = stands ? null : report.triedSeconds;
  const stood = stands
    ? [
        "Main memory stood in for the hardware: its figures are no evidence about the plan, and stand apart from the planned ones.",
      ]
    : [];
  const basis = report.basis === "" || stands ? [] : [report.basis];
  return (
    <div data-testid="report">
      <p class="iv-verdict">
        <Badge verified={report.verified} verdict={report.verdict} />
        <span>
          <b>{formatSeconds(secondsOf(report))}</b>{" "}
          {spread === null ? "measured" : `in the middle of ${counted(spread.values.length, "run")}`}
          {stands ? " in main memory" : `, ${formatSeconds(report.plannedSeconds)} planned${several ? " alone" : ""}`}
          {triedSeconds !== null && `, ${formatSeconds(triedSeconds)} after the trial`}
        </span>
        {spread !== null && (
          <Spread
            spread={spread}
            format={formatSeconds}
            {...(stands ? {} : { predicted: (report.trialLeads ? triedSeconds : null) ?? report.plannedSeconds })}
          />
        )}
      </p>
      <Table
        caption="Planned and measured throughput, overall and for every hop"
        columns={measureColumns(report, stands)}
        rows={report.rows}
        keyOf={(row) => row.title}
        tableClass="iv-report"
      />
      <Notes notes={[...stood, ...basis, ...waited, ...report.notes]} />
    </div>
  );
}

const seconds = (value: number | null): string => (value === null ? "" : formatSeconds(value));

const partColumns: readonly Column<ShownTransferRun>[] = [
  {
    title: "Transfer",
    names: true,
    cell: (part) => (
      <>
        {part.name}
        {part.edited && <span class="iv-tag iv-tag-turn">edited</span>}
      </>
    ),
  },
  { title: () => <Term name="priority">Priority</Term>, number: true, cell: (part) => part.priority },
  { title: "Begins", number: true, cell: (part) => formatSeconds(part.begin) },
  { title: "Size", number: true, cell: (part) => formatBytes(part.bytes) },
  { title: "Alone", number: true, cell: (part) => formatSeconds(part.alone) },
  { title: "Together, simulated", number: true, cell: (part) => seconds(part.simulated) },
  { title: "Together, measured", number: true, cell: (part) => seconds(part.measured) },
  { title: "Every run", cell: (part) => part.spread !== null && <Spread spread={part.spread} format={formatSeconds} /> },
  {
    title: "Outcome",
    cell: (part) =>
      part.error !== "" ? (
        <span class="iv-problem" data-testid={`outcome-${part.key}`}>
          {part.error}
        </span>
      ) : (
        <span data-testid={`outcome-${part.key}`}>{part.verified === true ? "Verified bit for bit" : "Not verified"}</span>
      ),
  },
];

/** The transfers that ran together. */
export function Parts({ parts }: { parts: readonly ShownTransferRun[] }): JSX.Element {
  const repeated = parts.some((part) => part.spread !== null);
  const columns = partColumns.filter((column) => repeated || column.title !== "Every run");
  return (
    <div data-testid="parts">
      <Table caption="Transfers that ran together" columns={columns} rows={parts} keyOf={(part) => part.key} wide />
    </div>
  );
}

function commandOf(advice: ShownAdvice): Command | null {
  switch (advice.act) {
    case "":
      return null;
    case "repeat":
      return { kind: "repeat", times: Number(advice.value) };
    case "planner":
      return { kind: "set", field: "planner", value: advice.value };
    default:
      return { kind: advice.act };
  }
}

/** What to do next, each with the button that does it. */
export function Advice({ advice }: { advice: readonly ShownAdvice[] }): JSX.Element | null {
  const { connection, snapshot } = useView();
  if (advice.length === 0) return null;
  return (
    <section class="iv-advice" aria-label="What to do next" data-testid="advice">
      <h3>What to do next</h3>
      <ul>
        {advice.map((each) => {
          const command = commandOf(each);
          const begins = each.act === "run" || each.act === "repeat";
          return (
            <li key={each.text}>
              <span>{each.text}</span>{" "}
              {command !== null && !connection.offline && (
                <Button
                  label={each.label}
                  quiet
                  testid={`advice-${each.act}`}
                  disabled={begins && !snapshot.panes.run.now.canRun}
                  onClick={() => connection.send(command)}
                />
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
