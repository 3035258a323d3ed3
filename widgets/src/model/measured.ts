// What a run of the plan that is shown has measured, beside what was planned and what the trial before it said.
import type { ShownMeasure, ShownReport, Snapshot } from "./types.ts";

export interface Measured {
  /** The number of the run. */
  readonly run: number;
  readonly seconds: number;
  /** The time after the trial just before the run; null where there was no trial. */
  readonly tried: number | null;
  /** Bytes per second of each hop, by its number in the plan. */
  readonly rates: readonly number[];
  /** The same after the trial. */
  readonly triedRates: readonly (number | null)[];
  /** Whether main memory stood in for a memory: then the figures say nothing about the plan's, and do not stand beside them. */
  readonly emulated: boolean;
}

/** What a run measured: seconds; of repeated runs the median. */
export const secondsOf = (report: ShownReport): number => report.spread?.median ?? report.seconds;

/** What a run measured of a hop, or overall: bytes per second; of repeated runs the median. */
export const rateOf = (row: ShownMeasure): number => row.spread?.median ?? row.measured;

/** The figures of the last run, where it was one of the plan that is shown; of repeated runs the medians. */
export function measuredOf({ panes, faults }: Snapshot): Measured | null {
  const { now, report, emulated } = panes.run;
  if (report === null || now.phase !== "done" || !now.isOfPlan || faults.stale.includes("plan")) return null;
  return {
    run: report.number,
    seconds: secondsOf(report),
    tried: report.triedSeconds,
    rates: report.rows.slice(1).map(rateOf),
    triedRates: report.rows.slice(1).map(({ tried }) => tried),
    emulated: emulated.length > 0,
  };
}
