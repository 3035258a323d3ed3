// What can be saved from a page: the files that it holds.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { copyPython, type News, save } from "#model/exports.ts";
import type { Exported } from "#model/types.ts";
import { useView } from "#model/view.ts";

const FILES: readonly { what: Exported; title: string }[] = [
  { what: "session", title: "Session" },
  { what: "plan", title: "Plan" },
  { what: "machine", title: "Machine" },
  { what: "report", title: "Report" },
];

export function SavedFiles(): JSX.Element {
  const { connection, snapshot } = useView();
  const [news, setNews] = useState<News | null>(null);
  const files = FILES.filter(({ what }) => what !== "report" || snapshot.panes.run.report !== null);
  return (
    <div class="iv-page-files" role="group" aria-label="Save what this page holds">
      <span class="iv-faint" aria-hidden="true">
        Save:
      </span>
      {files.map(({ what, title }) => (
        <Button
          key={what}
          label={title}
          title={`Save the ${title.toLowerCase()} as JSON`}
          quiet
          testid={`save-${what}`}
          onClick={() => void save(connection, what).then(setNews)}
        />
      ))}
      <Button label="Copy as Python" quiet testid="copy-python" onClick={() => void copyPython(connection).then(setNews)} />
      <span class={news?.good === false ? "iv-title-wrong" : "iv-faint"} role="status" data-testid="toast">
        {news?.text ?? ""}
      </span>
    </div>
  );
}
