// What is tried and what is pointed at, where the plan stands: in the bar, above the journey, and at its hops.
import type { JSX } from "preact";
import { useHighlightedPath } from "#model/selection.ts";
import { formatRate, formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { meanTime, slowestWords, timeWords } from "./what-if.tsx";

/** The time and the rate with what is tried, beside those of the plan. */
export function TriedFigure({ name }: { name: string }): JSX.Element | null {
  const answer = useView().snapshot.panes.what_if;
  const text =
    name === "seconds" && answer !== null && answer.seconds !== null
      ? formatSeconds(meanTime(answer))
      : name === "throughput" && answer?.throughput != null
        ? formatRate(answer.throughput)
        : null;
  return text === null ? null : (
    <span
      class="iv-figure-tried"
      data-testid={`tried-${name}`}
      title={name === "seconds" && answer !== null ? `What if: ${timeWords(answer)}` : undefined}
    >
      <span class="iv-hidden">what if </span>
      {text}
    </span>
  );
}

/** The rate of a channel with what is tried, where it is another one than `rate`; says where the path leaves it out. */
export function TriedRate({ channel, rate }: { channel: string; rate: number }): JSX.Element | null {
  const answer = useView().snapshot.panes.what_if;
  if (answer === null || answer.hops.length === 0) return null;
  const hop = answer.hops.find((each) => each.channel === channel);
  if (hop !== undefined && !hop.slowest && formatRate(hop.rate) === formatRate(rate)) return null;
  return (
    <span class={`iv-hop-tried-rate${hop?.slowest ? " iv-hop-tried-slowest" : ""}`} data-testid="tried-rate">
      {" "}
      → {hop === undefined ? "not used" : formatRate(hop.rate)}
    </span>
  );
}

export function JourneyTried(): JSX.Element | null {
  const answer = useView().snapshot.panes.what_if;
  if (answer === null || answer.seconds === null) return null;
  return (
    <p class="iv-journey-tried" data-testid="journey-tried" data-final={answer.isAnswer && answer.isFinal}>
      What if: {timeWords(answer)}. {slowestWords(answer)}
      {!answer.samePath && ` Path: ${answer.hops.map((hop) => hop.words).join(" → ")}.`}
    </p>
  );
}

/** The candidate that is pointed at, in words. */
export function PathPointedAt(): JSX.Element | null {
  const { why } = useView().snapshot.panes;
  const [path] = useHighlightedPath();
  if (path === null) return null;
  const words = path.map((name) => why?.channels.find((channel) => channel.name === name)?.words ?? name);
  return (
    <p class="iv-journey-tried" data-testid="path-pointed-at">
      Pointed at: {words.join(" → ")}
    </p>
  );
}
