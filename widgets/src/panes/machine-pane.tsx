// The machine: its name, how much there is of it, and its drawing.
import type { JSX } from "preact";
import { useView } from "../components/view.ts";
import { counted } from "../units.ts";

export function MachinePane(): JSX.Element {
  const { snapshot } = useView();
  const { machine } = snapshot.panes;
  if (machine === null) return <p class="iv-faint">There is no machine yet.</p>;
  return (
    <div data-testid="machine-card">
      <h3>{machine.name}</h3>
      <p class="iv-faint">
        {counted(machine.memories, "memory", "memories")}, {counted(machine.channels, "channel")}
        {machine.provenance !== "" && <>; figures: {machine.provenance}</>}
      </p>
      <pre class="iv-drawing" tabIndex={0} role="region" aria-label={`Drawing of the machine ${machine.name}`} data-testid="machine-drawing">
        {machine.drawing}
      </pre>
    </div>
  );
}
