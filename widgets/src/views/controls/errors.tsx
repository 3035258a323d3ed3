// What went wrong beside the controls: a command that was refused, and defects of isoviz itself.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ErrorLine } from "#lib/error-line.tsx";
import { useView } from "#model/view.ts";

/** `runs`: a run that failed is told as well. */
export function Errors({ runs }: { runs?: boolean }): JSX.Element | null {
  const { snapshot, connection } = useView();
  const { refusal, defect } = snapshot.frame;
  // Where nobody knows who sent the command, every view tells of it.
  // An edit of the machine that was refused is told of beside its control.
  const beside = refusal?.kind === "edit-machine" && refusal.client === connection.client;
  const mine = refusal !== null && !beside && (refusal.client === null || refusal.client === connection.client);
  const refused = useClosing(mine ? JSON.stringify(refusal) : "");
  const broken = useClosing(defect);
  const run = snapshot.panes.run.now;
  const failed = useClosing(
    runs === true && run.phase === "failed" && run.isOfPlan ? `Run ${run.number} failed. ${run.error}` : "",
  );
  if (!refused.open && !broken.open && !failed.open) return null;
  return (
    <div class="iv-errors">
      {refused.open && (
        <ErrorLine name="command" close={refused.close}>
          This was not done. {refusal?.message}
        </ErrorLine>
      )}
      {failed.open && (
        <ErrorLine name="failed-run" close={failed.close}>
          {failed.told}
        </ErrorLine>
      )}
      {broken.open && (
        <ErrorLine name="defect" close={broken.close}>
          <details>
            <summary>Something went wrong inside isoviz: {defect.split("\n")[0]}</summary>
            <pre>{defect}</pre>
          </details>
        </ErrorLine>
      )}
    </div>
  );
}

/** Whether something that was told ("": nothing) is still to be read, until it is closed or gives way to something else. */
function useClosing(told: string): { told: string; open: boolean; close: () => void } {
  const [closed, setClosed] = useState("");
  useEffect(() => {
    if (told === "") setClosed("");
  }, [told]);
  return { told, open: told !== "" && told !== closed, close: () => setClosed(told) };
}
