// Marks on the journey: which chunk each hop moves at the selected moment, and what the slots of each buffer hold.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useSelection } from "#model/selection.ts";
import { chunksAt, type Held, type Moving } from "#model/trace/chunks-at.ts";
import { toneOf } from "#model/trace/tones.ts";
import type { TraceData } from "#model/trace/trace-data.ts";
import { useTrace } from "#model/trace/use-trace.ts";
import { counted } from "#model/units.ts";

/** The selected moment of the session's own transfer: what its hops move and its buffers hold. */
export interface JourneyMoment {
  readonly trace: TraceData;
  readonly moving: ReadonlyMap<number, Moving>;
  readonly held: ReadonlyMap<number, Held>;
}

/** More slots than these are a level, not boxes. */
const MOST = 8;

/** What happens at the selected moment; null where none is selected, or nothing is known of it. */
export function useJourneyMoment(): JourneyMoment | null {
  const [{ time }] = useSelection();
  const { trace, told } = useTrace("simulated", time !== null);
  const fresh = told?.fresh === true && trace?.id === told.id;
  return useMemo(() => {
    if (time === null || trace === null || !fresh) return null;
    const { moving, held } = chunksAt(trace, Math.min(time, trace.seconds));
    return {
      trace,
      moving: new Map(moving.filter(({ transfer }) => transfer === 0).map((each) => [each.hop, each])),
      held: new Map(held.filter(({ transfer }) => transfer === 0).map((each) => [each.hop, each])),
    };
  }, [time, trace, fresh]);
}

/** The chunk that a hop moves, on its shaft. `hop` is its number in the plan. */
export function ChunkMark({ moment, hop }: { moment: JourneyMoment; hop: number }): JSX.Element | null {
  const found = moment.moving.get(hop);
  if (found === undefined) return null;
  return (
    <i
      class="iv-chunk-mark"
      data-testid={`moving-${hop}`}
      data-chunk={found.chunk}
      style={{ left: `${(100 * found.share).toFixed(1)}%`, background: `var(${toneOf(moment.trace, 0, found.chunk)})` }}
    />
  );
}

/** What a hop does at the moment, in a few words. */
export function movingText(moment: JourneyMoment, hop: number): string {
  const found = moment.moving.get(hop);
  return found === undefined ? "idle" : `chunk ${found.chunk}`;
}

/** The slots of the buffer behind a hop, over the picture of its stop. */
export function SlotMarks({ moment, hop }: { moment: JourneyMoment; hop: number }): JSX.Element | null {
  const found = moment.held.get(hop);
  if (found === undefined) return null;
  const text = `${found.used.length} of ${counted(found.slots, "slot")} in use${found.used.length === 0 ? "" : `: chunk ${found.used.map((slot) => slot.chunk).join(", ")}`}`;
  const slots = Array.from({ length: Math.min(found.slots, MOST) }, (_, place) =>
    found.used.find((slot) => slot.chunk % found.slots === place),
  );
  return (
    <span class="iv-slot-marks" data-testid={`slots-${hop}`} data-used={found.used.length} title={text}>
      {slots.map((slot, place) => (
        <i
          key={place}
          class={`iv-slot${slot === undefined ? "" : ` iv-slot-${slot.state}`}`}
          style={slot === undefined ? {} : { "--iv-slot": `var(${toneOf(moment.trace, 0, slot.chunk)})` }}
        />
      ))}
      <span class="iv-hidden">{text}</span>
    </span>
  );
}
