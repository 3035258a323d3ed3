// What there is to say about the state, in one line.
import type { Connection } from "./connection.ts";
import type { Snapshot } from "./types.ts";
import { counted, formatBytes } from "./units.ts";

export function statusText(snapshot: Snapshot, connection: Pick<Connection, "gone" | "unanswered">): string {
  if (connection.gone) return "The kernel of this explorer is gone, restarted perhaps: run its cell again.";
  if (connection.unanswered)
    return "The kernel is busy, perhaps with a cell of yours; this arrives when it is free. Where nothing runs, reload the page.";
  return snapshot.notice !== "" ? snapshot.notice : stateText(snapshot);
}

function stateText(snapshot: Snapshot): string {
  const { run, plan } = snapshot.panes;
  if (!snapshot.settled) return `${snapshot.step === "" ? "Planning" : snapshot.step}…`;
  const problems = Object.keys(snapshot.problems);
  if (problems.length > 0) {
    const marked = problems.filter((control) => control !== "transfer").length;
    if (marked === 0) return "This transfer cannot be planned.";
    return `${marked === 1 ? "One thing" : `${marked} things`} to correct before there is a plan; see the marked controls.`;
  }
  if (run.now.phase === "running") return `Run ${run.now.number} is under way.`;
  if (run.now.phase === "cancelling") return `Run ${run.now.number} is being cancelled.`;
  const [first, last] = [plan?.hops[0], plan?.hops.at(-1)];
  if (plan === null || first === undefined || last === undefined) return "";
  return (
    `${counted(plan.hops.length, "hop")} from ${first.source} to ${last.destination}, ` +
    `${counted(plan.chunks, "chunk")} of ${formatBytes(plan.chunkBytes)}, planned for ${plan.machine} by ${plan.planner}.`
  );
}
