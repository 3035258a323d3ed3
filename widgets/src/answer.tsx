// The bar on top: the plan in figures, and Run.
import type { JSX } from "preact";
import { Button } from "./components/button.tsx";
import { useView } from "./components/view.ts";
import type { PlanPart } from "./types.ts";
import { formatBytes, formatRate, formatSeconds } from "./units.ts";

const figures: readonly { name: string; title: string; value: (plan: PlanPart) => string }[] = [
  { name: "bytes", title: "Moves", value: (plan) => formatBytes(plan.bytes) },
  { name: "seconds", title: "Predicted time", value: (plan) => formatSeconds(plan.seconds) },
  { name: "throughput", title: "Steady throughput", value: (plan) => formatRate(plan.throughput) },
  { name: "buffers", title: "Buffers", value: (plan) => (plan.buffers > 0 ? formatBytes(plan.bufferBytes) : "none") },
];

export function Answer(): JSX.Element {
  const { snapshot, connection } = useView();
  const { plan } = snapshot.panes;
  const run = snapshot.panes.run.now;
  const active = run.phase === "running" || run.phase === "cancelling";
  return (
    <div class="iv-answer">
      <div class={`iv-figures${snapshot.stale.includes("plan") ? " iv-stale" : ""}`} role="group" aria-label="The plan in figures">
        {plan !== null &&
          figures.map((figure) => (
            <div key={figure.name} data-testid={`figure-${figure.name}`}>
              <span class="iv-figure-title">{figure.title}</span>
              <span class="iv-figure-value">{figure.value(plan)}</span>
            </div>
          ))}
        {plan === null && <p class="iv-faint">{snapshot.step === "" ? "No plan yet." : `${snapshot.step}…`}</p>}
      </div>
      <div class="iv-run">
        <Button
          label={active ? "Running…" : "Run and measure"}
          icon="run"
          primary
          testid="run"
          disabled={!run.canRun || connection.gone}
          {...(run.reason !== "" ? { describedBy: `${connection.client}-reason` } : {})}
          onClick={() => connection.send({ kind: "run" })}
        />
        {run.reason !== "" && (
          <p class="iv-reason" id={`${connection.client}-reason`} data-testid="run-reason">
            {run.reason}
          </p>
        )}
        {run.offerLocal && (
          <Button
            label="Plan the same on this computer"
            testid="use-local"
            onClick={() => connection.send({ kind: "use-local" })}
          />
        )}
      </div>
    </div>
  );
}
