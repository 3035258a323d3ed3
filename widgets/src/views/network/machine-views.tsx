// A machine with networks has several drawings: its networks, its memories with the channels that are listed, and the switch of a Data
// Vortex at work.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { paneOf } from "#model/pane.ts";
import { useView } from "#model/view.ts";
import { NetworkCanvas } from "./network-canvas.tsx";

/** `memories` is the drawing of the memories, which is the only one of a machine without networks. */
export function MachineViews({ alone, memories }: { alone: boolean; memories: JSX.Element }): JSX.Element {
  const { machine, network, switch: vortex } = useView().snapshot.panes;
  const [wanted, show] = useState<"networks" | "memories" | "switch">("networks");
  if (network === null) return memories;
  const few = machine?.canvas?.whole !== false;
  const shown = (wanted === "memories" && !few) || (wanted === "switch" && vortex === null) ? "networks" : wanted;
  const offer = (drawing: typeof wanted, label: string): JSX.Element => (
    <Button label={label} testid={`view-${drawing}`} pressed={shown === drawing} onClick={() => show(drawing)} />
  );
  const choice = (few || vortex !== null) && (
    <div class="iv-mc-row" role="group" aria-label="What is drawn of the machine">
      {offer("networks", "Networks")}
      {few && offer("memories", "Memories and channels")}
      {vortex !== null && offer("switch", "The switch at work")}
    </div>
  );
  if (shown === "networks")
    return (
      <div class="iv-mc" data-testid="machine-views">
        <NetworkCanvas part={network} alone={alone} choice={choice} watch={vortex === null ? undefined : () => show("switch")} />
      </div>
    );
  return (
    <div class="iv-mc" data-testid="machine-views">
      {choice}
      {shown === "switch" ? paneOf("switch")?.render({ alone, sides: [] }) : memories}
    </div>
  );
}
