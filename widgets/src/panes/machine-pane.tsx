// The machine: its name, how much there is of it, and its drawing.
import type { JSX } from "preact";
import { Card, Folded } from "../components/card.tsx";
import { keys, useView } from "../components/view.ts";
import { counted } from "../units.ts";

export function MachinePane(): JSX.Element | null {
  const { snapshot } = useView();
  const { machine } = snapshot.panes;
  if (machine === null) return null;
  return (
    <Card title={`Machine ${machine.name}`} testid="machine-card">
      <p class="iv-faint">
        {counted(machine.memories, "memory", "memories")}, {counted(machine.channels, "channel")}
        {machine.provenance !== "" && <>; figures: {machine.provenance}</>}
      </p>
      {/* A machine that somebody described is what they want to see; a preset is known. */}
      <Folded title="Drawing" testid="machine-drawing" open={snapshot.settings.machine.kind === "described"}>
        <pre {...keys} class="iv-drawing" tabIndex={0} role="region" aria-label={`Drawing of the machine ${machine.name}`}>
          {machine.drawing}
        </pre>
      </Folded>
    </Card>
  );
}
