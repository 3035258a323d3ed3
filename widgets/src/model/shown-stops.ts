// Which stops of the plan the two cards show: those of the selected hop, the selected stop, any two that are chosen, or else the ends.
import { useEffect, useMemo, useState } from "preact/hooks";
import { layoutAtEnd, spacesOf } from "#model/ends.ts";
import { type Linearization, linearize } from "#model/layouts/linearization.ts";
import { usePlace } from "./selection.ts";
import type { Side } from "./settings.ts";
import type { PlanPart, ShownSelection } from "./types.ts";
import { useView } from "./view.ts";
import { hopsOf, type PlacedStop, stopsOf } from "./words.ts";

/** The number of the stop that each card shows; null stands for the end of the transfer. */
export type Shown = Readonly<Record<Side, number | null>>;

const ENDS: Shown = { source: null, destination: null };

/** What a selection shows: both stops of a hop, or a stop on the side of the path where it lies. */
export function shownBy(plan: PlanPart | null, selection: Pick<ShownSelection, "hop" | "stop">): Shown {
  if (plan === null) return ENDS;
  const stops = stopsOf(plan);
  const hop = selection.hop === null ? undefined : hopsOf(plan)[selection.hop];
  if (hop !== undefined) {
    const first = stops.findIndex(({ path }) => path === hop.path) + hop.hop.index;
    return { source: notAnEnd(stops, "source", first), destination: notAnEnd(stops, "destination", first + 1) };
  }
  const stop = selection.stop === null ? undefined : stops[selection.stop];
  if (stop === undefined) return ENDS;
  const side = 2 * stop.place < stop.path.stops.length ? "source" : "destination";
  return { ...ENDS, [side]: notAnEnd(stops, side, stop.number) };
}

/** The number of a stop, or null where the card of that side shows it anyway: then its layout can be edited. */
function notAnEnd(stops: readonly PlacedStop[], side: Side, number: number): number | null {
  const stop = stops[number];
  return stop === undefined || stop.place === (side === "source" ? 0 : stop.path.stops.length - 1) ? null : number;
}

/** A stop that a card shows, with its layout on the array. */
export interface StopOnCard {
  readonly placed: PlacedStop;
  readonly linear: Linearization;
}

export interface Cards {
  readonly shown: Readonly<Record<Side, StopOnCard | null>>;
  /** All stops that can be chosen; none where both cards show their ends. */
  readonly choices: readonly PlacedStop[];
  readonly choose: (side: Side, number: number) => void;
  readonly back: () => void;
}

/** What the two cards show. What is chosen for a card holds until something else is selected in the journey. */
export function useCards(): Cards {
  const { connection, snapshot } = useView();
  const { plan } = snapshot.panes;
  const [{ hop, stop }, select] = usePlace();
  const key = `${hop} ${stop}`;
  const [chosen, setChosen] = useState<{ key: string; shown: Shown } | null>(null);
  useEffect(() => setChosen((before) => (before?.key === key ? before : null)), [key]);
  const wanted = chosen?.key === key ? chosen.shown : shownBy(plan, { hop, stop });
  const { dims, fields } = spacesOf(connection.settings, snapshot);
  const spaces = JSON.stringify([dims, fields]);
  // A plan of a moment ago may be one for another array: what does not fit is not shown.
  const countable = layoutAtEnd(connection, snapshot, "source").linear !== null;
  const onCard = (number: number | null): StopOnCard | null => {
    const placed = plan === null || number === null || !countable ? undefined : stopsOf(plan)[number];
    const linear = placed === undefined ? null : linearize(placed.stop.layout, dims, fields).linear;
    return placed === undefined || linear === null ? null : { placed, linear };
  };
  const shown = useMemo(
    () => ({ source: onCard(wanted.source), destination: onCard(wanted.destination) }),
    [plan, wanted.source, wanted.destination, spaces, countable],
  );
  const away = shown.source !== null || shown.destination !== null;
  return {
    shown,
    choices: plan !== null && away ? stopsOf(plan) : [],
    choose: (side, number) =>
      setChosen({ key, shown: { ...wanted, [side]: plan === null ? null : notAnEnd(stopsOf(plan), side, number) } }),
    back: () => {
      setChosen(null);
      select({ hop: null, stop: null });
    },
  };
}
