// The layouts at the ends of the explorer's transfer, or of stops in their places, as pictures with the values of the session: a card
// for each, and a toolbar and a tape for both.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { cellValues } from "#model/array-values.ts";
import { byName } from "#model/by-name.ts";
import type { Connection } from "#model/connection.ts";
import { layoutAtEnd, spacesOf } from "#model/ends.ts";
import { entryText } from "#model/entries.ts";
import type { ChunkNumbers } from "#model/layouts/chunks.ts";
import { type Difference, firstDifference } from "#model/layouts/difference.ts";
import { type Linearization, linearize } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import { EVERYTHING, movedTo, partWords, rangesOf, selected, withRanges } from "#model/part.ts";
import { usePictureWay } from "#model/picture-way.ts";
import { pinsOf } from "#model/pins.ts";
import { usePlace, usePointedBytes } from "#model/selection.ts";
import type { Side } from "#model/settings.ts";
import type { Cards } from "#model/shown-stops.ts";
import { formatBytes, formatCount } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { useLayoutPicture } from "#views/linearization/drawing/picture.ts";
import type { IndexBox } from "#views/linearization/geometry/index-box.ts";
import { Lens } from "./lens.ts";
import { OPTIONS, type ViewOptions } from "./options.ts";
import { useTapePaint } from "./paints.ts";
import { QuietView } from "./quiet-view.tsx";
import { Tape } from "./tape.tsx";
import { TapeLinks } from "./tape-links.tsx";
import { Toolbar } from "./toolbar.tsx";
import {
  alike,
  LayoutCard,
  type LinearizationProps,
  type PartOfEnd,
  type PinOfCard,
  shownDims,
  useInk,
  useMarks,
  LinearizationView as ValueView,
} from "./view.tsx";

const TITLES: Record<Side, string> = { source: "Source", destination: "Destination" };
const SIDES = ["source", "destination"] as const;

const otherThan = (side: Side): Side => (side === "source" ? "destination" : "source");

/** The stops that are shown in the place of the ends. */
type Shown = Cards["shown"];
const NO_STOPS: Shown = { source: null, destination: null };

/** A layout of the session in a view of its own. */
export function LinearizationView({ side }: { side: Side }): JSX.Element {
  const { connection } = useView();
  const end = useEnd(side, NO_STOPS);
  if (!("linear" in end)) return <None {...end} />;
  return connection.quiet ? <QuietView {...end} /> : <ValueView {...end} />;
}

/** The pictures of a card. */
export function EndCard({ side, shown }: { side: Side; shown: Shown }): JSX.Element {
  const end = useEnd(side, shown);
  return "linear" in end ? <LayoutCard {...end} /> : <None {...end} />;
}

function None({ problem }: { problem: string }): JSX.Element {
  return <p class="iv-faint iv-lin-none">{problem}</p>;
}

/** What the picture of an end, or of the stop in its place, is drawn from; or why there is none. */
function useEnd(side: Side, shown: Shown): LinearizationProps | { problem: string } {
  const { connection, snapshot } = useView();
  const { options, change, lens } = useShared(connection);
  const { bothEnds } = snapshot.frame;
  const end = layoutAtEnd(connection, snapshot, side);
  const other = layoutAtEnd(connection, snapshot, otherThan(side));
  const [source, destination] = side === "source" ? [end.linear, other.linear] : [other.linear, end.linear];
  const on = shown[side];
  const path = on?.placed.path ?? snapshot.panes.plan?.paths[0];
  const fresh = !snapshot.faults.stale.includes("plan");
  const chunks = useMemo<ChunkNumbers | null>(
    () => (path === undefined || !fresh ? null : { digits: path.chunkDigits, perChunk: path.perChunk, count: path.chunks }),
    [path, fresh],
  );
  const { dims, fields } = spacesOf(connection.settings, snapshot);
  const spaces = JSON.stringify([dims, fields]);
  const block = useMemo(() => {
    if (path === undefined || !bothEnds) return null;
    const stops = path.stops.flatMap(({ layout }) => linearize(layout, dims, fields).linear ?? []);
    return stops.length < path.stops.length ? null : { extents: byName(path.block), path: stops };
  }, [path, spaces, bothEnds]);
  const ends = useMemo(
    () => (source === null || destination === null || !bothEnds ? null : ([source, destination] as const)),
    [source, destination, bothEnds],
  );
  const values = useMemo(() => cellValues(connection.arrayValues, end.linear), [connection, end.linear]);
  const part = usePart(side, end.linear);
  const linear = on?.linear ?? end.linear;
  const [pointed] = usePointedBytes();
  const [{ hop }] = usePlace();
  const { pin, beside } = usePins(side);
  if (linear === null) return { problem: end.problem?.message ?? "This array is too large to be drawn." };
  return {
    ...{ linear, ends, side, chunks, block, values, options, lens, pin, beside },
    other: bothEnds ? (shown[otherThan(side)]?.linear ?? other.linear) : null,
    palette: snapshot.palette,
    onOptions: change,
    title: titleOf(side, shown),
    // A buffer of a part has an order of its own: where it lies there, this picture does not show.
    bytesAt: pointed?.hop === hop && (on === null || path?.box === null) ? (pointed?.[side] ?? null) : null,
    part: bothEnds && on === null ? part : null,
    numpy: on === null ? (snapshot.panes.layout[side]?.numpy ?? "") : "",
  };
}

function titleOf(side: Side, shown: Shown): string {
  const on = shown[side];
  return on === null ? TITLES[side] : `Stop ${on.placed.number}`;
}

/** The toolbar of both cards. The way is chosen in the head of the journey, and here where that is out of sight. */
export function EndsToolbar({
  shown,
  ways,
  children,
}: {
  shown: Shown;
  ways: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const { connection } = useView();
  const { change, lens } = useShared(connection);
  const [source, destination] = [useEnd("source", shown), useEnd("destination", shown)];
  useHopOpensBlock(change);
  const main = "linear" in source ? source : "linear" in destination ? destination : null;
  if (main === null) return <div class="iv-lin-bar">{children}</div>;
  const { settings } = connection;
  const ends = {
    ...("linear" in source ? { source: source.linear } : {}),
    ...("linear" in destination ? { destination: destination.linear } : {}),
  };
  return (
    <Toolbar
      {...{ ends, lens, ways }}
      linear={main.linear}
      options={main.options}
      change={main.onOptions}
      dims={shownDims(main.linear, main.ends, main.options)}
      chunks={main.chunks}
      hasBlock={main.block !== null}
      hasValues={main.values !== null}
      hasTwin={main.other !== null && alike(main.linear, main.other)}
      part={
        shown.source === null || shown.destination === null
          ? {
              words: partWords(settings),
              everything: () => connection.send({ kind: "part", control: "everything", part: EVERYTHING }),
            }
          : null
      }
      compare={<Compare shown={shown} />}
    >
      {children}
    </Toolbar>
  );
}

/** A selected hop opens the cards on one block; without one they show what the whole explorer does. */
function useHopOpensBlock(change: (part: Partial<ViewOptions>) => void): void {
  const [{ hop }] = usePlace();
  useEffect(() => change({ extent: hop === null ? null : "block" }), [hop]);
}

/** Keeps the layout of a card in sight, to compare later ones with it. */
function Compare({ shown }: { shown: Shown }): JSX.Element {
  const { connection, snapshot } = useView();
  const pins = pinsOf(connection);
  return (
    <fieldset class="iv-lin-compare">
      <legend>Compare later layouts with this one</legend>
      {SIDES.map((side) => {
        const linear = shown[side]?.linear ?? layoutAtEnd(connection, snapshot, side).linear;
        const text = String(linear);
        const title = titleOf(side, shown);
        const pinned = pins[side].value?.text === text;
        return linear === null ? null : (
          <label key={side} class="iv-lin-toggle" title="It stays beside later layouts of this card">
            <input
              type="checkbox"
              checked={pinned}
              data-testid={`pin-layout-${side}`}
              onChange={() => {
                pins[side].value = pinned ? null : { text, title };
              }}
            />
            {title}
          </label>
        );
      })}
    </fieldset>
  );
}

/** One tape for both cards: the memory of the left one above that of the right one, with lines from an entry to itself. */
export function EndsTape({ shown }: { shown: Shown }): JSX.Element | null {
  const [source, destination] = [useEnd("source", shown), useEnd("destination", shown)];
  if (!("linear" in source) || !("linear" in destination) || !alike(source.linear, destination.linear)) return null;
  return <TwoTapes source={source} destination={destination} />;
}

/** The tape of the layout at an end above that of the one that Python set beside it; the first bytes that differ are marked. */
export function BesideTape({ side }: { side: Side }): JSX.Element | null {
  const { connection, snapshot } = useView();
  const text = connection.beside;
  const { dims, fields } = spacesOf(connection.settings, snapshot);
  const key = JSON.stringify([dims, fields]);
  const read = useMemo(() => (text === "" ? null : linearize(text, dims, fields)), [text, key]);
  const end = useEnd(side, NO_STOPS);
  const own = "linear" in end ? end.linear : null;
  const other = read?.linear ?? null;
  const difference = useMemo(() => (own === null || other === null ? null : firstDifference(own, other)), [own, other]);
  if (read === null || connection.quiet) return null;
  if (other === null)
    return (
      <p class="iv-faint" role="status" data-testid="beside-unfit">
        Beside it: <code>{text}</code> is no layout of this array. {read.problem?.message}
      </p>
    );
  if (!("linear" in end)) return null;
  return (
    <div data-testid="beside" data-differs={difference === null ? "" : difference.byte}>
      <TwoTapes
        source={{ ...end, title: "This layout" }}
        destination={{ ...end, linear: other, title: "Beside it", values: null }}
        difference={difference}
      />
      <p class="iv-lin-difference" data-testid="beside-words">
        <code>{text}</code> {differenceWords(end.linear, difference)}
      </p>
    </div>
  );
}

function differenceWords(linear: Linearization, difference: Difference | null): string {
  if (difference === null) return "stores the same bytes in the same order.";
  const { byte, own, other } = difference;
  const words = (entry: Entry | null): string => (entry === null ? "padding or nothing" : entryText(linear, entry));
  return `differs from byte ${formatCount(byte)} on: here ${words(own)}, beside it ${words(other)}.`;
}

function TwoTapes({
  source,
  destination,
  difference = null,
}: Record<Side, LinearizationProps> & { difference?: Difference | null }): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  const ink = useInk(root);
  const way = usePictureWay();
  const [above, below] = [useMarks(source), useMarks(destination)];
  const [one, other] = [useTape(source, above.looks), useTape(destination, below.looks)];
  const [onePaint, otherPaint] = [useTapePaint(source, way), useTapePaint(destination, way)];
  if (one === null || other === null) return <div ref={root} />;
  return (
    <div class="iv-card iv-lin-tapes" ref={root} role="group" aria-label="The memory of both, as strips" data-testid="ends-tape">
      <span class="iv-faint">{source.title}</span>
      <Tape
        {...{ linear: source.linear, colours: one.colours, paint: onePaint, marked: one.marked, ink, ...above.marks }}
        differs={bytesOf(source.linear, difference, difference?.own)}
        label={`Memory of ${source.title}: ${formatBytes(source.linear.nbytes)} as a strip`}
        testid="tape-source"
        strip="below"
        onSelect={above.onPick}
      />
      <TapeLinks {...{ source: source.linear, destination: destination.linear, ink, ...above.marks }} />
      <span class="iv-faint">{destination.title}</span>
      <Tape
        {...{ linear: destination.linear, colours: other.colours, paint: otherPaint, marked: other.marked, ink, ...below.marks }}
        differs={bytesOf(destination.linear, difference, difference?.other)}
        label={`Memory of ${destination.title}: ${formatBytes(destination.linear.nbytes)} as a strip`}
        testid="tape-destination"
        strip="above"
        onSelect={below.onPick}
      />
    </div>
  );
}

/** The bytes at a difference that an entry has there, else those of the smallest field. */
function bytesOf(
  linear: Linearization,
  difference: Difference | null,
  entry: Entry | null | undefined,
): readonly [number, number] | null {
  if (difference === null) return null;
  const size = entry == null ? Math.min(...linear.fields.map((field) => field.size)) : linear.fields[entry.field]?.size;
  return [difference.byte, size ?? 1];
}

const ALL = { ranges: [], stretch: 1, named: false, missing: 0 };

function useTape({ linear }: LinearizationProps, looks: ReturnType<typeof useMarks>["looks"]) {
  return useLayoutPicture(linear, { ...looks, seen: ALL });
}

/** The part of the array that moves, at one end. */
function usePart(side: Side, linear: Linearization | null): PartOfEnd | null {
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
  };
}

/** What is pinned on a card, and on the other one. */
function usePins(side: Side): { pin: PinOfCard; beside: readonly Linearization[] } {
  const { connection, snapshot } = useView();
  const pins = pinsOf(connection);
  const set = connection.beside === "" ? null : { text: connection.beside, title: "Set beside it:" };
  const [own, other] = [pins[side], pins[otherThan(side)]];
  const shown = own.value ?? set;
  const { dims, fields } = spacesOf(connection.settings, snapshot);
  const key = JSON.stringify([dims, fields]);
  const read = (text: string | undefined) => (text === undefined ? null : linearize(text, dims, fields));
  const pinned = useMemo(() => read(shown?.text), [shown?.text, key]);
  const beside = useMemo(() => [read(other.value?.text)?.linear].filter((each) => each != null), [other.value, key]);
  const pin: PinOfCard = {
    linear: pinned?.linear ?? null,
    words: shown === null ? "" : `${shown.title} ${shown.text}`,
    problem: pinned?.problem?.message ?? "",
    letGo: own.value === null ? null : () => void (own.value = null),
  };
  return { pin, beside };
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
