// The list of runs: those of the session, and earlier ones of the same transfer on this computer. Notes, comparison, exports.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { type Column, Table } from "#lib/table.tsx";
import { save } from "#model/exports.ts";
import type { ShownFact, ShownPastHop, ShownPastRun } from "#model/types.ts";
import { counted, formatBytes, formatRate, formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { type ComparedRun, TwoTimelines } from "./run-timeline.tsx";

/** Rows that are shown before somebody asks for more. */
const FEW = 8;

/** The list of runs, asked for anew whenever it has changed; null until it is there. */
function usePastRuns(): { runs: readonly ShownPastRun[] | null; error: string } {
  const { connection, snapshot } = useView();
  const [found, set] = useState<{ runs: readonly ShownPastRun[] | null; error: string }>({ runs: null, error: "" });
  const { source, destination, dimensions, fields, part } = snapshot.settings;
  const key = JSON.stringify([
    snapshot.panes.run.changes,
    snapshot.panes.run.count,
    source,
    destination,
    dimensions,
    fields,
    part,
  ]);
  useEffect(() => {
    let gone = false;
    void connection.ask({ kind: "runs" }).then(({ message, error }) => {
      if (gone) return;
      set(message?.kind === "runs" ? { runs: message.runs, error: message.error } : { runs: null, error });
    });
    return () => void (gone = true);
  }, [connection, key]);
  return found;
}

const known = (value: number | null, format: (value: number) => string): string => (value === null ? "" : format(value));

const dateOf = (text: string): string => {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" });
};

const nameOf = (run: ShownPastRun): string => (run.number === null ? `earlier, ${dateOf(run.date)}` : `Run ${run.number}`);

export function PastRuns(): JSX.Element | null {
  const { connection } = useView();
  const { runs, error } = usePastRuns();
  const [chosen, choose] = useState<readonly string[]>([]);
  const [all, showAll] = useState(false);
  const [told, tell] = useState("");
  if (error !== "") return <p class="iv-faint">{error}</p>;
  if (runs === null || runs.length === 0) return null;
  const [one, other] = runs.filter((run) => chosen.includes(run.name)).reverse(); // the older one first
  const turn = (name: string): void =>
    choose(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name].slice(-2));
  const shown = all ? runs : runs.slice(0, FEW);
  const columns: readonly Column<ShownPastRun>[] = [
    {
      title: "Compare",
      cell: (run) => (
        <input
          type="checkbox"
          aria-label={`Compare ${nameOf(run)}`}
          data-testid={`compare-${run.name}`}
          checked={chosen.includes(run.name)}
          onChange={() => turn(run.name)}
        />
      ),
    },
    { title: "Run", names: true, hover: (run) => run.transfer, cell: (run) => (run.number === null ? "earlier" : run.number) },
    { title: "When", cell: (run) => dateOf(run.date) },
    { title: "Size", number: true, cell: (run) => formatBytes(run.bytes) },
    { title: "Planned", number: true, cell: (run) => known(run.planned, formatSeconds) },
    { title: "After the trial", number: true, cell: (run) => known(run.tried, formatSeconds) },
    {
      title: "Measured",
      number: true,
      cell: (run) => (
        <>
          {known(run.measured, formatSeconds)}
          {run.runs > 1 && <span class="iv-faint"> of {run.runs}</span>}
          {run.emulated && run.measured !== null && <span class="iv-faint"> in main memory</span>}
        </>
      ),
    },
    {
      title: "Outcome",
      cell: (run) => (
        <>
          {run.outcome}
          {run.timeline === "dropped" && (
            <span class="iv-faint" title="Timelines of newer runs needed the room">
              , timeline dropped
            </span>
          )}
        </>
      ),
    },
    { title: "Note", cell: (run) => <Note run={run} /> },
  ];
  return (
    <section class="iv-past" data-testid="history" aria-label="Runs">
      <header class="iv-past-head">
        <h3>History</h3>
        <p class="iv-faint">
          {one === undefined ? "Tick two runs to compare them." : other === undefined ? "Tick one more run." : ""}
        </p>
        <span class="iv-past-acts">
          <Button
            label="JSON"
            testid="export-runs-json"
            title="Save the list of runs as JSON"
            onClick={() => void save(connection, "runs-json").then((news) => tell(news.text))}
          />
          <Button
            label="CSV"
            testid="export-runs-csv"
            title="Save the list of runs as a table (CSV)"
            onClick={() => void save(connection, "runs-csv").then((news) => tell(news.text))}
          />
          <Button
            label="Page"
            testid="export-runs-page"
            title="Save the plan and its last run as a page (HTML)"
            onClick={() => void save(connection, "page").then((news) => tell(news.text))}
          />
          <Button label="Forget those of this session" testid="forget" onClick={() => connection.send({ kind: "forget" })} />
        </span>
      </header>
      <p class="iv-hidden" role="status">
        {told}
      </p>
      {one !== undefined && other !== undefined && <Comparison one={one} other={other} close={() => choose([])} />}
      <Table
        caption="Runs of this session and earlier ones of this transfer, the newest first"
        columns={columns}
        rows={shown}
        keyOf={(run) => run.name}
        rowClass={(run) => (chosen.includes(run.name) ? "iv-selected" : "")}
        wide
      />
      {runs.length > shown.length && (
        <Button label={`Show all ${counted(runs.length, "run")}`} quiet testid="all-runs" onClick={() => showAll(true)} />
      )}
    </section>
  );
}

/** A note: kept with the run, also after the session is closed. */
function Note({ run }: { run: ShownPastRun }): JSX.Element {
  const { connection } = useView();
  const [draft, setDraft] = useState<string | null>(null);
  const send = (): void => {
    if (draft !== null && draft !== run.note) connection.send({ kind: "note", run: run.name, note: draft });
  };
  // The note may come back while more is being typed.
  useEffect(() => setDraft((now) => (now === run.note ? null : now)), [run.note]);
  return (
    <input
      type="text"
      class="iv-input iv-note"
      aria-label={`Note to ${nameOf(run)}`}
      placeholder="Add a note"
      data-testid={`note-${run.name}`}
      value={draft ?? run.note}
      onInput={(event) => setDraft(event.currentTarget.value)}
      onBlur={send}
      onKeyDown={(event) => {
        if (event.key === "Enter") send();
        if (event.key === "Escape" && draft !== null) {
          event.stopPropagation();
          setDraft(null);
        }
      }}
    />
  );
}

interface Compared {
  title: string;
  one: string;
  other: string;
  ratio: string;
  differs: boolean;
}

const ratioOf = (one: number | null, other: number | null): string =>
  one === null || other === null || one === 0 ? "" : `${(other / one).toFixed(2)} ×`;

/** The rows of a comparison: times, then hops, then the settings that differ. */
export function comparedRows(one: ShownPastRun, other: ShownPastRun): Compared[] {
  const times = (["planned", "tried", "measured", "low", "high"] as const).map((name) => ({
    title: {
      planned: "planned time",
      tried: "time after the trial",
      measured: "measured time",
      low: "quickest run",
      high: "slowest run",
    }[name],
    one: known(one[name], formatSeconds),
    other: known(other[name], formatSeconds),
    ratio: ratioOf(one[name], other[name]),
    differs: true,
  }));
  const shownTimes = (one.runs > 1 || other.runs > 1 ? times : times.slice(0, 3)).filter((row) => row.one + row.other !== "");
  const count = Math.max(one.hops.length, other.hops.length);
  const hops = Array.from({ length: count }, (_, place) => {
    const [a, b]: [ShownPastHop | undefined, ShownPastHop | undefined] = [one.hops[place], other.hops[place]];
    const title = a?.title === b?.title || a === undefined || b === undefined ? (a ?? b)?.title : `${a.title}, ${b.title}`;
    return {
      title: `hop ${title ?? ""}`,
      one: known(a?.measured ?? null, formatRate),
      other: known(b?.measured ?? null, formatRate),
      ratio: ratioOf(a?.measured ?? null, b?.measured ?? null),
      differs: true,
    };
  });
  const names = [...new Set([...one.facts, ...other.facts].map((fact) => fact.name))];
  const told = (facts: readonly ShownFact[], name: string): string => {
    const fact = facts.find((each) => each.name === name);
    return fact === undefined ? "" : fact.bytes !== null ? formatBytes(fact.bytes) : fact.text;
  };
  const facts = names
    .map((name) => ({ title: name, one: told(one.facts, name), other: told(other.facts, name), ratio: "" }))
    .map((row) => ({ ...row, differs: row.one !== row.other }));
  return [...shownTimes, ...hops, ...facts.filter((row) => row.differs)];
}

const WITHOUT = {
  kept: "",
  dropped: "it made room for those of newer runs",
  none: "those of runs that ended well are kept, for as long as the session",
};

/** A run as its timeline names it. */
function titled(run: ShownPastRun): ComparedRun {
  const last = run.runs > 1 ? `, the last of ${run.runs}` : "";
  return { name: run.name, title: `${nameOf(run)}${last}`, reason: WITHOUT[run.timeline] };
}

function Comparison({ one, other, close }: { one: ShownPastRun; other: ShownPastRun; close: () => void }): JSX.Element {
  const rows = comparedRows(one, other);
  const columns: readonly Column<Compared>[] = [
    { title: "Compared", names: true, cell: (row) => row.title },
    { title: nameOf(one), number: true, cell: (row) => row.one },
    { title: nameOf(other), number: true, cell: (row) => row.other },
    { title: "second ÷ first", number: true, cell: (row) => row.ratio },
  ];
  const same = rows.filter((row) => row.ratio === "" && row.differs).length === 0;
  return (
    <div class="iv-compared" data-testid="compared">
      <Table
        caption={`${nameOf(one)} and ${nameOf(other)} side by side`}
        columns={columns}
        rows={rows}
        keyOf={(row) => row.title}
      />
      <p>
        {same && <span class="iv-faint">Both had the same settings. </span>}
        <Button label="Close the comparison" quiet testid="compared-close" onClick={close} />
      </p>
      <TwoTimelines one={titled(one)} other={titled(other)} />
    </div>
  );
}
