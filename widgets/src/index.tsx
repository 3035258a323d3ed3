// The explorer: `render` puts a view of the kernel's session into an element. What calls it is loader.ts.
import "#app/explorer.css";
import { render as draw } from "preact";
import { Explorer } from "#app/explorer.tsx";
import type { SavedPage } from "#app/offline/page-content.ts";
import { Connection } from "#model/connection.ts";
import type { Model } from "#model/types.ts";

/** Hides the static picture that stands beside this explorer for viewers without a kernel; returns what shows it again. */
function hideStaticPicture(token: string): () => void {
  if (!/^[0-9a-f]+$/.test(token)) return () => undefined;
  const sheet = document.createElement("style");
  sheet.textContent = `[data-isoviz-static="${token}"]{display:none}`;
  document.head.append(sheet);
  return () => sheet.remove();
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const connection = new Connection(model);
  const showStaticPicture = hideStaticPicture(String(model.get("static_picture") ?? ""));
  const side = model.get("side");
  draw(
    <Explorer
      connection={connection}
      pane={String(model.get("pane") ?? "explorer")}
      side={side === "source" || side === "destination" ? side : "both"}
    />,
    el,
  );
  return () => {
    draw(null, el);
    connection.close();
    showStaticPicture();
  };
}

/** Draws a saved page, for which nobody calls `render`. */
export async function drawPage(saved: SavedPage): Promise<void> {
  const part = await import("#app/offline/draw-page.tsx");
  part.drawPage(saved);
}

export default { render };
