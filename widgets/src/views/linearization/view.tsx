// One layout as pictures, linked: the array by index, coloured by address; memory by address, coloured by what lies there; or both,
// with lines. It takes values, not the kernel. `LinearizationView` has a toolbar and a tape of its own; `LayoutCard` is the pictures
// alone, for cards that share a toolbar and a tape.
//
// What is hovered and selected is the session's (`useHover`, `useSelection`): all views of a page mark it.

import type { JSX, RefObject } from "preact";
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { useDark, useSize } from "#lib/hooks.ts";
import type { CellValues } from "#model/array-values.ts";
import { type ByName, byName } from "#model/by-name.ts";
import { entryFrom, shownFrom } from "#model/entries.ts";
import { type ChunkNumbers, chunkOf } from "#model/layouts/chunks.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import { type PictureWay, usePictureWay } from "#model/picture-way.ts";
import { useHover, useSelection } from "#model/selection.ts";
import type { Named, ShownColour } from "#model/types.ts";
import { formatBytes, formatCount } from "#model/units.ts";
import { SavePicture } from "#views/controls/save-picture.tsx";
import type { Stretches } from "#views/linearization/drawing/chunk-marks.ts";
import { type Ink, inkOf } from "#views/linearization/drawing/ink.ts";
import { type LayoutPicture, type Looks, useLayoutPicture } from "#views/linearization/drawing/picture.ts";
import type { IndexBox } from "#views/linearization/geometry/index-box.ts";
import { elementAtOrAfter } from "#views/linearization/geometry/order.ts";
import type { SeenPart } from "#views/linearization/geometry/scene.ts";
import { type MemoryMap, memoryMap, type Part } from "#views/memory/memory-map.ts";
import { useOwnColours } from "#views/memory/own-colours.ts";
import { type Paint, pictureAxes } from "#views/memory/paint.ts";
import { Slices } from "./controls.tsx";
import { Digits } from "./digits.tsx";
import { Facts } from "./facts.tsx";
import { Grid, type GridProps } from "./grid.tsx";
import { Legend } from "./legend.tsx";
import { Lens, type Zoomer } from "./lens.ts";
import { Links } from "./links.tsx";
import { Memory, type Places } from "./memory.tsx";
import type { ViewOptions } from "./options.ts";
import { ofEntries, usePaint, useTapePaint } from "./paints.ts";
import { Tape } from "./tape.tsx";
import { Toolbar } from "./toolbar.tsx";

export interface LinearizationProps {
  /** The layout on its spaces. */
  linear: Linearization;
  /** The layout on the other card, or at the other end; null where there is none. */
  other: Linearization | null;
  /** Both ends of the transfer: what they exchange decides which two dimensions are drawn. */
  ends: readonly [Linearization, Linearization] | null;
  side: "source" | "destination";
  palette: Named<ShownColour>;
  /** How the path numbers its chunks, or null. */
  chunks: ChunkNumbers | null;
  /** One block of the path, and the layouts of all stops of the path; null where there is no path. */
  block: { readonly extents: ByName<number>; readonly path: readonly Linearization[] } | null;
  /** What the entries hold; null where that is not known. */
  values: CellValues | null;
  options: ViewOptions;
  onOptions: (change: Partial<ViewOptions>) => void;
  /** What grids show together, and what buttons do with all of them. */
  lens: Lens;
  title: string;
  /** The NumPy array with the same bytes; "" where it is not known. */
  numpy: string;
  /** What moves of the array, and what chooses it; a view without it shows everything. */
  part?: PartOfEnd | null;
  /** The layout that is pinned beside this one, and what lets it go. */
  pin?: PinOfCard | null;
  /** Further layouts that are drawn beside this one: all are wrapped alike. */
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
  /** Null where a person has not pinned it. */
  readonly letGo: (() => void) | null;
}

/** The part of an array that moves, at one end. */
export interface PartOfEnd {
  readonly box: IndexBox | null;
  readonly choose: (first: readonly number[], last: readonly number[]) => void;
}

const ALL: SeenPart = { ranges: [], stretch: 1, named: false, missing: 0 };

/** Steps of the order line that stay visible behind the entry while it is played. */
const TRAIL = 8;

/** The number of cells along a side of the whole memory, as in the journey, and the most entries of a block: more than there. */
const SIDE = 96;
const LIMIT = 4096;

/** A view with a toolbar and a tape of its own: alone, and on pages. */
export function LinearizationView(props: LinearizationProps): JSX.Element {
  const { linear, options, onOptions: change } = props;
  const root = useRef<HTMLDivElement>(null);
  const ink = useInk(root);
  const way = usePictureWay();
  const twin = twinOf(props);
  return (
    <div class="iv-lin-alone" ref={root}>
      <Toolbar
        {...{ linear, options, change }}
        ends={{ [props.side]: linear }}
        dims={shownDims(linear, props.ends, options)}
        chunks={props.chunks}
        hasBlock={props.block !== null}
        hasValues={props.values !== null}
        hasTwin={twin !== null}
        lens={props.lens}
      >
        <SavePicture name={`${props.title} ${linear.digits.map(({ text }) => text).join(" ")}`} of={() => root.current} />
      </Toolbar>
      <LayoutCard {...props} />
      <TapeOf {...props} ink={ink} way={way} />
    </div>
  );
}

function TapeOf(props: LinearizationProps & { ink: Ink | null; way: PictureWay }): JSX.Element {
  const { linear } = props;
  const { looks, marks, onPick } = useMarks(props);
  const now = useLayoutPicture(linear, { ...looks, seen: ALL }) as LayoutPicture;
  const paint = useTapePaint(props, props.way);
  return (
    <Tape
      {...{ linear, colours: now.colours, paint, marked: now.marked, ink: props.ink, ...marks }}
      label={`Memory of ${described(props.title, linear)}: ${formatBytes(linear.nbytes)} as a strip`}
      strip="alone"
      onSelect={onPick}
    />
  );
}

/** What is hovered and selected in a layout, and what the pictures of it have in common. */
export function useMarks(
  props: Pick<LinearizationProps, "linear" | "other" | "ends" | "palette" | "chunks" | "options" | "bytesAt">,
) {
  const { linear, chunks, options, palette } = props;
  const dark = useDark();
  const twin = twinOf(props);
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
  const dims = shownDims(linear, props.ends, options);
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
  const looks: Omit<Looks, "seen"> = {
    ...{ options, palette, chunks, dark, twin, dims, fixed, bytesAt },
    entry: hovered ?? selected,
    chosen: selection.chunk,
  };
  return { looks, marks: { hovered, selected, onHover }, onSelect, onPick, markChunk, letGo: () => select({ chunk: null }) };
}

/** The pictures of a layout, what is known of the entry that is pointed at, what the colours say, and the layout in numbers. */
export function LayoutCard(props: LinearizationProps): JSX.Element {
  const { linear, palette, chunks, values, options, onOptions, part = null, pin = null } = props;
  const root = useRef<HTMLElement>(null);
  const main = useRef<HTMLDivElement>(null);
  const room = useSize(main);
  const ink = useInk(root);
  const way = usePictureWay();
  const unused = useRef<Zoomer>(null);
  const zoomer = useRef<Zoomer>(null);
  useLayoutEffect(() => props.lens.add(zoomer), [props.lens]);

  const twin = twinOf(props);
  const pinned = pin?.linear != null && alike(linear, pin.linear) ? pin.linear : null;
  const all = useMemo(
    () => [twin, pinned, ...(props.beside ?? [])].filter((each): each is Linearization => each !== null && alike(linear, each)),
    [linear, twin, pinned, props.beside],
  );
  const { looks, marks, onSelect, onPick, markChunk, letGo } = useMarks(props);
  const { dims, fixed, dark, entry } = looks;
  const slice = (dim: string, to: number): void => {
    const { selected } = marks;
    if (selected === null) onOptions({ fixed: new Map(options.fixed).set(dim, to) });
    else onSelect({ ...selected, index: selected.index.map((at, place) => (linear.dims[place]?.name === dim ? to : at)) });
  };
  const [seen, setSeen] = useState<SeenPart>(ALL);
  const dimColour = useCallback(
    (dim: string): string => byName(palette).get(dim)?.[dark ? "dark" : "light"] ?? "currentColor",
    [palette, dark],
  );
  const now = useLayoutPicture(linear, { ...looks, seen }) as LayoutPicture;
  const before = useLayoutPicture(pinned, { ...looks, seen });
  const elsewhere =
    entry !== null &&
    way.way === "index" &&
    linear.dims.some(({ name }, dim) => fixed.has(name) && fixed.get(name) !== entry.index[dim]);
  const hasRuns = now.runs !== null || (before !== null && before.runs !== null);
  const [alone] = useState(() => new Lens());
  const lens = options.linked && twin !== null ? props.lens : alone;
  const label = described(props.title, linear);
  const inBlock = (options.extent ?? way.extent) === "block" && props.block !== null;
  const memory = useMemo<Part>(
    () =>
      inBlock && props.block !== null
        ? { kind: "block", block: props.block.extents, path: props.block.path, limit: LIMIT }
        : { kind: "whole", side: SIDE },
    [inBlock, props.block],
  );
  const wrapping = useMemo(() => (way.way === "index" ? null : memoryMap(linear, memory)), [way.way, linear, memory]);
  const own = useOwnColours(linear);
  const paint = usePaint(props, own, way, now);
  const gridPaint = useMemo(
    () => (way.way === "both" && options.colour === "offset" ? ofEntries(linear, memory, paint) : null),
    [way.way, options.colour, linear, memory, paint],
  );
  const extents = inBlock ? (props.block?.extents ?? null) : null;
  const sizeOf = (name: string | undefined): number => linear.dims.find((dim) => dim.name === name)?.size ?? 1;
  // A block is a scale model: its sides say nothing.
  const aspect = inBlock ? 1 : dims.length < 2 ? 1.5 : Math.max(1, Math.min(2, sizeOf(dims[0]) / sizeOf(dims[1])));
  const onChunk = chunks !== null && chunks.count > 1 ? markChunk : null;
  const grid = (of: LayoutPicture, label: string): Omit<GridProps, "onSeen" | "zoomer" | "places"> => ({
    ...{ dims, fixed, options, values, dimColour, chunks, lens, onSelect, onPick, onChunk, label, ink, ...marks },
    linear: of.linear,
    others: all,
    colours: of.inView,
    paint: gridPaint,
    block: extents,
    runs: of.runs,
    marked: of.marked,
    warp: of.warp?.entries ?? null,
    trail: options.playing ? TRAIL : 0,
    end: props.side,
    box: part?.box ?? null,
    choosing: !options.choosing || part === null ? null : props.side === "source" ? "select" : "move",
    onBox: (first, last) => part?.choose(first, last),
  });
  const pictures = (of: LayoutPicture, label: string, pinned: boolean): PicturesProps => ({
    grid: {
      ...grid(of, label),
      ...(pinned ? { testid: "pinned-grid" } : {}),
      onSeen: pinned ? () => undefined : setSeen,
      zoomer: pinned ? unused : zoomer,
    },
    ...{ way: way.way, part: memory, paint, aspect, ink },
    ...(pinned ? { testid: "pinned-memory" } : {}),
  });
  // Beside the picture stands what it says, where there is room for both.
  const beside = way.way !== "both" && before === null && room.width > 330;
  const wide = beside ? Math.round(Math.min(room.width - 150, room.height * aspect + (way.way === "index" ? 50 : 0))) : 0;
  return (
    <section
      ref={root}
      class="iv-lin"
      aria-label={props.title}
      data-testid="linearization"
      data-way={way.way}
      data-extent={inBlock ? "block" : "whole"}
    >
      {way.way !== "address" && <Slices linear={linear} dims={dims} at={fixed} colourOf={dimColour} set={slice} />}
      {pin !== null && pin.problem !== "" && (
        <p class="iv-faint" role="status" data-testid="pinned-layout-unfit">
          {pin.words} is pinned, but no layout of this array: {pin.problem} <LetGo pin={pin} />
        </p>
      )}
      <div
        class="iv-lin-main"
        ref={main}
        data-beside={beside}
        style={beside ? { gridTemplateColumns: `${Math.max(80, wide)}px minmax(0, 1fr)` } : {}}
      >
        <div class="iv-lin-halves" data-split={before !== null}>
          {before !== null && pin !== null && (
            <div class="iv-lin-half" data-testid="pinned-layout" key="pinned">
              <p class="iv-lin-half-head">
                Pinned <code title={pin.words}>{String(before.linear)}</code> <LetGo pin={pin} />
              </p>
              <Pictures {...pictures(before, `Pinned layout, ${described(pin.words, before.linear)}`, true)} />
            </div>
          )}
          <div class="iv-lin-half" key="now">
            {before !== null && (
              <p class="iv-lin-half-head">
                Now <code>{String(linear)}</code>
              </p>
            )}
            <Pictures {...pictures(now, label, false)} />
          </div>
        </div>
        <div class="iv-lin-aside">
          <Legend
            {...{ now, chunks, seen, letGo }}
            pinned={before}
            way={way}
            own={own !== null}
            entries={inBlock ? (extents ?? null) : null}
            runs={options.runs && hasRuns && way.way !== "address"}
            axes={wrapping}
            colourOf={dimColour}
          />
          <Facts now={now} pinned={before} entry={entry} selected={marks.selected} elsewhere={elsewhere} />
        </div>
      </div>
      <Digits linear={linear} palette={palette} numpy={props.numpy} />
    </section>
  );
}

interface PicturesProps {
  grid: Omit<GridProps, "places">;
  way: PictureWay["way"];
  part: Part;
  paint: (map: MemoryMap) => Paint;
  aspect: number;
  ink: Ink | null;
  testid?: string;
}

/** The array by index, memory by address, or both with lines between the places of an entry. */
function Pictures({ grid, way, part, paint, aspect, ink, testid }: PicturesProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [array, memory]: [Places, Places] = [useRef(null), useRef(null)];
  const [drawn, again] = useState(0);
  const { linear, values, dims, hovered, selected, marked, label, onHover, onSelect, onPick, onChunk, options } = grid;
  return (
    <div class="iv-lin-pictures" data-way={way} ref={box}>
      {way !== "address" && <Grid {...grid} places={array} />}
      {way !== "index" && (
        <Memory
          {...{
            linear,
            part,
            paint,
            aspect,
            values,
            dims,
            ink,
            hovered,
            selected,
            marked,
            label,
            onHover,
            onSelect,
            onPick,
            onChunk,
          }}
          numbers={options.numbers}
          places={memory}
          onDrawn={() => again((count) => count + 1)}
          {...(testid === undefined ? {} : { testid })}
        />
      )}
      {way === "both" && <Links {...{ box, array, memory, linear, part, hovered, selected, ink, drawn }} seen={grid.fixed} />}
    </div>
  );
}

/** The two dimensions that are drawn: right and down, as in the picture of memory. They follow the array, never a layout. */
export function shownDims(
  linear: Linearization,
  ends: readonly [Linearization, Linearization] | null,
  options: Pick<ViewOptions, "across" | "down">,
): string[] {
  const names = linear.dims.map(({ name }) => name);
  const axes = pictureAxes(
    linear.dims.map(({ size }) => size),
    ends,
  );
  const [right, below] = [names[axes.across], names[axes.down]];
  const across = [options.across, right === options.down ? below : right, ...names].find(
    (name) => name != null && names.includes(name),
  );
  if (across == null) return [];
  if (below === undefined && options.down === null) return [across];
  const down = [options.down, below, right, ...names].find((name) => name != null && name !== across && names.includes(name));
  return down == null ? [across] : [across, down];
}

function twinOf({ linear, other }: Pick<LinearizationProps, "linear" | "other">): Linearization | null {
  return other !== null && alike(linear, other) ? other : null;
}

export function alike(a: Linearization, b: Linearization): boolean {
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

function LetGo({ pin }: { pin: PinOfCard }): JSX.Element | null {
  if (pin.letGo === null) return null;
  return <Button label="Let the pinned layout go" icon="remove" iconOnly testid="unpin-layout" onClick={pin.letGo} />;
}

/** Colours and font of an element, read again when the theme or the size changes. */
export function useInk(root: RefObject<HTMLElement | null>): Ink | null {
  const dark = useDark();
  const { width } = useSize(root);
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
