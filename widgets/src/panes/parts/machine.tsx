// The machine, drawn and edited: its memories, and its networks beside them.
import type { JSX } from "preact";
import { MachineCanvas } from "#views/machine-canvas/machine-canvas.tsx";
import { MachineViews } from "#views/network/machine-views.tsx";

export function MachinePane({ alone }: { alone: boolean }): JSX.Element {
  return <MachineViews alone={alone} memories={<MachineCanvas alone={alone} />} />;
}
