// The pane "Timeline": the plan simulated.
import { later } from "#lib/later.tsx";
import { registerPane } from "#model/pane.ts";
import { Journey } from "#views/journey/journey.tsx";
import { Leading } from "#views/journey/leading.tsx";

const TimelinePane = later(() => import("./parts/timeline.tsx").then((part) => part.TimelinePane));

registerPane({
  name: "timeline",
  title: "Timeline",
  tab: 3,
  watch: ["timeline"],
  render: ({ alone }) => (
    <>
      {alone && <Leading />}
      {alone && <Journey />}
      <TimelinePane />
    </>
  ),
});
