// The paths that the planner compared, the fastest first, and what would make one of them win.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { withName } from "#model/by-name.ts";
import { stays } from "#model/fixed.ts";
import { useHighlightedPath } from "#model/selection.ts";
import type { ShownCandidate, ShownTurn, WhyPart } from "#model/types.ts";
import { formatBytes, formatCount, formatRate, formatSeconds, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { useWatch } from "#model/watch.ts";
import { Term } from "#views/controls/term.tsx";
import { useTried } from "./tried.ts";

/** A bar that is full says that a path takes this number of times as long as the chosen one, or longer. */
const FAR = 4;

const keyOf = (candidate: ShownCandidate): string => `${candidate.channels.join()} ${candidate.converting ?? ""}`;
const least = (candidate: ShownCandidate): number => candidate.seconds ?? candidate.bound;

/** The time of a candidate beside the chosen one: "+0.12 %", "2.7 ×", "a tie". */
export function differenceWords(candidate: ShownCandidate, chosen: ShownCandidate): string {
  if (candidate.chosen) return "chosen";
  if (candidate.isTie) return "a tie";
  const ratio = least(candidate) / least(chosen);
  const mark = candidate.seconds === null ? "≥ " : "";
  if (ratio >= 2) return `${mark}${ratio < 100 ? ratio.toPrecision(2) : formatCount(Math.round(ratio))} ×`;
  const share = Math.abs(ratio - 1);
  return `${mark}${ratio >= 1 ? "+" : "−"}${share < 1e-4 ? "<0.01 %" : formatShare(share)}`;
}

/** What tells a candidate from the others that read like it: the memories, else the channels, else the layouts that only it has. */
export function apartWords(candidate: ShownCandidate, all: readonly ShownCandidate[]): string {
  const reads = (each: ShownCandidate): string => `${each.hops.join()} ${each.converting ?? ""}`;
  const alike = all.filter((each) => each !== candidate && reads(each) === reads(candidate));
  const own = (of: (each: ShownCandidate) => readonly string[]): string[] =>
    of(candidate).filter((part, place) => alike.some((other) => of(other)[place] !== part));
  const parts: readonly [string, string[]][] = [
    ["through", own((each) => each.memories)],
    ["by", own((each) => each.channels)],
    ["as", own((each) => each.layouts)],
  ];
  const [word, names] = parts.find(([, found]) => found.length > 0) ?? ["", []];
  return alike.length === 0 || names.length === 0 ? "" : `${word} ${names.join(", ")}`;
}

export function Candidates({ why }: { why: WhyPart }): JSX.Element | null {
  const { connection, snapshot } = useView();
  const [highlighted, highlight] = useHighlightedPath();
  const [open, setOpen] = useState("");
  const [chosen] = why.candidates;
  // Nothing stays pointed at that nobody sees.
  useEffect(() => () => highlight(null), []);
  if (chosen === undefined) return null;
  // One that takes hours must not make all others look alike.
  const longest = Math.min(Math.max(...why.candidates.map(least)), FAR * least(chosen));
  // Two candidates may have one path and convert in different hops: only one of them is open.
  const isShown = (candidate: ShownCandidate): boolean =>
    open === keyOf(candidate) && highlighted?.join() === candidate.channels.join();
  return (
    <section class="iv-why-part" data-testid="candidates" aria-label="Candidates">
      <header class="iv-why-head">
        <h3>
          <Term name="candidate">Candidates</Term>
        </h3>
      </header>
      <p class="iv-faint">{`${provedWords(why)} ${why.ranking}`.trim()}</p>
      <ol class="iv-candidates">
        {why.candidates.map((candidate, place) => (
          <li key={keyOf(candidate)} class={isShown(candidate) ? "iv-selected" : undefined}>
            <button
              type="button"
              class="iv-candidate"
              data-testid={`candidate-${place}`}
              aria-pressed={isShown(candidate)}
              onClick={() => {
                setOpen(keyOf(candidate));
                highlight(isShown(candidate) ? null : candidate.channels);
              }}
            >
              <span class="iv-candidate-rank">{place + 1}</span>
              <span class="iv-candidate-path">
                {candidate.hops.map((words, hop) => (
                  <span key={hop}>
                    {hop > 0 && " · "}
                    {hop === candidate.converting ? <em>{words}</em> : words}
                  </span>
                ))}
                {apartWords(candidate, why.candidates) !== "" && (
                  <span class="iv-faint"> · {apartWords(candidate, why.candidates)}</span>
                )}
              </span>
              <span class="iv-candidate-time">
                {candidate.seconds === null ? `≥ ${formatSeconds(candidate.bound)}` : formatSeconds(candidate.seconds)}
              </span>
              <span class={`iv-candidate-difference${candidate.isTie ? " iv-tag" : ""}`}>
                {differenceWords(candidate, chosen)}
              </span>
              <span class="iv-candidate-bar" aria-hidden="true">
                <span
                  style={{ width: `${Math.min(100, (100 * least(candidate)) / longest)}%` }}
                  class={candidate.chosen ? "iv-candidate-own" : ""}
                />
              </span>
            </button>
            {isShown(candidate) && (
              <div class="iv-candidate-more">
                <p class="iv-faint">{candidate.memories.join(" → ")}</p>
                {candidate.limit !== "" && <p>Limited by {candidate.limit}.</p>}
                {!connection.offline && candidate.seconds !== null && !stays(snapshot, "path") && (
                  <Button
                    label="Take this path"
                    testid="take-path"
                    title="Plan this path by hand, with the layouts that are best on it"
                    onClick={() => {
                      highlight(null);
                      connection.send({
                        kind: "by-hand",
                        part: "",
                        byHand: {
                          path: [...candidate.channels],
                          layouts: [...candidate.layouts],
                          chunk: "",
                          target: null,
                          paths: [],
                          name: "",
                        },
                      });
                    }}
                  />
                )}
              </div>
            )}
          </li>
        ))}
      </ol>
      {why.moreCandidates > 0 && <p class="iv-faint">{formatCount(why.moreCandidates)} more are slower still.</p>}
      <Turns why={why} />
    </section>
  );
}

/** What is proved of all paths: of the best one that is known, which need not be the chosen one. */
export function provedWords(why: Pick<WhyPart, "candidates" | "proved" | "gap">): string {
  const [chosen, ...others] = why.candidates;
  const isBeaten =
    chosen !== undefined && others.some((other) => other.seconds !== null && !other.isTie && other.seconds < least(chosen));
  if (isBeaten) return "";
  if (why.proved) return "Proved: no path, layout or block size is faster.";
  return why.gap === null
    ? "Nothing is proved about other paths."
    : `Not proved: at most ${formatShare(why.gap)} above the optimum.`;
}

const ASKED: readonly string[] = ["rivals"];
const NOTHING: readonly string[] = [];

/** What would make a rival win: a question of some seconds, which the kernel answers once the fold is open. */
function Turns({ why }: { why: WhyPart }): JSX.Element {
  const { connection } = useView();
  const known = why.turns.length > 0 || why.turnsDone;
  const [open, setOpen] = useState(connection.offline && known);
  useWatch(open && !connection.offline ? ASKED : NOTHING);
  return (
    <details class="iv-details" data-testid="turns" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What would make another win</summary>
      {why.turns.length === 0 && (
        <p class="iv-faint">
          {!why.turnsDone
            ? connection.offline
              ? "This page was saved without it. The explorer works it out when this fold is opened, and isoviz show --rivals does."
              : "Looking for what would make another path win…"
            : why.turnsCut
              ? "Nothing was found within the planning time."
              : "Nothing within a factor of 1,024 does."}
        </p>
      )}
      <ul class="iv-turns">
        {why.turns.map((turn) => (
          <Turn key={`${turn.parameter}-${turn.name}-${turn.rival}`} turn={turn} />
        ))}
      </ul>
      {why.turns.length > 0 && !why.turnsDone && !connection.offline && <p class="iv-faint">More is being found out…</p>}
    </details>
  );
}

/** A turn in words: "network at 3.2 GB/s or more (now 3 GB/s): path 2 wins". */
export function turnWords(turn: ShownTurn): string {
  const show = turn.parameter === "bandwidth" ? formatRate : turn.parameter === "slot_limit" ? formatBytes : formatCount;
  const what =
    turn.parameter === "bandwidth"
      ? `${turn.words} (${turn.name})`
      : turn.parameter === "slot_limit"
        ? "slot limit"
        : `size of ${turn.name}`;
  const same = show(turn.value) === show(turn.now);
  const value = same
    ? `${formatShare(Math.abs(turn.value / turn.now - 1))} ${turn.value > turn.now ? "more" : "less"} than ${show(turn.now)}`
    : show(turn.value);
  return `${what} at ${value} or ${turn.value > turn.now ? "more" : "less"}${same ? "" : ` (now ${show(turn.now)})`}: path ${turn.rival + 1} wins`;
}

function Turn({ turn }: { turn: ShownTurn }): JSX.Element {
  const { connection } = useView();
  const tried = useTried();
  // A little beyond, where the rival is ahead.
  const beyond = turn.value * (turn.value > turn.now ? 1.01 : 0.99);
  const change =
    turn.parameter === "bandwidth"
      ? { bandwidths: withName(tried.whatIf.bandwidths, turn.name, beyond) }
      : turn.parameter === "slot_limit"
        ? { slotLimit: Math.round(beyond) }
        : {
            sizes: withName(
              tried.whatIf.sizes,
              turn.name,
              Math.max(1, turn.value > turn.now ? Math.ceil(beyond) : Math.floor(beyond)),
            ),
          };
  return (
    <li>
      {turnWords(turn)}.{" "}
      {!connection.offline && <Button label="Try" quiet testid="turn-try" onClick={() => tried.ask(change, false)} />}
    </li>
  );
}
