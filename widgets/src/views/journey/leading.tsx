// The sentence that leads, at the top of all that is about a plan. Where there is no plan, this is the one place that says so.
import "./leading.css";
import type { JSX } from "preact";
import { type Aim, leadingPhrases, type Piece } from "#model/leading.ts";
import { useSelection } from "#model/selection.ts";
import type { Snapshot } from "#model/types.ts";
import { useView } from "#model/view.ts";

/** `openTab` shows a tab of the dock; without it there is none to lead to. */
export function Leading({ openTab }: { openTab?: (tab: string) => void }): JSX.Element {
  const { snapshot } = useView();
  const [, select] = useSelection();
  const { plan } = snapshot.panes;
  const stale = snapshot.faults.stale.includes("plan");
  const { settled, step } = snapshot.frame;
  const go = (aim: Aim): void => ("hop" in aim ? select({ hop: aim.hop }) : openTab?.(aim.tab));
  const phrases = plan === null ? [] : leadingPhrases(plan, snapshot, snapshot.settings);
  if (plan === null || (stale && settled)) {
    const why = settled ? whyNot(snapshot, plan !== null) : "";
    return (
      <p class="iv-leading iv-leading-none" title={why}>
        {/* The sentence about the last plan keeps its room: nothing below moves while a mistake is typed and mended. */}
        <span class="iv-leading-last" aria-hidden="true">
          {phrases.map((phrase) => phrase.map((piece) => (typeof piece === "string" ? piece : piece.text)).join("")).join(" · ")}
        </span>
        <span class="iv-leading-now" data-testid="no-plan">
          {settled ? "There is no plan." : `${step || "Planning"}…`}
          {settled && <span class="iv-leading-why">{why}</span>}
        </span>
      </p>
    );
  }
  return (
    <p class={`iv-leading${stale ? " iv-stale" : ""}`} data-testid="leading">
      {phrases.map((phrase, place) => (
        <span key={place}>
          {place > 0 && " · "}
          {phrase.map((piece, at) => (
            <Part key={at} piece={piece} go={go} still={openTab === undefined} />
          ))}
        </span>
      ))}
    </p>
  );
}

function Part({ piece, go, still }: { piece: Piece; go: (aim: Aim) => void; still: boolean }): JSX.Element {
  if (typeof piece === "string") return <>{piece}</>;
  const { aim, name, text } = piece;
  const measured = name === "figure-measured" ? " iv-leading-measured" : "";
  if (still && "tab" in aim)
    return (
      <b class={`iv-leading-word${measured}`} data-testid={name}>
        {text}
      </b>
    );
  return (
    <button type="button" class={`iv-leading-link${measured}`} data-testid={name} title={titleOf(aim)} onClick={() => go(aim)}>
      {text}
    </button>
  );
}

const titleOf = (aim: Aim): string =>
  "hop" in aim ? "Select this hop" : aim.tab === "run" ? "See what was measured" : "See the time, step by step";

/** Why there is no plan; `old` says that an older one stays in sight. */
function whyNot({ faults }: Snapshot, old: boolean): string {
  const problem = (faults.problems.transfer ?? Object.values(faults.problems)[0])?.message ?? "";
  return `${problem}${old ? `${/[.?!]$/.test(problem) || problem === "" ? "" : "."} The last plan stays below.` : ""}`;
}
