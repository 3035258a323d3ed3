// The pane "Why": what the plan rests on, and the plan by hand.
import { later } from "#lib/later.tsx";
import { registerPane } from "#model/pane.ts";
import { Journey } from "#views/journey/journey.tsx";
import { Leading } from "#views/journey/leading.tsx";

const WhyPane = later(() => import("./parts/why.tsx").then((part) => part.WhyPane));

registerPane({
  name: "why",
  title: "Why",
  tab: 2,
  watch: ["why"],
  render: ({ alone }) => (
    <>
      {alone && <Leading />}
      {alone && <Journey />}
      <WhyPane />
    </>
  ),
});
