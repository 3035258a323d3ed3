// The button that keeps a plan to be compared with.
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { pinsOf } from "#model/pins.ts";
import type { PlanPart } from "#model/types.ts";
import { useView } from "#model/view.ts";
import { titleOf } from "#model/words.ts";

/** Keeps the plan that is shown, in the place of one that was kept before. */
export function Compare({ plan }: { plan: PlanPart }): JSX.Element {
  const { connection } = useView();
  const pin = pinsOf(connection).plan;
  return (
    <Button
      label="Compare"
      icon="pin"
      quiet
      testid="compare"
      title={
        pin.value === null
          ? "Keep this plan in sight: later ones stand beside it"
          : "Compare with this plan instead of the other one"
      }
      pressed={pin.value?.plan === plan}
      onClick={() => {
        pin.value = pin.value?.plan === plan ? null : { plan, title: titleOf(connection.settings) };
      }}
    />
  );
}
