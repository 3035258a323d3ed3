// A trace alone: the one that a view was given.
import { later } from "#lib/later.tsx";
import { registerPane } from "#model/pane.ts";

const TraceAlone = later(() => import("./parts/trace.tsx").then((part) => part.TraceAlone));

registerPane({ name: "trace", title: "Timeline", render: () => <TraceAlone /> });
