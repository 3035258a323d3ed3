// The journey: every path of the plan as a strip, from the source on the left to the destination on the right.
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { later } from "#lib/later.tsx";
import { useLargeHop, useShowLarge } from "#model/large-hop.ts";
import { measuredOf } from "#model/measured.ts";
import { longerWords } from "#model/pinned-plan.ts";
import { pinsOf } from "#model/pins.ts";
import type { PlanPart } from "#model/types.ts";
import { formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { Term } from "#views/controls/term.tsx";
import { WayChoice } from "#views/linearization/toolbar.tsx";
import { JourneyTried, PathPointedAt } from "#views/plan/tried-marks.tsx";
import { useHand } from "#views/plan/use-hand.ts";
import { TransferChips } from "#views/transfers/transfers.tsx";
import { Compare } from "./compare.tsx";
import { Strip } from "./strip.tsx";

const Tracks = later(() => import("./tracks.tsx").then((part) => part.Tracks));
const Pinned = later(() => import("./pinned.tsx").then((part) => part.Pinned));

const Stage = later(() => import("#views/stage/stage.tsx").then((part) => part.Stage));

export function Journey(): JSX.Element {
  const { snapshot, connection } = useView();
  const large = useLargeHop();
  const showLarge = useShowLarge();
  const { plan } = snapshot.panes;
  const pinned = pinsOf(connection).plan.value;
  const stale = plan !== null && snapshot.faults.stale.includes("plan");
  return (
    <section
      class={`iv-card iv-journey${stale ? " iv-stale" : ""}`}
      data-testid="journey"
      data-stale={stale}
      aria-label="The journey"
    >
      <header class="iv-card-head" data-toolbar>
        <h2>
          <Term name="journey">The journey</Term>
        </h2>
        <MeasuredKey />
        <PathPointedAt />
        <JourneyTried />
        <TransferChips />
        <div class="iv-journey-tools">
          {plan?.paths.length === 1 && (
            <span class="iv-busy-key">
              <span class="iv-shaft" aria-hidden="true">
                <span style={{ width: "50%" }} />
              </span>
              filled: <Term name="busy">busy</Term>
            </span>
          )}
          <WayChoice />
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
          {plan !== null && !stale && <Compare plan={plan} />}
        </div>
      </header>
      <div class="iv-journey-paths">{plan === null ? <Missing /> : <Paths plan={plan} />}</div>
      {large !== "no" && <Stage />}
      {pinned !== null && pinned.plan !== plan && <Pinned pinned={pinned} plan={stale ? null : plan} />}
    </section>
  );
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

/** Where the stops would be: that there is no plan, and why, the sentence above says. */
const Missing = (): JSX.Element => (
  <div class="iv-missing" aria-hidden="true">
    <i />
    <s />
    <i />
  </div>
);

/** The plan, and below one by hand what the planner makes of the same transfer. */
function Paths({ plan }: { plan: PlanPart }): JSX.Element {
  const { connection, snapshot } = useView();
  // What the planner would do says too much to somebody who is to do it by hand.
  const planned = plan.planner === "by hand" && snapshot.frame.fixed?.planner !== false ? snapshot.panes.planned : null;
  const send = useHand();
  return (
    <>
      {planned !== null && (
        <p class="iv-path-head" data-testid="by-hand-difference">
          {connection.settings.byHand?.name || "By hand"}: <b>{formatSeconds(plan.seconds)}</b>,{" "}
          {longerWords(plan.seconds, planned.seconds)}
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
