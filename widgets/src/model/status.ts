// What there is to say about the state, in one line.
import type { Connection } from "./connection.ts";
import { secondsOf } from "./measured.ts";
import type { Snapshot } from "./types.ts";
import { counted, formatSeconds } from "./units.ts";

/** The state in words. A view without the plan leaves out what the plan is (`plans` is false). */
export function statusText(snapshot: Snapshot, connection: Pick<Connection, "gone" | "unanswered">, plans = true): string {
  if (connection.gone) return "The kernel of this explorer is gone, restarted perhaps: run its cell again.";
  if (connection.unanswered)
    return "The kernel does not answer. A cell of yours may keep it busy: this arrives when it is free. Where nothing runs, JupyterLab has lost the way to it: reload the page.";
  if (snapshot.frame.notice !== "") return snapshot.frame.notice;
  return plans ? stateText(snapshot) : "";
}

function stateText(snapshot: Snapshot): string {
  const { now, report, emulated } = snapshot.panes.run;
  if (!snapshot.frame.settled) return `${snapshot.frame.step === "" ? "Planning" : snapshot.frame.step}…`;
  const problems = Object.keys(snapshot.faults.problems);
  if (problems.length > 0) {
    const marked = problems.filter((control) => control !== "transfer").length;
    return marked === 0 ? "" : `${counted(marked, "control")} to correct.`; // the sentence above says that there is no plan
  }
  if (now.phase === "running") return `Run ${now.number} is under way.`;
  if (now.phase === "cancelling") return `Run ${now.number} is being cancelled.`;
  if (!now.isOfPlan) return ""; // what is shown is another plan
  if (now.phase === "cancelled") return `Run ${now.number} was cancelled.`;
  if (now.phase === "failed") return `Run ${now.number} failed.`;
  if (now.phase === "done" && report !== null) {
    const where = emulated.length > 0 ? " in main memory, which stood in for the hardware" : "";
    return `Run ${report.number}: ${report.verdict.toLowerCase()}, ${formatSeconds(secondsOf(report))} measured${where}.`;
  }
  return "";
}
