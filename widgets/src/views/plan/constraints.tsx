// The constraints of the path as a table: what each needs, what it has, what is left, and which ones hold the plan back.
import type { JSX } from "preact";
import { Folded } from "#lib/card.tsx";
import { Icon } from "#lib/icon.tsx";
import { type Column, Table } from "#lib/table.tsx";
import { useSelection } from "#model/selection.ts";
import type { ShownConstraint, WhyPart } from "#model/types.ts";
import { formatBytes, formatRate, formatShare } from "#model/units.ts";
import { Term } from "#views/controls/term.tsx";

const isRate = (row: ShownConstraint): boolean => row.kind === "throughput" || row.kind === "resource";
const amount = (row: ShownConstraint, value: number): string =>
  row.held ? formatShare(value) : isRate(row) ? formatRate(value) : formatBytes(value);

/** What is missing of a bound; 0 where the constraint holds. */
export function missing(row: ShownConstraint): number {
  return row.holds ? 0 : row.left - row.bound;
}

/** What one unit more of a bound brings: "+1 MB/s per MB/s", "+18.2 MB/s per MiB"; "" where it brings nothing or nobody knows. */
export function priceWords(row: ShownConstraint): string {
  if (row.held || row.price === null || row.price * row.bound <= 1e-6 * Math.max(row.left, 1)) return "";
  const [unit, per] = isRate(row) ? [1e6, "MB/s"] : [2 ** 20, "MiB"];
  return `+${formatRate(row.price * unit)} per ${per}`;
}

/** A constraint in words, beside the hop or the memory that it is about. */
function about(row: ShownConstraint): JSX.Element | string {
  switch (row.kind) {
    case "throughput":
      return <Term name="rate">rate</Term>;
    case "shuffle":
      return (
        <>
          <Term name="shuffle">shuffle</Term> in a <Term name="chunk">chunk</Term>
        </>
      );
    case "slot":
      return (
        <>
          <Term name="chunk">chunk</Term> in a <Term name="slot">slot</Term>
        </>
      );
    case "memory-limit":
      return <Term name="memory limit">all buffers</Term>;
    case "capacity":
      return (
        <>
          <Term name="buffer">buffers</Term> in what is free
        </>
      );
    case "resource":
      return <Term name="resource">shared resource</Term>;
    case "buffers":
      return "holds no buffers";
  }
}

/** Rows that are always shown: what has little room or decides; a slot only where it is the tightest. */
export function rowsInSight(rows: readonly ShownConstraint[]): ShownConstraint[] {
  const slots = rows.filter((row) => row.kind === "slot");
  const tightest = slots.reduce<ShownConstraint | null>(
    (best, row) => (best === null || row.left / row.bound > best.left / best.bound ? row : best),
    null,
  );
  return rows.filter(
    (row) => !row.holds || row.binding || row === tightest || !["slot", "capacity", "buffers"].includes(row.kind),
  );
}

export function Constraints({ why }: { why: WhyPart }): JSX.Element {
  const rows = rowsInSight(why.constraints);
  const rest = why.constraints.filter((row) => !rows.includes(row));
  const open = why.constraints.filter((row) => !row.holds).length;
  return (
    <section class="iv-why-part" data-testid="constraints" data-open={open} aria-label="Constraints">
      <header class="iv-why-head">
        <h3>
          <Term name="bound">Constraints</Term> for {formatRate(why.target)}
        </h3>
        <span class={open === 0 ? "iv-holds" : "iv-lacks"} role="status" aria-live="polite">
          <Icon name={open === 0 ? "good" : "bad"} /> {open === 0 ? "all hold" : `${open} of ${why.constraints.length} not yet`}
        </span>
      </header>
      <Rows rows={rows} caption="Constraints of the path" byHand={why.byHand} />
      {rest.length > 0 && (
        <Folded title={`${rest.length} more, with room`} testid="constraints-more">
          <Rows rows={rest} caption="Constraints with room" byHand={why.byHand} />
        </Folded>
      )}
    </section>
  );
}

function Rows({ rows, caption, byHand }: { rows: readonly ShownConstraint[]; caption: string; byHand: boolean }): JSX.Element {
  const [selection, select] = useSelection();
  const columns: readonly Column<ShownConstraint>[] = [
    {
      title: () => <Term name="hop">Hop</Term>,
      names: true,
      hover: (row) => row.name,
      cell: (row) =>
        row.hop !== null && isHop(row) ? (
          <button type="button" class="iv-link" aria-pressed={selection.hop === row.hop} onClick={() => select({ hop: row.hop })}>
            {row.hop} {row.words}
          </button>
        ) : (
          <span class="iv-row-words">{row.words}</span>
        ),
    },
    { title: "What", cell: about },
    { title: "Needs", number: true, cell: (row) => amount(row, row.left) },
    { title: "Has", number: true, cell: (row) => amount(row, row.bound) },
    {
      title: () => <Term name="slack">Slack</Term>,
      cell: (row) => (
        <span class={`iv-slack${row.holds ? (row.binding ? " iv-slack-binding" : "") : " iv-slack-lacks"}`}>
          <span class="iv-slack-bar" aria-hidden="true">
            <span style={{ width: `${100 * Math.min(1, row.bound > 0 ? row.left / row.bound : 1)}%` }} />
          </span>
          <span class="iv-slack-text">{slackWords(row, byHand)}</span>
        </span>
      ),
    },
  ];
  return (
    <Table
      caption={caption}
      columns={columns}
      rows={rows}
      keyOf={(row) => `${row.kind}-${row.hop ?? ""}-${row.name}`}
      rowClass={(row) => (row.hop !== null && isHop(row) && row.hop === selection.hop ? "iv-selected" : "")}
      tableClass="iv-constraints"
      wide
    />
  );
}

const isHop = (row: ShownConstraint): boolean => row.kind === "throughput" || row.kind === "shuffle";

function slackWords(row: ShownConstraint, byHand: boolean): JSX.Element {
  if (!row.holds)
    return (
      <span class="iv-lacks">
        <Icon name="bad" /> {amount(row, missing(row))} missing
      </span>
    );
  const price = priceWords(row);
  const free = Math.max(0, row.bound - row.left);
  const share = row.bound > 0 ? free / row.bound : 0;
  const left = share < 5e-5 ? "none" : row.held ? formatShare(free) : `${amount(row, free)}, ${formatShare(share)}`;
  return (
    <>
      <span class="iv-slack-left">
        {byHand && (
          <span class="iv-holds">
            <Icon name="good" />
            <span class="iv-hidden">holds, </span>
          </span>
        )}
        {left}
      </span>
      {row.binding && (
        <>
          {" "}
          <span class="iv-tag iv-tag-slow">
            <Term name="binding">binds</Term>
          </span>
        </>
      )}
      {row.binding && price !== "" && <span class="iv-faint"> {price}</span>}
    </>
  );
}
