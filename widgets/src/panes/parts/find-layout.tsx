// Find a layout: for an end of the transfer and several uses of its array, layouts ranked by planned time.
import "#views/find-layout/find-layout.css";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useView } from "#model/view.ts";
import { Question } from "#views/find-layout/question.tsx";
import { Effort, Ranking, Verdict } from "#views/find-layout/ranking.tsx";
import { TradeOff } from "#views/find-layout/trade-off.tsx";

export function FindLayoutPane(): JSX.Element {
  const { snapshot } = useView();
  const part = snapshot.panes.find_layout;
  const [pointed, point] = useState<string | null>(null);
  if (part === null) return <p class="iv-faint">Layouts are being looked for…</p>;
  const wrong = Object.keys(part.problems).length > 0;
  return (
    <div class="iv-find" data-testid="find-layout" data-done={part.isDone}>
      <Question part={part} />
      <div class="iv-find-found">
        <p class="iv-find-verdict" data-testid="find-verdict" role="status">
          {wrong ? "Correct the marked controls first." : part.problem === "" ? <Verdict part={part} /> : "No layout was found."}
        </p>
        {!wrong && part.candidates.length > 0 && <Ranking part={part} pointed={pointed} point={point} />}
        {!wrong && <Effort part={part} />}
      </div>
      {!wrong && part.candidates.length > 0 && <TradeOff part={part} pointed={pointed} point={point} />}
    </div>
  );
}
