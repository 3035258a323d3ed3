// Why a hop converts, or does not: how long the transfer takes with the conversion at each hop, and the way to plan it so.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import type { ShownHop } from "#model/types.ts";
import { formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { useWatch } from "#model/watch.ts";
import type { PlacedHop } from "#model/words.ts";
import { convertingHop } from "./hand.ts";
import { isMovable, useMoveConversion } from "./move-conversion.ts";

interface WhyHereProps extends PlacedHop {
  /** Whether the times are asked for: the kernel works them out only then. */
  asked: boolean;
}

export function WhyHere({ hop, path, asked }: WhyHereProps): JSX.Element | null {
  const { connection, snapshot } = useView();
  const convertAt = useMoveConversion();
  const box = useRef<HTMLDivElement>(null);
  // The button that was pressed goes away: what the keyboard does next, such as Undo, still goes to the explorer.
  const move = (index: number): void => {
    convertAt(index);
    box.current?.focus({ preventScroll: true });
  };
  const { plan, elsewhere } = snapshot.panes;
  const movable = plan !== null && isMovable(plan.paths, connection.offline);
  useWatch(movable && asked ? ["elsewhere"] : []);
  if (!movable) return null;
  const converting = convertingHop(path);
  const here = converting === hop.index;
  const known = elsewhere?.isOfPlan ? elsewhere : null;
  const secondsAt = (index: number): number | null | undefined => (index === converting ? plan.seconds : known?.seconds[index]);
  const others = path.hops
    .flatMap((each) => {
      const seconds = secondsAt(each.index);
      return each.index === converting || each === hop || seconds == null ? [] : [{ hop: each, seconds }];
    })
    .sort((one, other) => one.seconds - other.seconds);
  const own = secondsAt(hop.index);
  return (
    <div class="iv-why-here" data-testid="why-here" ref={box} tabIndex={-1}>
      <p>
        {here ? (
          <>
            <b>Why here:</b> it takes
          </>
        ) : (
          `It is converted at hop ${converting}, ${path.hops[converting]?.words}:`
        )}{" "}
        <b>{formatSeconds(plan.seconds)}</b>.{" "}
        {!here && own === null && "This hop cannot convert: no block within the limits has two orders here. "}
        {!here && own !== null && (
          <>
            {own !== undefined && `Here: ${formatSeconds(own)}. `}
            <Button
              label="Convert at this hop"
              quiet
              testid="convert-here"
              title={`Plan by hand with the conversion at hop ${hop.index}`}
              onClick={() => move(hop.index)}
            />
            {". "}
          </>
        )}
        {others.length > 0 && (
          <span data-testid="elsewhere">
            Elsewhere:{" "}
            {others.map(({ hop: other, seconds }, place) => (
              <>
                {place > 0 && ", "}
                <Button
                  label={`${nameOf(other, path.hops)} ${formatSeconds(seconds)}`}
                  quiet
                  testid={`convert-at-${other.index}`}
                  title={`Plan by hand with the conversion at hop ${other.index}`}
                  onClick={() => move(other.index)}
                />
              </>
            ))}
            .
          </span>
        )}
        {asked && known?.done !== true && <span class="iv-faint"> What it takes elsewhere is being worked out…</span>}
      </p>
    </div>
  );
}

/** "memory copy", or "memory copy (hop 2)" where the path has several of them. */
function nameOf(hop: ShownHop, hops: readonly ShownHop[]): string {
  return hops.some((other) => other !== hop && other.words === hop.words) ? `${hop.words} (hop ${hop.index})` : hop.words;
}
