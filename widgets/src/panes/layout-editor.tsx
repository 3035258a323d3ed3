// The layouts of both ends, edited.
import { registerPane } from "#model/pane.ts";
import { LayoutEditor } from "#views/layout-editor/layout-editor.tsx";
import { BesideTape } from "#views/linearization/linearization-view.tsx";

registerPane({
  name: "layout-editor",
  title: "Layout editor",
  render: ({ sides }) => (
    <div class="iv-sides">
      {sides.map((side) => (
        <div key={side} class="iv-side">
          <LayoutEditor side={side} />
          <BesideTape side={side} />
        </div>
      ))}
    </div>
  ),
});
