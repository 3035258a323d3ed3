// The pane "Machine".
import { later } from "#lib/later.tsx";
import { registerPane } from "#model/pane.ts";

const MachinePane = later(() => import("./parts/machine.tsx").then((part) => part.MachinePane));

registerPane({
  name: "machine",
  title: "Machine",
  tab: 4,
  watch: ["machine", "timeline"],
  render: ({ alone }) => <MachinePane alone={alone} />,
});
