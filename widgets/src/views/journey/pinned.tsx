// A pinned plan: a second journey under the first one, with the differences, through every later edit.
import "./pinned.css";
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { type Column, Table } from "#lib/table.tsx";
import { type ComparedFigure, comparedPlans, differenceWords } from "#model/pinned-plan.ts";
import { pinsOf } from "#model/pins.ts";
import type { PlanPart } from "#model/types.ts";
import { formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { titleOf } from "#model/words.ts";
import { Strip } from "./strip.tsx";

/** Pins the plan that is shown, in the place of one that was pinned before. */
export function PinPlan({ plan }: { plan: PlanPart }): JSX.Element {
  const { connection } = useView();
  const pin = pinsOf(connection).plan;
  return (
    <Button
      label="Pin this plan"
      icon="pin"
      iconOnly
      testid="pin-plan"
      title={
        pin.value === null ? "Keep this plan in sight, to compare later ones with it" : "Pin this plan instead of the other one"
      }
      pressed={pin.value?.plan === plan}
      onClick={() => {
        pin.value = pin.value?.plan === plan ? null : { plan, title: titleOf(connection.settings) };
      }}
    />
  );
}

const columns: readonly Column<ComparedFigure>[] = [
  { title: "", names: true, cell: (row) => row.name },
  { title: "This plan", number: true, cell: (row) => row.now },
  { title: "Pinned", number: true, cell: (row) => row.pinned },
  {
    title: "Difference",
    cell: (row) => (row.difference === "the same" ? <span class="iv-faint">the same</span> : row.difference),
  },
];

/** The pinned plan below the present one. */
export function Pinned({ plan }: { plan: PlanPart | null }): JSX.Element | null {
  const { connection } = useView();
  const pin = pinsOf(connection).plan;
  const pinned = pin.value;
  if (pinned === null || pinned.plan === plan) return null;
  return (
    <section class="iv-pinned" data-testid="pinned-plan" aria-label="The pinned plan">
      <p class="iv-path-head">
        Pinned: {pinned.title}, {pinned.plan.planner === "by hand" ? "by hand" : `planned by ${pinned.plan.planner}`}:{" "}
        <b>{formatSeconds(pinned.plan.seconds)}</b>
        {plan !== null && (
          <span data-testid="pinned-difference">
            {". "}This plan takes <b>{formatSeconds(plan.seconds)}</b>, {differenceWords(plan.seconds, pinned.plan.seconds)}.
          </span>
        )}{" "}
        <Button label="Let it go" quiet testid="unpin-plan" onClick={() => void (pin.value = null)} />
      </p>
      {pinned.plan.paths.map((path, place) => (
        <div class="iv-path" key={place}>
          <Strip path={path} name="The pinned path" firstStop={0} firstHop={0} still />
        </div>
      ))}
      {plan !== null && (
        <details class="iv-details" data-testid="pinned-figures">
          <summary>Figures side by side</summary>
          <Table
            caption="This plan and the pinned one"
            columns={columns}
            rows={comparedPlans(plan, pinned.plan)}
            keyOf={(row) => row.name}
          />
        </details>
      )}
    </section>
  );
}
