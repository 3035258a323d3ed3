// The plan: its path, its hops, and where it works on the throughput of its channels.
import type { JSX } from "preact";
import { Card, Notes, Picture } from "../components/card.tsx";
import { Table, type Column } from "../components/table.tsx";
import { useView } from "../components/view.ts";
import type { ShownHop } from "../types.ts";
import { formatBytes, formatRate } from "../units.ts";

const columns: readonly Column<ShownHop>[] = [
  {
    title: "Channel",
    names: true,
    cell: (hop) => (
      <>
        {hop.index} {hop.kind}
        {hop.bottleneck && <span class="iv-tag">slowest hop</span>}
      </>
    ),
  },
  { title: "From", cell: (hop) => <Stop memory={hop.source} layout={hop.sourceLayout} /> },
  { title: "To", cell: (hop) => <Stop memory={hop.destination} layout={hop.destinationLayout} /> },
  { title: "Run", number: true, cell: (hop) => formatBytes(hop.run) },
  { title: "Shuffle", number: true, cell: (hop) => (hop.shuffle === null ? "none" : formatBytes(hop.shuffle)) },
  { title: "Predicted", number: true, cell: (hop) => formatRate(hop.rate) },
];

function Stop({ memory, layout }: { memory: string; layout: string }): JSX.Element {
  return (
    <>
      {memory}
      <br />
      <code>{layout}</code>
    </>
  );
}

export function PlanPane(): JSX.Element | null {
  const { snapshot, connection } = useView();
  const { plan } = snapshot.panes;
  if (plan === null) return null;
  const stale = snapshot.stale.includes("plan");
  return (
    <>
      <Card title="Path" stale={stale}>
        <Picture name="path" testid="path" />
      </Card>
      <Card title={`Plan, hop by hop (${plan.planner})`} stale={stale} testid="plan">
        <Table
          caption="Plan, hop by hop"
          columns={columns}
          rows={plan.hops}
          keyOf={(hop) => hop.index}
          rowClass={(hop) => (hop.bottleneck ? "iv-bottleneck" : "")}
          wide
        />
        <Notes notes={plan.notes} />
      </Card>
      {(connection.pictures["throughput"] ?? "") !== "" && (
        <Card title="Throughput of the channels, and where this plan works on them" stale={stale}>
          <Picture name="throughput" testid="throughput" />
        </Card>
      )}
    </>
  );
}
