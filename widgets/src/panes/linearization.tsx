// The layouts of both ends as pictures.
import { registerPane } from "#model/pane.ts";
import { LinearizationView } from "#views/linearization/linearization-view.tsx";

registerPane({
  name: "linearization",
  title: "Linearization",
  render: ({ sides }) => (
    <div class="iv-sides">
      {sides.map((side) => (
        <LinearizationView key={side} side={side} />
      ))}
    </div>
  ),
});
