// The switch of a Data Vortex.
import { later } from "#lib/later.tsx";
import { registerPane } from "#model/pane.ts";

const SwitchPane = later(() => import("./parts/switch.tsx").then((part) => part.SwitchPane));

registerPane({ name: "switch", title: "Switch", render: () => <SwitchPane /> });
