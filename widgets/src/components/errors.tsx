// What went wrong beside the controls: a command that was refused, and defects of isoviz itself.
import type { JSX } from "preact";
import { ErrorLine } from "./error-line.tsx";
import { useView } from "./view.ts";

export function Errors(): JSX.Element | null {
  const { snapshot, connection } = useView();
  const { refusal, defect } = snapshot.frame;
  // Where nobody knows who sent the command, every view tells of it.
  // An edit of the machine that was refused is told of beside its control.
  const beside = refusal?.kind === "edit-machine" && refusal.client === connection.client;
  const mine = refusal !== null && !beside && (refusal.client === null || refusal.client === connection.client);
  if (!mine && defect === "") return null;
  return (
    <div class="iv-errors">
      {mine && <ErrorLine name="command">This was not done. {refusal.message}</ErrorLine>}
      {defect !== "" && (
        <ErrorLine name="defect">
          <details>
            <summary>Something went wrong inside isoviz: {defect.split("\n")[0]}</summary>
            <pre>{defect}</pre>
          </details>
        </ErrorLine>
      )}
    </div>
  );
}
