// The layouts of both ends, edited.
import { registerPane } from "#model/pane.ts";
import { LayoutEditor } from "#views/layout-editor/layout-editor.tsx";

registerPane({
  name: "layout-editor",
  title: "Layout editor",
  render: ({ sides }) => (
    <div class="iv-sides">
      {sides.map((side) => (
        <LayoutEditor key={side} side={side} />
      ))}
    </div>
  ),
});
