// One layout as a grid, a memory tape and a vector of digits, linked. It takes values, not the kernel:
//
//   linear      the layout on its spaces          other     the layout at the other end, or null (for the scale and the runs)
//   side        which end it is: "source" or "destination"
//   reference   the layout whose two fastest dimensions are drawn unless others are chosen; without one, that of the source
//   palette     the colours of the dimensions     chunks    how the path numbers its chunks, or null
//   options     what is chosen about the picture; with `onOptions` it is the parent's, so that both ends share it
//   lens        what both ends show together, or null
//   compact     the arrangement for about 430 × 330 pixels, which fills the height of its element; by its width unless it is said
//   title       names the picture
//   numpy       the NumPy array with the same bytes
//   pin         the layout that is pinned beside this one, and what pins and lets go; without it that is not offered
//   beside      further layouts that are drawn beside this one, for the scale
//   bytesAt     the bytes that are pointed at, such as those of a descriptor
//
// What is hovered and selected is the session's (`useHover`, `useSelection`): all views of a page mark it.

import type { JSX, RefObject } from "preact";
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { useDark, useSize } from "#lib/hooks.ts";
import { Icon, type IconName } from "#lib/icon.tsx";
import type { CellValues } from "#model/array-values.ts";
import { type ByName, byName } from "#model/by-name.ts";
import { type ChunkNumbers, chunkOf } from "#model/layouts/chunks.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import { useHover, useSelection } from "#model/selection.ts";
import type { Named, ShownColour } from "#model/types.ts";
import { formatBytes, formatCount } from "#model/units.ts";
import { SavePicture } from "#views/controls/save-picture.tsx";
import type { Stretches } from "#views/linearization/drawing/chunk-marks.ts";
import { type Ink, inkOf } from "#views/linearization/drawing/ink.ts";
import { type LayoutPicture, type Looks, useLayoutPicture } from "#views/linearization/drawing/picture.ts";
import type { IndexBox } from "#views/linearization/geometry/index-box.ts";
import { fastestDims } from "#views/linearization/geometry/model.ts";
import { elementAtOrAfter } from "#views/linearization/geometry/order.ts";
import type { SeenPart } from "#views/linearization/geometry/scene.ts";
import { ColourMenu, Drop, MoreControls, Slices } from "./controls.tsx";
import { Digits } from "./digits.tsx";
import { entryFrom, shownFrom } from "./entries.ts";
import { Facts } from "./facts.tsx";
import { Grid, type GridProps, type Zoomer } from "./grid.tsx";
import { Legend } from "./legend.tsx";
import { Lens } from "./lens.ts";
import { OPTIONS, type ViewOptions } from "./options.ts";
import { Player } from "./player.tsx";
import { Tape, type TapeProps } from "./tape.tsx";
import { Vector } from "./vector.tsx";

export interface LinearizationProps {
  linear: Linearization;
  other: Linearization | null;
  side?: "source" | "destination";
  reference?: Linearization | null;
  palette: Named<ShownColour>;
  chunks?: ChunkNumbers | null;
  /** What the entries hold; null where that is not known. */
  values?: CellValues | null;
  options?: ViewOptions;
  onOptions?: (change: Partial<ViewOptions>) => void;
  lens?: Lens | null;
  compact?: boolean;
  title?: string;
  numpy?: string;
  /** What moves of the array, and what chooses it; a view without it shows everything. */
  part?: PartOfEnd | null;
  pin?: PinOfCard | null;
  beside?: readonly Linearization[];
  /** The bytes of it that are pointed at. */
  bytesAt?: Stretches | null;
}

/** The layout that is pinned on a card. */
export interface PinOfCard {
  /** On the array; null where none is pinned, or where the array has no such layout. */
  readonly linear: Linearization | null;
  /** What it is, and what had it when it was pinned. */
  readonly words: string;
  /** Why the array has no such layout; "" where it has. */
  readonly problem: string;
  /** Whether it is the layout that the card shows. */
  readonly isShown: boolean;
  /** Pins what the card shows, in the place of what was pinned. */
  readonly pin: () => void;
  readonly letGo: () => void;
}

/** The part of an array that moves, at one end. */
export interface PartOfEnd {
  readonly box: IndexBox | null;
  /** Whether dragging on the grid chooses or moves it. */
  readonly choosing: boolean;
  readonly turn: (choosing: boolean) => void;
  readonly choose: (first: readonly number[], last: readonly number[]) => void;
  readonly everything: () => void;
  /** What moves, in a few words; "" where everything does. */
  readonly words: string;
}

/** Narrower than this (CSS pixels), the view is compact. */
const NARROW = 640;

const ALL: SeenPart = { ranges: [], stretch: 1, named: false };

/** Steps of the order line that stay visible behind the entry while it is played. */
const TRAIL = 8;

export function LinearizationView(props: LinearizationProps): JSX.Element {
  const { linear, other, palette, chunks = null, values = null, numpy, part = null, pin = null } = props;
  const end = props.side === "destination" ? "destination" : "source";
  const [own, setOwn] = useState<ViewOptions>(OPTIONS);
  const options = props.options ?? own;
  const change = (next: Partial<ViewOptions>): void => (props.onOptions ?? ((part) => setOwn({ ...own, ...part })))(next);
  const [playing, setPlaying] = useState(false);
  const [zoomer, unused] = [useRef<Zoomer>(null), useRef<Zoomer>(null)];
  const dark = useDark();
  const root = useRef<HTMLElement>(null);
  const { width } = useSize(root);
  const compact = props.compact ?? width < NARROW;
  const ink = useInk(root, dark, width);

  const twin = other !== null && alike(linear, other) ? other : null;
  const pinned = pin?.linear != null && alike(linear, pin.linear) ? pin.linear : null;
  const all = useMemo(
    () => [twin, pinned, ...(props.beside ?? [])].filter((each) => each !== null && alike(linear, each)) as Linearization[],
    [linear, twin, pinned, props.beside],
  );
  const [hover, setHover] = useHover();
  const [selection, select] = useSelection();
  const hovered = useMemo(() => entryFrom(linear, hover), [linear, hover]);
  const selected = useMemo(() => entryFrom(linear, selection.entry), [linear, selection.entry]);
  const onHover = (entry: Entry | null): void => setHover(entry === null ? null : shownFrom(linear, entry));
  const onSelect = (entry: Entry): void => select({ entry: shownFrom(linear, entry) });
  // Where colours say chunks, pointing at an entry means its chunk.
  const markChunk = (entry: Entry | null, keep = false): void => {
    const of = entry === null || chunks === null ? null : chunkOf(chunks, linear.dims, entry.index, entry.field);
    select({ chunk: of === selection.chunk && !keep ? null : of });
  };
  const onPick = (entry: Entry): void => {
    onSelect(entry);
    if (options.colour === "chunk") markChunk(entry, true);
  };

  const first = props.side === "destination" && twin !== null ? twin : linear;
  const dims = shownDims(props.reference && alike(linear, props.reference) ? props.reference : first, options);
  // The slice that is drawn has what is pointed at, else what is selected.
  const bytesAt = props.bytesAt ?? null;
  const lead = useMemo(() => {
    const first = bytesAt?.owners === undefined ? bytesAt?.starts[0] : undefined;
    return first === undefined ? null : elementAtOrAfter(linear, first);
  }, [linear, bytesAt]);
  const sliced = lead ?? selected;
  const fixed: ByName<number> = new Map(
    linear.dims
      .map(({ name }, dim) => [name, sliced?.index[dim] ?? options.fixed.get(name) ?? 0] as const)
      .filter(([name]) => !dims.includes(name)),
  );
  const slice = (dim: string, to: number): void => {
    if (selected === null) change({ fixed: new Map(options.fixed).set(dim, to) });
    else onSelect({ ...selected, index: selected.index.map((at, place) => (linear.dims[place]?.name === dim ? to : at)) });
  };
  const bytes = Math.max(linear.nbytes, ...all.map((each) => each.nbytes));
  const [seen, setSeen] = useState<SeenPart>(ALL);
  const dimColour = useCallback(
    (dim: string): string => byName(palette).get(dim)?.[dark ? "dark" : "light"] ?? "currentColor",
    [palette, dark],
  );
  const shown = hovered ?? selected;
  const common: Looks = {
    ...{ options, palette, chunks, dark, twin, all, bytes, dims, fixed, seen },
    entry: shown,
    chosen: selection.chunk,
    bytesAt,
  };
  const now = useLayoutPicture(linear, common) as LayoutPicture;
  const before = useLayoutPicture(pinned, common);
  const elsewhere =
    shown !== null && linear.dims.some(({ name }, dim) => fixed.has(name) && fixed.get(name) !== shown.index[dim]);
  const hasRuns = now.runs !== null || (before !== null && before.runs !== null);
  const hasChunks = chunks !== null && chunks.count > 1;
  const hasValues = values !== null;
  const hasTwin = twin !== null && (props.lens ?? null) !== null;
  const controls = { linear, options, dims, hasChunks, hasRuns, hasValues, hasTwin, change };
  const { chunk } = now;
  const [alone] = useState(() => new Lens());
  const lens = (options.linked && twin !== null ? props.lens : null) ?? alone;
  const marking =
    hasChunks && (selected !== null || chunk !== null)
      ? { on: chunk !== null, set: (on: boolean) => markChunk(on ? selected : null) }
      : null;
  const label = described(props.title ?? "Layout", linear);
  const marked = { ink, hovered, selected, onHover };
  const grid = (of: LayoutPicture, label: string): Omit<GridProps, "onSeen" | "zoomer"> => ({
    ...{ dims, fixed, options, values, dimColour, chunks, lens, end, onSelect, onPick, label, ...marked },
    linear: of.linear,
    others: all,
    colours: of.inView,
    runs: of.runs,
    marked: of.marked,
    warp: of.warp?.entries ?? null,
    trail: playing ? TRAIL : 0,
    box: part?.box ?? null,
    choosing: part?.choosing === true ? (end === "source" ? "select" : "move") : null,
    onBox: (first, last) => part?.choose(first, last),
    onChunk: hasChunks ? markChunk : null,
  });
  const tape = (of: LayoutPicture, words: string): TapeProps => ({
    ...{ linear: of.linear, colours: of.colours, marked: of.marked, ...marked },
    label: `${words}: ${formatBytes(of.linear.nbytes)} as a strip`,
    onSelect: onPick,
  });
  return (
    <section
      ref={root}
      class={`iv-lin${compact ? " iv-lin-compact" : ""}`}
      aria-label={props.title ?? "Linearization"}
      data-testid="linearization"
    >
      <div class="iv-lin-bar">
        <ColourMenu {...controls} />
        {compact ? (
          <Drop label="More about the picture">
            <MoreControls {...controls} marking={marking} />
            <Digits linear={linear} palette={palette} numpy={numpy ?? ""} />
          </Drop>
        ) : (
          <MoreControls {...controls} marking={marking} />
        )}
        <div class="iv-lin-tools">
          <Player linear={linear} selected={selected} onSelect={onSelect} onPlaying={setPlaying} />
          {part !== null && <ChoosePart part={part} end={end} />}
          {pin !== null && <PinLayout pin={pin} />}
          <span class="iv-lin-zoom" role="group" aria-label="Zoom">
            <Tool label="Zoom out" icon="minus" onClick={() => zoomer.current?.zoom(1 / 1.6)} />
            <Tool label="Zoom in" icon="add" onClick={() => zoomer.current?.zoom(1.6)} />
            <Tool label="Show the whole grid" icon="fit" onClick={() => zoomer.current?.fit()} />
          </span>
          <SavePicture
            name={`${props.title ?? "Layout"} ${linear.digits.map((digit) => digit.text).join(" ")}`}
            of={() => root.current}
          />
        </div>
      </div>
      <Slices linear={linear} dims={dims} at={fixed} colourOf={dimColour} set={slice} />
      {pin !== null && pin.problem !== "" && (
        <p class="iv-faint" role="status" data-testid="pinned-layout-unfit">
          {pin.words} is pinned, but no layout of this array: {pin.problem} <LetGo pin={pin} />
        </p>
      )}
      <div class="iv-lin-main">
        <div class="iv-lin-halves" data-split={before !== null}>
          {before !== null && pin !== null && (
            <div class="iv-lin-half" data-testid="pinned-layout" key="pinned">
              <p class="iv-lin-half-head">
                Pinned <code title={pin.words}>{String(before.linear)}</code> <LetGo pin={pin} />
              </p>
              <Grid
                {...grid(before, `Pinned layout, ${described(pin.words, before.linear)}`)}
                testid="pinned-grid"
                onSeen={() => undefined}
                zoomer={unused}
              />
            </div>
          )}
          <div class="iv-lin-half" key="now">
            {before !== null && (
              <p class="iv-lin-half-head">
                Now <code>{String(linear)}</code>
              </p>
            )}
            <Grid {...grid(now, label)} onSeen={setSeen} zoomer={zoomer} />
          </div>
        </div>
        <div class="iv-lin-aside">
          <Facts now={now} pinned={before} entry={shown} selected={selected} elsewhere={elsewhere} compact={compact} />
          <Legend
            now={now}
            pinned={before}
            chunks={chunks}
            bytes={bytes}
            runs={options.runs && hasRuns}
            stretch={seen.stretch}
            named={compact && seen.named}
            letGo={() => select({ chunk: null })}
          />
          {!compact && <Digits linear={linear} palette={palette} numpy={numpy ?? ""} />}
        </div>
      </div>
      <Vector linear={linear} palette={palette} entry={shown} onSelect={onSelect} />
      <div class="iv-lin-tapes" data-split={before !== null}>
        {before !== null && (
          <>
            <span class="iv-faint">pinned</span>
            <Tape {...tape(before, "Memory of the pinned layout")} testid="pinned-tape" />
            <span class="iv-faint">now</span>
          </>
        )}
        <Tape {...tape(now, `Memory of ${label}`)} key="now" />
      </div>
    </section>
  );
}

/** The two dimensions that are drawn: right and down. */
export function shownDims(reference: Linearization, options: Pick<ViewOptions, "across" | "down">): string[] {
  const names = reference.dims.map((dim) => dim.name);
  const [fast = "", second] = fastestDims(reference);
  const across =
    options.across !== null && names.includes(options.across) ? options.across : fast === options.down ? (second ?? fast) : fast;
  if (names.length < 2) return [across];
  const free = [second ?? "", fast, ...names].find((name) => name !== across && names.includes(name));
  const down = options.down !== null && options.down !== across && names.includes(options.down) ? options.down : free;
  return down === undefined ? [across] : [across, down];
}

function alike(a: Linearization, b: Linearization): boolean {
  return (
    a.dims.length === b.dims.length &&
    a.fields.length === b.fields.length &&
    a.dims.every((dim, place) => dim.name === b.dims[place]?.name && dim.size === b.dims[place]?.size) &&
    a.fields.every((field, place) => field.size === b.fields[place]?.size)
  );
}

/** The picture in words, for those who do not see it. */
function described(title: string, linear: Linearization): string {
  const sizes = linear.dims.map(({ name, size }) => `${name} ${formatCount(size)}`).join(" by ");
  const order = linear.digits.map((digit) => digit.text).join(", ");
  const fields = linear.fields.map((field) => field.name).join(", ");
  return `${title}: ${sizes}; fields ${fields}; ${formatBytes(linear.nbytes)}; order in memory, fastest first: ${order}`;
}

/** Turns the mode in which dragging on the grid chooses what moves, and takes the choice back. */
function ChoosePart({ part, end }: { part: PartOfEnd; end: "source" | "destination" }): JSX.Element {
  const label = end === "source" ? "Select a part: drag on the grid" : "Move the part: drag on the grid";
  return (
    <span class="iv-lin-part" role="group" aria-label="Part">
      {part.words !== "" && (
        <button
          type="button"
          class="iv-lin-button iv-lin-wide-button"
          title={`Moves ${part.words}. Move everything instead`}
          data-testid="linearization-everything"
          onClick={part.everything}
        >
          All
        </button>
      )}
      <button
        type="button"
        class="iv-lin-button"
        aria-label={label}
        title={label}
        aria-pressed={part.choosing}
        data-testid="linearization-part"
        onClick={() => part.turn(!part.choosing)}
      >
        <Icon name="part" />
      </button>
    </span>
  );
}

/** Pins the layout that is shown, in the place of one that was pinned before. */
function PinLayout({ pin }: { pin: PinOfCard }): JSX.Element {
  const title =
    pin.words === "" ? "Keep this layout in sight, to compare later ones with it" : "Pin this layout instead of the other one";
  return (
    <button
      type="button"
      class="iv-lin-button iv-lin-pin"
      aria-label="Pin this layout"
      title={pin.isShown ? "Let the pinned layout go" : title}
      aria-pressed={pin.isShown}
      data-testid="pin-layout"
      onClick={pin.isShown ? pin.letGo : pin.pin}
    >
      <Icon name="pin" />
    </button>
  );
}

function LetGo({ pin }: { pin: PinOfCard }): JSX.Element {
  return <Button label="Let the pinned layout go" icon="remove" iconOnly testid="unpin-layout" onClick={pin.letGo} />;
}

function Tool({ label, icon, onClick }: { label: string; icon: IconName; onClick: () => void }): JSX.Element {
  return (
    <button type="button" class="iv-lin-button" aria-label={label} title={label} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

/** Colours and font of the root element, read again when the theme changes. */
function useInk(root: RefObject<HTMLElement | null>, dark: boolean, width: number): Ink | null {
  const [ink, setInk] = useState<Ink | null>(null);
  useLayoutEffect(() => {
    const look = (): void => {
      const read = root.current === null ? null : inkOf(root.current, dark);
      setInk((before) => (JSON.stringify(before) === JSON.stringify(read) ? before : read));
    };
    look();
    // JupyterLab loads the style sheet of a theme after it has named the theme.
    const timer = setTimeout(look, 400);
    return () => clearTimeout(timer);
  }, [dark, width]);
  return ink;
}
