// The journey: every path of the plan as a strip, from the source on the left to the destination on the right.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { later } from "#lib/later.tsx";
import { useLargeHop, useShowLarge } from "#model/large-hop.ts";
import { measuredOf } from "#model/measured.ts";
import type { PlanPart, Snapshot } from "#model/types.ts";
import { counted, formatBytes, formatSeconds, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { SavePicture } from "#views/controls/save-picture.tsx";
import { Term } from "#views/controls/term.tsx";
import { JourneyTried, PathPointedAt } from "#views/plan/tried-marks.tsx";
import { useHand } from "#views/plan/use-hand.ts";
import { TransferChips } from "#views/transfers/transfers.tsx";
import { Pinned, PinPlan } from "./pinned.tsx";
import { Strip } from "./strip.tsx";
import { Tracks } from "./tracks.tsx";

const Stage = later(() => import("#views/stage/stage.tsx").then((part) => part.Stage));

export function Journey(): JSX.Element {
  const { snapshot } = useView();
  const { plan } = snapshot.panes;
  const large = useLargeHop();
  const showLarge = useShowLarge();
  const box = useRef<HTMLElement>(null);
  const stale = plan !== null && snapshot.faults.stale.includes("plan");
  const note = stale ? staleText(snapshot) : plan === null ? "" : planText(plan);
  return (
    <section
      ref={box}
      class={`iv-card iv-journey${stale ? " iv-stale" : ""}`}
      data-testid="journey"
      data-stale={stale}
      aria-label="The journey"
    >
      <header class="iv-card-head" data-toolbar>
        <h2>
          <Term name="journey">The journey</Term>
        </h2>
        <p class="iv-faint" data-testid="journey-note" title={note}>
          {note}
        </p>
        {plan !== null && (
          <Button
            label="Follow one chunk"
            icon="run"
            quiet
            testid="follow-chunk"
            title="See one chunk move from hop to hop: in how many requests, and where its entries change places"
            onClick={() => showLarge(0, "follows")}
          />
        )}
        <MeasuredKey />
        <PathPointedAt />
        <JourneyTried />
        <TransferChips />
        {plan !== null && !stale && <PinPlan plan={plan} />}
        {plan !== null && <SavePicture name="Journey" of={() => box.current} />}
      </header>
      <div class="iv-journey-paths">{plan === null ? <Missing /> : <Paths plan={plan} />}</div>
      <Pinned plan={stale ? null : plan} />
      {large !== "no" && <Stage />}
    </section>
  );
}

/** "93 % more" */
function differenceWords(seconds: number, before: number): string {
  const ratio = seconds / before - 1;
  if (Math.abs(ratio) < 5e-4) return "just as long";
  return ratio >= 1
    ? `${(ratio + 1).toPrecision(2)} times as long`
    : `${formatShare(Math.abs(ratio))} ${ratio > 0 ? "more" : "less"}`;
}

/** Which run the measured rates are from. */
function MeasuredKey(): JSX.Element | null {
  const measured = measuredOf(useView().snapshot);
  if (measured === null || measured.emulated) return null;
  return (
    <p class="iv-measured-key" data-testid="journey-measured">
      <span class="iv-key iv-key-measured" aria-hidden="true" /> measured in run {measured.run}
    </p>
  );
}

/** What a plan is, beside what its stops and hops show. */
function planText(plan: PlanPart): string {
  const [only] = plan.paths;
  if (plan.paths.length > 1 || only === undefined) return `${counted(plan.paths.length, "path")}, ${plannedBy(plan)}`;
  return `${counted(only.hops.length, "hop")}, ${counted(only.chunks, "chunk")} of ${formatBytes(only.chunkBytes)}, ${plannedBy(plan)}`;
}

const plannedBy = (plan: PlanPart): string =>
  plan.planner === "by hand" ? "planned by hand" : `planned by the planner ${plan.planner}`;

/** Why the plan on the screen is not that of the settings. */
function staleText(snapshot: Snapshot): string {
  if (!snapshot.frame.settled) return `The last plan. ${snapshot.frame.step || "Planning"}…`;
  return `The last plan: with what is entered now there is none. ${firstProblem(snapshot)}`;
}

function firstProblem(snapshot: Snapshot): string {
  const { problems } = snapshot.faults;
  return (problems.transfer ?? Object.values(problems)[0])?.message ?? "";
}

function Missing(): JSX.Element {
  const { snapshot } = useView();
  const { settled, step } = snapshot.frame;
  const problem = firstProblem(snapshot);
  return (
    <p class="iv-missing" data-testid="no-plan">
      {!settled ? `${step || "Planning"}…` : problem === "" ? "There is no plan yet." : `There is no plan. ${problem}`}
    </p>
  );
}

/** The plan, and below one by hand what the planner makes of the same transfer. */
function Paths({ plan }: { plan: PlanPart }): JSX.Element {
  const { connection, snapshot } = useView();
  const planned = plan.planner === "by hand" ? snapshot.panes.planned : null;
  const send = useHand();
  return (
    <>
      {planned !== null && (
        <p class="iv-path-head" data-testid="by-hand-difference">
          {connection.settings.byHand?.name || "By hand"}: <b>{formatSeconds(plan.seconds)}</b>,{" "}
          {differenceWords(plan.seconds, planned.seconds)}
        </p>
      )}
      {plan.paths.length > 1 ? (
        <Tracks plan={plan} />
      ) : (
        plan.paths.map((path) => (
          <div class="iv-path" key="only">
            <Strip path={path} name="Path" firstStop={0} firstHop={0} />
          </div>
        ))
      )}
      {planned !== null && (
        <div class="iv-planned" data-testid="journey-planned">
          <p class="iv-path-head">
            {planned.seconds < plan.seconds ? "A faster one, by" : "Planned by"} the planner {planned.planner}:{" "}
            <b>{formatSeconds(planned.seconds)}</b>{" "}
            <Button
              label={planned.seconds < plan.seconds ? "Take the faster one" : "Back to the planner"}
              quiet
              testid="journey-back"
              title="Take the plan of the planner"
              onClick={() => send("", null)}
            />
          </p>
          {planned.paths.map((path, place) => (
            <div class="iv-path" key={place}>
              <Strip path={path} name="The planner's path" firstStop={0} firstHop={0} still />
            </div>
          ))}
        </div>
      )}
    </>
  );
}
