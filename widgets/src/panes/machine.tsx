// The machine, drawn and edited.
import { registerPane } from "#model/pane.ts";
import { MachineCanvas } from "#views/machine-canvas/machine-canvas.tsx";
import { MachineViews } from "#views/network/machine-views.tsx";

registerPane({
  name: "machine",
  title: "Machine",
  tab: 4,
  watch: ["machine", "timeline"],
  render: ({ alone }) => <MachineViews alone={alone} memories={<MachineCanvas alone={alone} />} />,
});
