// What a run has measured of the plan that is shown.
import type { Snapshot } from "./types.ts";

export interface Measured {
  /** The number of the run. */
  readonly run: number;
  readonly seconds: number;
  /** Bytes per second of each hop, by its number in the plan. */
  readonly rates: readonly number[];
  /** Whether main memory stood in for a memory: then the figures say nothing about the hardware. */
  readonly emulated: boolean;
}

/** The figures of the last run, where it was one of the plan that is shown; of repeated runs the medians. */
export function measuredOf({ panes, faults }: Snapshot): Measured | null {
  const { now, report, emulated } = panes.run;
  if (report === null || now.phase !== "done" || !now.isOfPlan || faults.stale.includes("plan")) return null;
  return {
    run: report.number,
    seconds: report.spread?.median ?? report.seconds,
    rates: report.rows.slice(1).map((row) => row.spread?.median ?? row.measured),
    emulated: emulated.length > 0,
  };
}
