// A machine with networks has two drawings: its networks, and its memories with the channels that are listed.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { useView } from "#model/view.ts";
import { NetworkCanvas } from "./network-canvas.tsx";

/** `memories` is the drawing of the memories, which is the only one of a machine without networks. */
export function MachineViews({ alone, memories }: { alone: boolean; memories: JSX.Element }): JSX.Element {
  const { machine, network } = useView().snapshot.panes;
  const [networks, show] = useState(true);
  if (network === null) return memories;
  const few = machine?.canvas?.whole !== false;
  const choice = few && (
    <div class="iv-mc-row" role="group" aria-label="What is drawn of the machine">
      <Button label="Networks" testid="view-networks" pressed={networks} onClick={() => show(true)} />
      <Button label="Memories and channels" testid="view-memories" pressed={!networks} onClick={() => show(false)} />
    </div>
  );
  if (networks || !few)
    return (
      <div class="iv-mc" data-testid="machine-views">
        <NetworkCanvas part={network} alone={alone} choice={choice} />
      </div>
    );
  return (
    <div class="iv-mc" data-testid="machine-views">
      {choice}
      {memories}
    </div>
  );
}
