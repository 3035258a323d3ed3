// The figures of the present plan beside those of a pinned one.
import type { PlanPart, ShownHop } from "./types.ts";
import { counted, formatBytes, formatCount, formatRate, formatSeconds, formatShare } from "./units.ts";

/** "93 % more" */
export function differenceWords(value: number, before: number): string {
  if (value === before) return "the same";
  if (before === 0 || value === 0) return value === 0 ? "none any more" : "new";
  const ratio = value / before - 1;
  if (Math.abs(ratio) < 5e-4) return "the same";
  return ratio >= 1 ? `${timesWords(ratio + 1)} times as much` : `${formatShare(Math.abs(ratio))} ${ratio > 0 ? "more" : "less"}`;
}

/** How a time differs from another one: "just as long", "12 % more", "1,100 times as long". */
export function longerWords(seconds: number, before: number): string {
  const words = differenceWords(seconds, before);
  return words === "the same" ? "just as long" : words.replace(/as much$/, "as long");
}

/** A factor in two digits, without an exponent: 1086 → "1,100". */
function timesWords(factor: number): string {
  const scale = 10 ** Math.max(0, Math.floor(Math.log10(factor)) - 1);
  return factor < 10 ? factor.toPrecision(2) : formatCount(Math.round(factor / scale) * scale);
}

/** "1 fewer": of things that are few. */
function differenceOfFew(value: number, before: number): string {
  return value === before ? "the same" : `${Math.abs(value - before)} ${value > before ? "more" : "fewer"}`;
}

/** One figure of both plans, and how the present one differs. */
export interface ComparedFigure {
  readonly name: string;
  readonly now: string;
  readonly pinned: string;
  readonly difference: string;
}

const hopsOf = (plan: PlanPart): ShownHop[] => plan.paths.flatMap((path) => path.hops);

/** The contiguous runs that all hops of a plan move. */
export function runsOf(plan: PlanPart): number {
  return plan.paths.reduce(
    (sum, path) => sum + path.hops.reduce((all, hop) => all + Math.ceil((plan.bytes * path.share) / hop.run), 0),
    0,
  );
}

/** The figures of the present plan beside those of the pinned one. */
export function comparedPlans(now: PlanPart, pinned: PlanPart): ComparedFigure[] {
  const figure = (
    name: string,
    of: (plan: PlanPart) => number,
    format: (value: number) => string,
    difference = differenceWords,
  ): ComparedFigure => ({
    name,
    now: format(of(now)),
    pinned: format(of(pinned)),
    difference: difference(of(now), of(pinned)),
  });
  const least = (plan: PlanPart): number => Math.min(...hopsOf(plan).map((hop) => hop.run));
  return [
    figure("time", (plan) => plan.seconds, formatSeconds),
    figure("rate", (plan) => plan.throughput, formatRate),
    figure(
      "buffers",
      (plan) => plan.bufferBytes,
      (value) => (value === 0 ? "none" : formatBytes(value)),
    ),
    figure(
      "hops",
      (plan) => hopsOf(plan).length,
      (value) => counted(value, "hop"),
      differenceOfFew,
    ),
    figure("chunks", (plan) => plan.paths.reduce((sum, path) => sum + path.chunks, 0), formatCount),
    figure("shortest run", least, formatBytes),
    figure("runs in all hops", runsOf, formatCount),
  ];
}
