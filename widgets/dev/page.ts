// Every view with a recorded state (tests/snapshot.json), to work on their looks: `npm run dev`. `?dark` shows them dark, and
// `?pane=machine` shows one alone. Commands are accepted and change nothing; what the kernel answers, such as traces, does not come.
import widget from "#index.tsx";
import { paneNames } from "#model/pane.ts";
import { aSnapshot, FakeModel } from "../tests/model.ts";

const wanted = new URLSearchParams(location.search);
document.body.dataset.jpThemeLight = String(!wanted.has("dark"));
for (const pane of wanted.has("pane") ? wanted.getAll("pane") : ["explorer", ...paneNames()]) {
  const title = document.createElement("h2");
  title.textContent = pane;
  const element = document.createElement("div");
  document.body.append(title, element);
  widget.render({ model: new FakeModel(aSnapshot(), pane), el: element });
}
new EventSource("/esbuild").addEventListener("change", () => location.reload());
