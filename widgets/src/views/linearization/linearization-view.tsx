// The linearization view of one end of the explorer's transfer, or of a stop in its place: the view with the values of the session.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { cellValues } from "#model/array-values.ts";
import type { Connection } from "#model/connection.ts";
import { layoutAtEnd, spacesOf } from "#model/ends.ts";
import type { ChunkNumbers } from "#model/layouts/chunks.ts";
import { type Linearization, linearize } from "#model/layouts/linearization.ts";
import { EVERYTHING, movedTo, partWords, rangesOf, selected, withRanges } from "#model/part.ts";
import { pinsOf } from "#model/pins.ts";
import { usePlace, usePointedBytes } from "#model/selection.ts";
import type { Side } from "#model/settings.ts";
import type { Cards } from "#model/shown-stops.ts";
import { useView } from "#model/view.ts";
import type { IndexBox } from "#views/linearization/geometry/index-box.ts";
import { Lens } from "./lens.ts";
import { OPTIONS, type ViewOptions } from "./options.ts";
import { type PartOfEnd, type PinOfCard, LinearizationView as ValueView } from "./view.tsx";

const TITLES: Record<Side, string> = { source: "Source", destination: "Destination" };

interface LinearizationViewProps {
  side: Side;
  compact?: boolean;
  /** The stops that are shown in the place of the ends. */
  shown?: Cards["shown"];
}

const NO_STOPS: Cards["shown"] = { source: null, destination: null };

export function LinearizationView({ side, compact = false, shown = NO_STOPS }: LinearizationViewProps): JSX.Element | null {
  const { connection, snapshot } = useView();
  const { options, change, lens } = useShared(connection);
  const end = layoutAtEnd(connection, snapshot, side);
  const otherSide = side === "source" ? "destination" : "source";
  const other = layoutAtEnd(connection, snapshot, otherSide);
  const source = side === "source" ? end : other;
  const on = shown[side];
  const path = on?.placed.path ?? snapshot.panes.plan?.paths[0];
  const fresh = !snapshot.faults.stale.includes("plan");
  const chunks = useMemo<ChunkNumbers | null>(
    () => (path === undefined || !fresh ? null : { digits: path.chunkDigits, perChunk: path.perChunk, count: path.chunks }),
    [path, fresh],
  );
  const values = useMemo(() => cellValues(connection.arrayValues, end.linear), [connection, end.linear]);
  const part = usePart(side, end.linear, options, change);
  const linear = on?.linear ?? end.linear;
  const title = on === null ? TITLES[side] : `Stop ${on.placed.number}`;
  const [pointed] = usePointedBytes();
  const [{ hop }] = usePlace();
  const { pin, beside, axes } = usePins(side, linear, title, source.linear);
  if (linear === null)
    return <p class="iv-faint iv-lin-none">{end.problem?.message ?? "This array is too large to be drawn."}</p>;
  const numpy = snapshot.panes.layout[side]?.numpy;
  return (
    <ValueView
      linear={linear}
      other={snapshot.frame.bothEnds ? (shown[otherSide]?.linear ?? other.linear) : null}
      reference={axes ?? (snapshot.frame.bothEnds ? source.linear : null)}
      side={side}
      palette={snapshot.palette}
      chunks={chunks}
      values={values}
      options={options}
      onOptions={change}
      lens={lens}
      compact={compact}
      title={title}
      pin={pin}
      beside={beside}
      // A buffer of a part has an order of its own: where it lies there, this picture does not show.
      bytesAt={pointed?.hop === hop && (on === null || path?.box === null) ? (pointed?.[side] ?? null) : null}
      part={snapshot.frame.bothEnds && on === null ? part : null}
      {...(numpy === undefined || on !== null ? {} : { numpy })}
    />
  );
}

/** The part of the array that moves, at one end. */
function usePart(
  side: Side,
  linear: Linearization | null,
  options: ViewOptions,
  change: (next: Partial<ViewOptions>) => void,
): PartOfEnd | null {
  const { connection } = useView();
  const { settings } = connection;
  const { part, fields } = settings;
  const box = useMemo((): IndexBox | null => {
    const ranges = rangesOf(settings);
    if (linear === null || ranges === null) return null;
    const own = linear.dims.map(({ name, size }) => ranges.find((range) => range.dim === name && range.size === size));
    if (own.some((range) => range === undefined)) return null;
    const first = own.map((range) => (side === "source" ? range?.first : range?.to) ?? 0);
    const last = own.map((range, dim) => (first[dim] ?? 0) + (range?.extent ?? 1) - 1);
    const moves = linear.fields.map(({ name }) => !part.leftOut.includes(fields.find((field) => field.name === name)?.key ?? -1));
    const whole = own.every((range) => range?.extent === range?.size);
    return { first, last, fields: moves, whole };
  }, [settings.dimensions, part, fields, linear, side]);
  if (linear === null) return null;
  return {
    box,
    words: partWords(settings),
    choosing: options.choosing,
    turn: (choosing) => change({ choosing }),
    choose: (first, last) => {
      const ranges = rangesOf(settings);
      if (ranges === null) return;
      const next = ranges.map((range) => {
        const dim = linear.dims.findIndex(({ name }) => name === range.dim);
        const from = first[dim];
        if (from === undefined) return range;
        return side === "source" ? selected(range, from, last[dim] ?? from) : movedTo(range, from);
      });
      connection.send({ kind: "part", control: `grid-${side}`, part: withRanges(part, next) });
    },
    everything: () => connection.send({ kind: "part", control: "everything", part: EVERYTHING }),
  };
}

/** What is pinned on a card, and on the other one; and the layout whose fastest dimensions are drawn while anything is pinned. */
function usePins(
  side: Side,
  linear: Linearization | null,
  title: string,
  source: Linearization | null,
): { pin: PinOfCard; beside: readonly Linearization[]; axes: Linearization | null } {
  const { connection, snapshot } = useView();
  const pins = pinsOf(connection);
  const [own, other] = [pins[side], side === "source" ? pins.destination : pins.source];
  const { dims, fields } = spacesOf(connection.settings, snapshot);
  const key = JSON.stringify([dims, fields]);
  const read = (text: string | undefined) => (text === undefined ? null : linearize(text, dims, fields));
  const pinned = useMemo(() => read(own.value?.text), [own.value, key]);
  const beside = useMemo(() => [read(other.value?.text)?.linear].filter((each) => each != null), [other.value, key]);
  const first = (pins.source.value ?? pins.destination.value)?.axes;
  const axes = useMemo(() => read(first)?.linear ?? null, [first, key]);
  const text = String(linear);
  const pin: PinOfCard = {
    linear: pinned?.linear ?? null,
    words: own.value === null ? "" : `${own.value.title} ${own.value.text}`,
    problem: pinned?.problem?.message ?? "",
    isShown: own.value?.text === text,
    pin: () => void (own.value = { text, title, axes: first ?? String(source ?? linear) }),
    letGo: () => void (own.value = null),
  };
  return { pin, beside, axes };
}

/** Cells show the values of an array where it has some. */
function firstOptions({ arrayValues }: Connection): ViewOptions {
  return arrayValues === null || arrayValues.texts.length === 0 ? OPTIONS : { ...OPTIONS, numbers: "value" };
}

interface Shared {
  options: ViewOptions;
  readonly lens: Lens;
  listeners: Set<() => void>;
}

const shared = new WeakMap<Connection, Shared>();

/** What is chosen about the pictures: both ends of a view share it. */
function useShared(connection: Connection): { options: ViewOptions; change: (change: Partial<ViewOptions>) => void; lens: Lens } {
  let known = shared.get(connection);
  if (known === undefined)
    shared.set(connection, (known = { options: firstOptions(connection), lens: new Lens(), listeners: new Set() }));
  const store = known;
  const [, again] = useState(store.options);
  useEffect(() => {
    const look = (): void => again(store.options);
    look();
    store.listeners.add(look);
    return () => void store.listeners.delete(look);
  }, [store]);
  const change = (part: Partial<ViewOptions>): void => {
    store.options = { ...store.options, ...part };
    for (const listener of [...store.listeners]) listener();
  };
  return { options: store.options, change, lens: store.lens };
}
