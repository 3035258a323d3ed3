// The layouts that were found, ranked, with one click to take one of them.
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { type Column, Table } from "#lib/table.tsx";
import { gainWords, prettyLayout, useNames } from "#model/layout-question.ts";
import type { FindLayoutPart, ShownRankedLayout } from "#model/types.ts";
import { counted, formatBytes, formatSeconds, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { Term } from "#views/controls/term.tsx";
import { useQuestion } from "./question.tsx";

interface RankingProps {
  part: FindLayoutPart;
  pointed: string | null;
  point: (layout: string | null) => void;
}

/** The best of what was found against what is there, in one sentence. */
export function Verdict({ part }: { part: FindLayoutPart }): JSX.Element {
  const { candidates, present } = part;
  const best = candidates[0];
  if (best === undefined) return <>{part.isDone ? "No layout was found." : "Layouts are being looked for…"}</>;
  const gain = present === null ? "" : gainWords(present.weighted, best.weighted);
  const code = <code>{prettyLayout(best.layout)}</code>;
  if (present === null)
    return (
      <>
        The best is {code}: {formatSeconds(best.weighted)} for all uses.
      </>
    );
  if (gain === "") return <>No layout that was found beats the present one: {formatSeconds(present.weighted)} for all uses.</>;
  return (
    <>
      The best is {code}: {formatSeconds(best.weighted)} for all uses, {gain} {gain.endsWith("fast") ? "as" : "than"} the present
      layout ({formatSeconds(present.weighted)}).
    </>
  );
}

export function Ranking({ part, pointed, point }: RankingProps): JSX.Element {
  const { connection } = useView();
  const question = useQuestion(part);
  const names = useNames(question);
  const now = connection.settings[question.side].layout;
  const isNow = (row: ShownRankedLayout): boolean =>
    row.layout === now || (part.present !== null && row.layout === part.present.layout);
  const rows = part.candidates;
  const padded = rows.some(({ padding }) => padding > 0);
  const measured = part.isMeasuring || rows.some((row) => row.measured !== null);
  const columns: readonly Column<ShownRankedLayout>[] = [
    {
      title: "Layout",
      names: true,
      cell: (row) => (
        <span class="iv-find-layout" onPointerEnter={() => point(row.layout)} onPointerLeave={() => point(null)}>
          <span class="iv-find-rank">{rows.indexOf(row) + 1}</span>
          <code>{prettyLayout(row.layout)}</code>
          {row.alike > 0 && (
            <span class="iv-faint" title="Layouts with the same times, runs and padding, made of more components">
              +{row.alike} alike
            </span>
          )}
        </span>
      ),
    },
    {
      title: "",
      cell: (row) =>
        isNow(row) ? (
          <span class="iv-faint">present</span>
        ) : (
          !connection.offline && (
            <Button
              label="Take"
              testid={`find-take-${rows.indexOf(row)}`}
              title={`Give the ${question.side} this layout`}
              onClick={() => connection.send({ kind: "take-layout", layout: row.layout, question })}
            />
          )
        ),
    },
    { title: "All uses", number: true, cell: (row) => <b>{formatSeconds(row.weighted)}</b> },
    ...(measured
      ? [
          {
            title: "Measured",
            number: true,
            cell: (row: ShownRankedLayout) => (row.measured === null ? "" : formatSeconds(row.measured)),
          },
        ]
      : []),
    ...names.map((name, use) => ({
      title: () => <span title={name}>Use {use + 1}</span>,
      number: true,
      cell: (row: ShownRankedLayout) => formatSeconds(row.times[use] ?? 0),
    })),
    ...(padded
      ? [
          {
            title: "Padding",
            number: true,
            cell: (row: ShownRankedLayout) => (row.padding > 0 ? formatShare(row.padding) : "none"),
          },
        ]
      : []),
    {
      title: () => <Term name="run">Runs</Term>,
      cell: (row) => row.runs.map(({ dim, bytes }) => `${dim} ${formatBytes(bytes)}`).join(", "),
    },
  ];
  return (
    <Table
      caption="Layouts, the least weighted time of all uses first"
      columns={columns}
      rows={rows}
      keyOf={(row) => row.layout}
      rowClass={(row) => (row.layout === pointed ? "iv-selected" : "")}
      tableClass="iv-find-table"
      wide
    />
  );
}

/** How far the search came, and the button that runs the best layouts. */
export function Effort({ part }: { part: FindLayoutPart }): JSX.Element {
  const { connection } = useView();
  const { isDone, isMeasuring, reason, measureProblem } = part;
  const told = `${counted(part.considered, "layout")} considered, ${counted(part.plans, "plan")} made`;
  const end = !isDone
    ? "; the search goes on"
    : part.stopped
      ? "; others may exist that gain as much"
      : "; no other one gains more";
  return (
    <div class="iv-find-effort">
      <p class="iv-faint" data-testid="find-effort" data-done={isDone}>
        {told}
        {end}.{part.emulated.length > 0 && ` ${part.emulated.join(", ")} emulated: times say nothing about hardware.`}
      </p>
      {!connection.offline && part.candidates.length > 0 && (
        <p>
          {isMeasuring ? (
            <Button
              label="Stop measuring"
              icon="stop"
              testid="find-stop"
              onClick={() => connection.send({ kind: "stop-measuring-layouts" })}
            />
          ) : (
            <Button
              label="Measure the best five"
              icon="run"
              testid="find-measure"
              disabled={!isDone || reason !== ""}
              describedBy={`${connection.client}-find-reason`}
              title="Run every use of the five best layouts three times on this computer"
              onClick={() => connection.send({ kind: "measure-layouts" })}
            />
          )}{" "}
          <span class="iv-faint" id={`${connection.client}-find-reason`} data-testid="find-reason">
            {isMeasuring ? "Each use runs three times; the median counts." : isDone ? reason : ""}
          </span>
        </p>
      )}
      {measureProblem !== "" && (
        <p class="iv-problem" role="alert" data-testid="error-find-measure">
          {measureProblem}
        </p>
      )}
    </div>
  );
}
