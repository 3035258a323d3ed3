// The machine, drawn and edited.
import type { JSX } from "preact";
import { MachineCanvas } from "#views/machine-canvas/machine-canvas.tsx";

/** `alone`: there is no transfer around it. */
export function MachinePane({ alone = false }: { alone?: boolean }): JSX.Element {
  return <MachineCanvas alone={alone} />;
}
