// The switch of a Data Vortex: that of the machine, or the one that a view was given.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useView } from "#model/view.ts";
import { SwitchView } from "#views/vortex/switch-view.tsx";

export function SwitchPane(): JSX.Element {
  const { switch: part } = useView().snapshot.panes;
  const given = useMemo(() => part, [JSON.stringify(part)]);
  if (given === null) return <p class="iv-faint">The machine has no Data Vortex.</p>;
  return <SwitchView given={given} />;
}
