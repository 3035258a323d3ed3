// A plan that is kept to be compared with: a second journey under the first one, with the differences, through every later edit.
import "./pinned.css";
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { type Column, Table } from "#lib/table.tsx";
import { type ComparedFigure, comparedPlans, longerWords } from "#model/pinned-plan.ts";
import { type PinnedPlan, pinsOf } from "#model/pins.ts";
import type { PlanPart } from "#model/types.ts";
import { formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { Strip } from "./strip.tsx";

const columns: readonly Column<ComparedFigure>[] = [
  { title: "", names: true, cell: (row) => row.name },
  { title: "This plan", number: true, cell: (row) => row.now },
  { title: "Kept", number: true, cell: (row) => row.pinned },
  {
    title: "Difference",
    cell: (row) => (row.difference === "the same" ? <span class="iv-faint">the same</span> : row.difference),
  },
];

/** The plan that is compared with, below the present one. */
export function Pinned({ plan, pinned }: { plan: PlanPart | null; pinned: PinnedPlan }): JSX.Element {
  const { connection } = useView();
  const pin = pinsOf(connection).plan;
  return (
    <section class="iv-pinned" data-testid="pinned-plan" aria-label="The plan that is compared with">
      <p class="iv-path-head">
        Compared with: {pinned.title}, {pinned.plan.planner === "by hand" ? "by hand" : `planned by ${pinned.plan.planner}`}:{" "}
        <b>{formatSeconds(pinned.plan.seconds)}</b>
        {plan !== null && (
          <span data-testid="pinned-difference">
            {". "}This plan takes <b>{formatSeconds(plan.seconds)}</b>, {longerWords(plan.seconds, pinned.plan.seconds)}.
          </span>
        )}{" "}
        <Button label="Let it go" quiet testid="unpin-plan" onClick={() => void (pin.value = null)} />
      </p>
      {pinned.plan.paths.map((path, place) => (
        <div class="iv-path" key={place}>
          <Strip path={path} name="The path compared with" firstStop={0} firstHop={0} still />
        </div>
      ))}
      {plan !== null && (
        <details class="iv-details" data-testid="pinned-figures">
          <summary>Figures side by side</summary>
          <Table
            caption="This plan and the one it is compared with"
            columns={columns}
            rows={comparedPlans(plan, pinned.plan)}
            keyOf={(row) => row.name}
          />
        </details>
      )}
    </section>
  );
}
