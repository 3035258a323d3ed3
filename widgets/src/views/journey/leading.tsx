// The sentence that leads, at the top of all that is about a plan. Where there is no plan, this is the one place that says so.
import "./leading.css";
import { type ComponentChildren, Fragment, type JSX } from "preact";
import { useRef } from "preact/hooks";
import { useSize } from "#lib/hooks.ts";
import { type Aim, type Link, leadingPhrases, type Piece } from "#model/leading.ts";
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
  if (plan === null || (stale && settled))
    return <Instead last={phrases}>{settled ? <WhyNot old={plan !== null} /> : `${step || "Planning"}…`}</Instead>;
  return (
    <p class={`iv-leading${stale ? " iv-stale" : ""}`} data-testid="leading">
      <Phrases phrases={phrases} part={(piece) => <Part piece={piece} go={go} still={openTab === undefined} />} />
    </p>
  );
}

/** What is said in place of the sentence. `last`, the sentence about the last plan, keeps its room: nothing below moves while a
 * mistake is typed and mended. What has no room there stands beside the control that is to be corrected.
 */
function Instead({ last, children }: { last: readonly (readonly Piece[])[]; children: ComponentChildren }): JSX.Element {
  const { faults } = useView().snapshot;
  const room = useRef<HTMLSpanElement>(null);
  const { height } = useSize(room);
  const beside = Object.keys(faults.problems).some((control) => control !== "transfer");
  const line = room.current === null ? 0 : Number.parseFloat(getComputedStyle(room.current).lineHeight);
  const lines = beside && height > 0 ? Math.round(height / line) : undefined;
  return (
    <p class="iv-leading iv-leading-none" title={whyNot(faults)}>
      <span class="iv-leading-last" aria-hidden="true" ref={room}>
        <Phrases phrases={last} part={(piece) => <b class="iv-leading-link">{piece.text}</b>} />
      </span>
      <span class="iv-leading-now" data-testid="no-plan" style={{ "-webkit-line-clamp": lines }}>
        {children}
      </span>
    </p>
  );
}

function Phrases({
  phrases,
  part,
}: {
  phrases: readonly (readonly Piece[])[];
  part: (piece: Link) => ComponentChildren;
}): JSX.Element {
  return (
    <>
      {phrases.map((phrase, place) => (
        <span key={place}>
          {place > 0 && " · "}
          {phrase.map((piece, at) => (
            <Fragment key={at}>{typeof piece === "string" ? piece : part(piece)}</Fragment>
          ))}
        </span>
      ))}
    </>
  );
}

function Part({ piece, go, still }: { piece: Link; go: (aim: Aim) => void; still: boolean }): JSX.Element {
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

/** That there is no plan, and why; `old`: an older one stays in sight. */
function WhyNot({ old }: { old: boolean }): JSX.Element {
  return (
    <>
      There is no plan.
      <span class="iv-leading-why">
        {old && "The last plan stays below. "}
        {whyNot(useView().snapshot.faults)}
      </span>
    </>
  );
}

function whyNot({ problems }: Snapshot["faults"]): string {
  const told = (problems.transfer ?? Object.values(problems)[0])?.message ?? "";
  return told === "" || /[.?!]$/.test(told) ? told : `${told}.`;
}
