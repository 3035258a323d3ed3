// The plan, hop by hop, as a table: everything that the journey shows, in words and numbers.
import type { JSX } from "preact";
import { Notes } from "#lib/card.tsx";
import { type Column, Table } from "#lib/table.tsx";
import { registerPane } from "#model/pane.ts";
import { useSelection } from "#model/selection.ts";
import type { ShownStop } from "#model/types.ts";
import { formatBytes, formatRate, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { hopsOf, type PlacedHop, whereOf } from "#model/words.ts";
import { OrderTag } from "#views/controls/order-tag.tsx";
import { Term } from "#views/controls/term.tsx";
import { Journey } from "#views/journey/journey.tsx";
import { Leading } from "#views/journey/leading.tsx";

registerPane({ name: "hops", title: "Hops", render: () => <HopsPane /> });

registerPane({
  name: "plan",
  title: "Plan",
  render: () => (
    <>
      <Leading />
      <Journey />
      <HopsPane />
    </>
  ),
});

const columns: readonly Column<PlacedHop>[] = [
  {
    title: () => <Term name="hop">Hop</Term>,
    names: true,
    hover: ({ hop }) => hop.channel,
    cell: ({ number, hop }) => (
      <>
        <HopName number={number} words={hop.words} />
        {hop.bottleneck && <span class="iv-tag iv-tag-slow">slowest</span>}
        <OrderTag order={hop.order} />
      </>
    ),
  },
  { title: "From", cell: ({ hop, path }) => <End stop={path.stops[hop.index]} /> },
  { title: "To", cell: ({ hop, path }) => <End stop={path.stops[hop.index + 1]} /> },
  { title: () => <Term name="run">Run</Term>, number: true, cell: ({ hop }) => formatBytes(Math.round(hop.run)) },
  {
    title: () => <Term name="shuffle">Shuffle</Term>,
    number: true,
    cell: ({ hop }) => (hop.shuffle === null ? "none" : formatBytes(hop.shuffle)),
  },
  { title: () => <Term name="rate">Rate</Term>, number: true, cell: ({ hop }) => formatRate(hop.rate) },
  { title: () => <Term name="busy">Busy</Term>, number: true, cell: ({ hop }) => formatShare(hop.busy) },
];

/** The name of a hop; clicked, the hop is selected in every view. */
function HopName({ number, words }: { number: number; words: string }): JSX.Element {
  const [selection, select] = useSelection();
  return (
    <button type="button" class="iv-link" aria-pressed={selection.hop === number} onClick={() => select({ hop: number })}>
      {number} {words}
    </button>
  );
}

function End({ stop }: { stop: ShownStop | undefined }): JSX.Element | null {
  if (stop === undefined) return null;
  return (
    <>
      {stop.words} <span class="iv-faint">{whereOf(stop)}</span>
      <br />
      <code>{stop.pretty}</code>
    </>
  );
}

function HopsPane(): JSX.Element | null {
  const { snapshot } = useView();
  const [selection] = useSelection();
  const { plan } = snapshot.panes;
  if (plan === null) return null;
  return (
    <div class={snapshot.faults.stale.includes("plan") ? "iv-stale" : ""} data-testid="plan">
      <Table
        caption="Plan, hop by hop"
        columns={columns}
        rows={hopsOf(plan)}
        keyOf={(placed) => placed.number}
        rowClass={(placed) => (placed.number === selection.hop ? "iv-selected" : "")}
        wide
      />
      <Notes notes={plan.notes} />
    </div>
  );
}
