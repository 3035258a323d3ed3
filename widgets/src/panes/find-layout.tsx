// The pane "Find a layout".
import { later } from "#lib/later.tsx";
import { registerPane } from "#model/pane.ts";

const FindLayoutPane = later(() => import("./parts/find-layout.tsx").then((part) => part.FindLayoutPane));

registerPane({ name: "find-layout", title: "Find a layout", tab: 5.5, watch: ["find-layout"], render: () => <FindLayoutPane /> });
