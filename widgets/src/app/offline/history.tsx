// A saved page about predictions: how far off they were, in figures first; the picture, the paths and the runs below.
import type { JSX } from "preact";
import { Folded } from "#lib/card.tsx";
import { type Column, Table } from "#lib/table.tsx";
import type { ErrorsOfPath, HistoryPart, PredictedRun, WayToPredict } from "#model/types.ts";
import { counted, formatBytes, formatSeconds } from "#model/units.ts";

/** A share as a percentage, with a decimal where it is small: "7.5 %", "38 %". */
export function percent(share: number): string {
  return `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;
}

/** A factor with three digits. */
export function factor(value: number): string {
  return value >= 999.5 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(3)));
}

export function History({ part }: { part: HistoryPart }): JSX.Element {
  return (
    <>
      <header class="iv-page-head">
        <div>
          <h1>{part.title}</h1>
          <p class="iv-faint">
            Half of the errors should be below {percent(part.medianGoal)}, and 95 % of them below {percent(part.tailGoal)}.
          </p>
        </div>
      </header>
      {part.ways.length === 0 && <p class="iv-card iv-missing">No runs.</p>}
      {part.ways.map((way) => (
        <Way key={way.title} way={way} part={part} />
      ))}
      <footer class="iv-faint">isoviz {part.version}</footer>
    </>
  );
}

function Way({ way, part }: { way: WayToPredict; part: HistoryPart }): JSX.Element {
  const { all } = way;
  const facts: readonly (readonly [string, string, boolean | null])[] = [
    ["runs", all.count.toLocaleString("en-US"), null],
    ["median error", percent(all.median), all.median <= part.medianGoal],
    ["95 % below", percent(all.tail), all.tail <= part.tailGoal],
    ["measured ÷ predicted, median", factor(all.ratio), null],
    ...(all.coverage === null ? [] : [["in their interval", percent(all.coverage), null] as const]),
  ];
  return (
    <section class="iv-card iv-page-way" data-testid="way" aria-label={way.title}>
      <h2>{way.title}</h2>
      <p class="iv-faint">{way.said}</p>
      <dl class="iv-figures">
        {facts.map(([name, value, held]) => (
          <div key={name} class="iv-figure">
            <dt>{name}</dt>
            <dd>
              {value}
              {held !== null && (
                <span class={`iv-tag ${held ? "iv-tag-good" : "iv-tag-slow"}`}>{held ? "as aimed at" : "above the aim"}</span>
              )}
            </dd>
          </div>
        ))}
      </dl>
      {/* The picture is made by this package, and everything in it is escaped there. */}
      <div class="iv-page-picture" dangerouslySetInnerHTML={{ __html: way.picture }} />
      <Folded title="Errors by the channels of the path" open={false}>
        <Table
          caption="Errors by the channels of the path"
          columns={errorColumns}
          rows={way.paths}
          keyOf={(each) => each.path}
          wide
        />
      </Folded>
      <Folded
        title={`${counted(way.runs.length, "run")}, furthest off first${way.leftOut > 0 ? `; ${way.leftOut.toLocaleString("en-US")} more are not listed` : ""}`}
      >
        <Table
          caption="Runs, furthest off first"
          columns={runColumns}
          rows={way.runs}
          keyOf={(run) => way.runs.indexOf(run)}
          wide
        />
      </Folded>
    </section>
  );
}

const errorColumns: readonly Column<ErrorsOfPath>[] = [
  { title: "Path", names: true, cell: (each) => each.path },
  { title: "Runs", number: true, cell: (each) => each.count.toLocaleString("en-US") },
  { title: "Median error", number: true, cell: (each) => percent(each.median) },
  { title: "95 % below", number: true, cell: (each) => percent(each.tail) },
  { title: "Measured ÷ predicted", number: true, cell: (each) => factor(each.ratio) },
  { title: "Worst factor", number: true, cell: (each) => factor(each.worst) },
  { title: "In their interval", number: true, cell: (each) => (each.coverage === null ? "–" : percent(each.coverage)) },
];

const runColumns: readonly Column<PredictedRun>[] = [
  { title: "Transfer", names: true, cell: (run) => run.transfer },
  { title: "Path", cell: (run) => run.path },
  { title: "Size", number: true, cell: (run) => formatBytes(run.bytes) },
  { title: "Predicted", number: true, cell: (run) => formatSeconds(run.predicted) },
  {
    title: "Interval",
    number: true,
    cell: (run) => (run.low === null || run.high === null ? "–" : `${formatSeconds(run.low)} – ${formatSeconds(run.high)}`),
  },
  { title: "Measured", number: true, cell: (run) => formatSeconds(run.measured) },
  { title: "Error", number: true, cell: (run) => percent(run.error) },
];
