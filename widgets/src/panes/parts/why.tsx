// Why: the constraints of the plan, its rivals, what would make one of them win, and the plan by hand.

import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { byName } from "#model/by-name.ts";
import { stays } from "#model/fixed.ts";
import type { WhyPart } from "#model/types.ts";
import { formatRate, formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { ByHand, timeWords } from "#views/plan/by-hand.tsx";
import { Candidates } from "#views/plan/candidates.tsx";
import { Constraints } from "#views/plan/constraints.tsx";
import { Curves } from "#views/plan/curves.tsx";
import { blocksOf, fromPlan, withBlocks } from "#views/plan/hand.ts";
import { PathsWhatIf } from "#views/plan/paths-what-if.tsx";
import { Region } from "#views/plan/region.tsx";
import { SeveralByHand } from "#views/plan/several-by-hand.tsx";
import { useHand } from "#views/plan/use-hand.ts";
import { WhatIf } from "#views/plan/what-if.tsx";
import { WinnerMap } from "#views/plan/winner-map.tsx";

export function WhyPane(): JSX.Element {
  const { connection, snapshot } = useView();
  const send = useHand();
  const { plan, why } = snapshot.panes;
  const hand = connection.settings.byHand;
  const begin = plan === null ? null : fromPlan(plan);
  const stale = why !== null && (!why.isOfPlan || snapshot.faults.stale.includes("plan"));
  const blocks = hand === null ? [] : blocksOf(hand.layouts, byName(snapshot.panes.layout.dims)).map((each) => each.name);
  const region = why?.region ?? null;
  const movable = hand !== null && region !== null && blocks.includes(region.x) && blocks.includes(region.y);
  return (
    <div
      class={`iv-why${stale ? " iv-stale" : ""}`}
      data-testid="why"
      data-by-hand={hand !== null}
      data-fresh={why !== null && !stale}
    >
      <div class="iv-why-top">
        <p class="iv-why-verdict" data-testid="why-verdict">
          {verdictWords(why)}
        </p>
        {!connection.offline &&
          (hand === null ? (
            <Button
              label="Plan by hand"
              testid="plan-by-hand"
              disabled={begin === null}
              title="Choose path, layouts, blocks and chunk yourself, beginning with this plan"
              onClick={() => begin !== null && send("", begin)}
            />
          ) : snapshot.frame.fixed?.planner === false ? null : (
            <Button label="Back to the planner" testid="back-to-planner" onClick={() => send("", null)} />
          ))}
      </div>
      <div class="iv-why-columns">
        <div class="iv-why-column">
          {why === null ? (
            <p class="iv-faint">{plan === null ? "The constraints stand here once there is a plan." : "Being explained…"}</p>
          ) : (
            <Constraints why={why} />
          )}
          {why !== null && why.problem !== "" && <p class="iv-reason">{why.problem}</p>}
          <Curves />
          {hand === null && <WinnerMap />}
        </div>
        <div class="iv-why-column">
          {hand !== null && !connection.offline && hand.paths.length > 0 && <SeveralByHand hand={hand} />}
          {hand !== null && !connection.offline && hand.paths.length === 0 && <ByHand hand={hand} why={why} />}
          {hand === null && why !== null && <Candidates why={why} />}
        </div>
        <div class="iv-why-column">
          {hand === null && !stays(snapshot, "transfer") && <PathsWhatIf />}
          {hand === null && <WhatIf />}
          {region !== null && (
            <Region
              region={region}
              move={
                movable
                  ? (x, y) =>
                      send("region", {
                        ...hand,
                        layouts: withBlocks(
                          hand.layouts,
                          new Map([
                            [region.x, x],
                            [region.y, y],
                          ]),
                        ),
                      })
                  : null
              }
            />
          )}
          {hand !== null && <WhatIf />}
        </div>
      </div>
    </div>
  );
}

function verdictWords(why: WhyPart | null): string {
  if (why === null) return "";
  if (!why.byHand) return why.verdict.join(" ");
  const open = why.constraints.filter((row) => !row.holds).length;
  const holds =
    open === 0
      ? `Every constraint holds: the path sustains ${formatRate(why.target)}.`
      : `${open} of ${why.constraints.length} constraints ${open === 1 ? "does" : "do"} not hold yet for ${formatRate(why.target)}.`;
  return `${holds} ${why.referenceSeconds === null ? `It takes ${formatSeconds(why.seconds)}.` : timeWords(why)}`;
}
