// The grid: two canvases, one for the cells and one for the marks, with zoom, drag, hover and keyboard.

import type { JSX, RefObject, TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { fitCanvas, useFrame, useRatio, useSize } from "#lib/hooks.ts";
import type { CellValues } from "#model/array-values.ts";
import type { ByName } from "#model/by-name.ts";
import type { ChunkNumbers } from "#model/layouts/chunks.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import type { RequestBox } from "#model/layouts/requests.ts";
import { drawAxes, leftRoom, topRoom } from "#views/linearization/drawing/axes-canvas.ts";
import { drawBox } from "#views/linearization/drawing/box.ts";
import { gridOverlay, type Marked } from "#views/linearization/drawing/chunk-marks.ts";
import { type Colouring, separables } from "#views/linearization/drawing/colouring.ts";
import { drawGrid, type Scene, type Store } from "#views/linearization/drawing/grid-canvas.ts";
import type { Ink } from "#views/linearization/drawing/ink.ts";
import { drawMarks } from "#views/linearization/drawing/marks.ts";
import { boxed, cellNear, dragged, type IndexBox, panelAt } from "#views/linearization/geometry/index-box.ts";
import { cellOf, cellsOf, commonBlock, gridModel } from "#views/linearization/geometry/model.ts";
import { type Geometry, hit, panelsIn, placeOf, roomOf, type SeenPart, seenIn } from "#views/linearization/geometry/scene.ts";
import {
  fitted,
  followed,
  panned,
  type Room,
  resized,
  showing,
  type Viewport,
  zoomed,
} from "#views/linearization/geometry/viewport.ts";
import { moved } from "./keyboard.ts";
import { axesOf, type Lens, type Seen, type Zoomer } from "./lens.ts";
import type { Places } from "./memory.tsx";
import type { ViewOptions } from "./options.ts";

export interface GridProps {
  linear: Linearization;
  /** Names the grid for tests, where a card has two. */
  testid?: string;
  /** The layouts that are drawn beside this one: all are wrapped alike. */
  others: readonly Linearization[];
  dims: readonly string[];
  fixed: ByName<number>;
  options: ViewOptions;
  colours: Colouring;
  /** The colour of each entry in the place of these; null where there is none. */
  paint: ((index: readonly number[], field: number) => number) | null;
  /** The block that the grid begins with, by dimension; null for all of the array. */
  block: ByName<number> | null;
  values: CellValues | null;
  dimColour: (dim: string) => string;
  ink: Ink | null;
  runs: RequestBox | null;
  chunks: ChunkNumbers | null;
  hovered: Entry | null;
  selected: Entry | null;
  /** The chunk or the bytes that are marked. */
  marked: Marked | null;
  /** The entries that a warp loads; null where that is not shown. */
  warp: readonly Entry[] | null;
  trail: number;
  /** What grids show together. */
  lens: Lens;
  label: string;
  /** What moves of the array, at this end; null where that is not known. */
  box: IndexBox | null;
  /** At the source a box is chosen, at the destination it is moved. */
  end: "source" | "destination";
  /** Neither words nor keys say in which order entries lie. */
  quiet?: boolean;
  /** What dragging does: it chooses entries, moves the box, or (null) moves the picture. */
  choosing: "select" | "move" | null;
  onBox: (first: readonly number[], last: readonly number[]) => void;
  onHover: (entry: Entry | null) => void;
  onSelect: (entry: Entry) => void;
  /** An entry was clicked. */
  onPick: (entry: Entry) => void;
  /** Marks the chunk of an entry, or lets it go; null where there are no chunks. */
  onChunk: ((entry: Entry | null) => void) | null;
  /** What is seen of the array has changed. */
  onSeen: (seen: SeenPart) => void;
  zoomer: RefObject<Zoomer | null>;
  places: Places;
}

/** Pixels that the pointer may move in a click. */
const SLOP = 4;

export function Grid(props: GridProps): JSX.Element {
  const { linear, options, ink, colours } = props;
  const frame = useRef<HTMLDivElement>(null);
  const cells = useRef<HTMLCanvasElement>(null);
  const marks = useRef<HTMLCanvasElement>(null);
  const store = useRef<Store>({ image: null });
  const hasLanes = useRef(false);
  const size = useSize(frame);
  const ratio = useRatio();
  const [draft, setDraft] = useState<IndexBox | null>(null);
  const box = draft ?? props.box;
  const corner = useRef<{ from: Entry; at: Entry } | null>(null);
  const [view, setView] = useState<{ viewport: Viewport; room: Room } | null>(null);

  const fixedKey = JSON.stringify([...props.fixed]);
  const dimsKey = props.dims.join("\n");
  const blockKey = JSON.stringify([...(props.block ?? [])]);
  useLayoutEffect(() => setView(null), [blockKey]);
  const geometry = useMemo((): Geometry | null => {
    const context = cells.current?.getContext("2d");
    if (size.width < 20 || size.height < 20 || ink === null || !context) return null;
    const top = topRoom(ink);
    const outer = { width: size.width, height: size.height - top };
    const block = commonBlock([linear, ...props.others], props.dims[0] ?? "");
    const draft = gridModel(linear, props.dims, props.fixed, outer, block);
    const left = leftRoom(context, { model: draft }, ink);
    const model = gridModel(linear, props.dims, props.fixed, { ...outer, width: outer.width - left }, block);
    const own = panelsIn(linear, model, options.fields, size.width - left, size.height, top);
    const panels = own.map((panel) => ({ ...panel, x: panel.x + left }));
    const [first] = panels;
    if (first === undefined) return null;
    const room = { ...roomOf(model, first, ratio), first: cellsOf(model, props.block) };
    return { model, panels, room, view: fitted(room) };
  }, [linear, props.others, dimsKey, fixedKey, options.fields, blockKey, size, ratio, ink]);
  const current = useMemo((): Geometry | null => {
    if (geometry === null) return null;
    return { ...geometry, view: resized(view?.viewport ?? null, view?.room ?? null, geometry.room) };
  }, [geometry, view]);
  const live = useRef<Geometry | null>(null);
  live.current = current;
  props.places.current = (entry) => (current === null ? null : placeOf(current, entry));

  const change = (make: (viewport: Viewport, room: Room) => Viewport): void => {
    const shown = live.current;
    if (shown === null) return;
    const viewport = make(shown.view, shown.room);
    if (viewport === shown.view) return;
    live.current = { ...shown, view: viewport };
    setView({ viewport, room: shown.room });
    props.lens.show(follow, { axes: axesOf(shown.model), viewport, room: shown.room });
  };
  // What the other end shows is shown here as well, as long as both draw the same dimensions.
  const [follow] = useState(() => (seen: Seen): void => {
    const shown = live.current;
    if (shown === null || axesOf(shown.model) !== seen.axes) return;
    setView({ viewport: followed(seen.viewport, seen.room, shown.room), room: shown.room });
  });
  const axes = geometry === null ? "" : axesOf(geometry.model);
  useEffect(() => props.lens.join(follow), [props.lens, axes]);
  props.zoomer.current = {
    zoom: (factor) => change((viewport, room) => zoomed(viewport, room, factor, room.width / 2, room.height / 2)),
    fit: () => change((_, room) => fitted(room)),
  };

  const seen = current === null ? "" : JSON.stringify(seenIn(current));
  useLayoutEffect(() => {
    if (seen !== "") props.onSeen(JSON.parse(seen) as SeenPart);
  }, [seen]);

  const numbers = useMemo(() => (geometry === null ? [] : separables(geometry.model, colours)), [geometry, colours]);
  useFrame(() => {
    const canvas = cells.current;
    const context = canvas === null ? null : fitCanvas(canvas, size, ratio);
    if (!context || current === null || ink === null) return;
    const scene: Scene = {
      ...current,
      colours,
      paint: props.paint,
      numbers,
      ink,
      shown: options.numbers === "value" && props.values === null ? "offset" : options.numbers,
      values: props.values,
      order: options.order,
      runs: options.runs ? props.runs : null,
      chunks: options.chunks ? props.chunks : null,
      ...size,
    };
    hasLanes.current = drawGrid(context, scene, store.current);
    drawAxes(context, current, ink, props.dimColour, current.panels[0]?.x ?? 0);
    if (canvas !== null) canvas.dataset.drawn = props.label; // what a test or a benchmark waits for
  }, [current, colours, numbers, ink, size, ratio, options, props.runs, props.chunks, props.values, props.paint]);
  const chunk = useMemo(
    () => (current === null || ink === null || props.marked === null ? null : gridOverlay(current, props.marked, ink, size)),
    [current, ink, props.marked, size],
  );
  useFrame(() => {
    const canvas = marks.current;
    const context = canvas === null ? null : fitCanvas(canvas, size, ratio);
    if (!context || current === null || ink === null) return;
    const runs = options.runs ? props.runs : null;
    const room = { width: size.width, height: size.height };
    drawMarks(
      context,
      current,
      {
        hovered: props.hovered,
        selected: props.selected,
        runs,
        trail: props.trail,
        lanes: hasLanes.current,
        warp: props.warp,
        chunk,
      },
      ink,
    );
    if (box !== null) drawBox(context, current, box, room, ink);
    if (canvas !== null) canvas.dataset.drawn = props.hovered === null ? "" : props.hovered.index.join(",");
  }, [current, props.hovered, props.selected, props.trail, props.warp, chunk, ink, size, ratio, options, props.runs, box]);

  // The selected entry is moved into what is seen, unless the pointer has chosen it: then it is seen already.
  useEffect(() => {
    const shown = live.current;
    const cell = shown === null || props.selected === null ? null : cellOf(shown.model, props.selected.index);
    if (cell !== null) change((viewport, room) => showing(viewport, room, cell.column, cell.row));
  }, [props.selected]);

  usePointer(frame, live, change, { ...props, setDraft });
  return (
    <div
      ref={frame}
      class={`iv-lin-grid${props.choosing === null ? "" : ` iv-lin-to-${props.choosing}`}`}
      role="application"
      tabIndex={0}
      aria-label={`${props.label}. Arrow keys move the selected entry, Page Up and Page Down change the third dimension${props.quiet ? "" : ORDER_KEYS[props.end]}.`}
      data-testid={props.testid ?? "linearization-grid"}
      onKeyDown={(event) => key(event, props, change, corner)}
    >
      <canvas ref={cells} role="img" aria-label={props.label} />
      <canvas ref={marks} aria-hidden="true" />
    </div>
  );
}

const ORDER_KEYS: Readonly<Record<GridProps["end"], string>> = {
  source: ", N and P follow memory, C marks its chunk, Shift with arrow keys chooses what moves",
  destination: ", N and P follow memory, C marks its chunk, Shift with arrow keys moves the part",
};

/** The corner where a box was begun by keys, and the one that the keys move. */
type Corner = RefObject<{ from: Entry; at: Entry } | null>;

function key(
  event: TargetedKeyboardEvent<HTMLDivElement>,
  props: GridProps,
  change: (make: (viewport: Viewport, room: Room) => Viewport) => void,
  corner: Corner,
): void {
  if (event.altKey || event.metaKey || event.ctrlKey) return;
  if (event.shiftKey && /^(Arrow|Home|End|Page)/.test(event.key)) {
    if (choose(event.key, props, corner)) {
      event.preventDefault();
      event.stopPropagation();
    }
    return;
  }
  const middle = (factor: number) => change((viewport, room) => zoomed(viewport, room, factor, room.width / 2, room.height / 2));
  if (event.key === "+" || event.key === "=") middle(1.5);
  else if (event.key === "-") middle(1 / 1.5);
  else if (event.key === "0") change((_, room) => fitted(room));
  else if (event.key === "c" && props.onChunk !== null) props.onChunk(props.selected);
  else {
    const follows = event.key === "n" || event.key === "p";
    const entry = follows && props.quiet ? null : moved(props.linear, props.dims, props.selected, event.key);
    if (entry === null) return;
    props.onSelect(entry);
  }
  event.preventDefault();
  event.stopPropagation();
}

/** Chooses or moves the box by a key; whether it was one that does. */
function choose(name: string, props: GridProps, corner: Corner): boolean {
  const { linear, box, dims } = props;
  if (box === null) return false;
  if (props.end === "destination") {
    const from: Entry = { index: [...box.first], field: 0 };
    const to = moved(linear, dims, from, name);
    if (to === null) return false;
    const next = dragged(box, linear, from.index, to.index);
    props.onBox(next.first, next.last);
    return true;
  }
  const begin = props.selected ?? { index: linear.dims.map(() => 0), field: 0 };
  // Where another entry was selected since, a box begins there.
  const known = corner.current?.from.index.join() === begin.index.join() ? corner.current : null;
  const from = known?.from ?? begin;
  const at = moved(linear, dims, known?.at ?? from, name);
  if (at === null) return false;
  corner.current = { from, at };
  const next = boxed(box, linear, dims, from.index, at.index);
  props.onBox(next.first, next.last);
  return true;
}

/** Hover, click, drag, wheel and pinch. Listeners are set by hand: a wheel has to be able to keep the page where it is. */
function usePointer(
  frame: RefObject<HTMLDivElement | null>,
  live: RefObject<Geometry | null>,
  change: (make: (viewport: Viewport, room: Room) => Viewport) => void,
  props: GridProps & { setDraft: (box: IndexBox | null) => void },
): void {
  const newest = useRef({ change, props });
  newest.current = { change, props };
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const down = new Map<number, { x: number; y: number }>();
    let travelled = 0;
    let request = 0;
    // A box that is being drawn or moved; it stays with the panel in which it was begun.
    let begun: { index: readonly number[]; panel: { x: number; y: number }; box: IndexBox; now: IndexBox } | null = null;
    const at = (event: PointerEvent | WheelEvent): { x: number; y: number } => {
      const box = element.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const inPanel = ({ x, y }: { x: number; y: number }): { x: number; y: number } => {
      const panels = live.current?.panels ?? [];
      const panel = panels.find((each) => x < each.x + each.width && y < each.y + each.height) ?? panels[0];
      return { x: x - (panel?.x ?? 0), y: y - (panel?.y ?? 0) };
    };
    const look = (point: { x: number; y: number }): void => {
      cancelAnimationFrame(request);
      request = requestAnimationFrame(() => {
        const shown = live.current;
        newest.current.props.onHover(shown === null ? null : hit(shown, point.x, point.y));
      });
    };
    const press = (event: PointerEvent): void => {
      if (event.button !== 0) return;
      down.set(event.pointerId, at(event));
      travelled = down.size > 1 ? Infinity : 0;
      const { choosing, box } = newest.current.props;
      const shown = live.current;
      const panel = choosing === null || shown === null || down.size > 1 ? null : panelAt(shown, at(event));
      begun =
        panel === null || shown === null || box === null
          ? null
          : { index: cellNear(shown, panel, at(event)), panel, box, now: box };
    };
    const move = (event: PointerEvent): void => {
      const point = at(event);
      const before = down.get(event.pointerId);
      if (before === undefined) return look(point);
      if (down.size === 2) {
        const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
        if (other !== undefined) {
          const factor =
            Math.hypot(point.x - other.x, point.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
          const centre = inPanel({ x: (point.x + other.x) / 2, y: (point.y + other.y) / 2 });
          newest.current.change((viewport, room) => zoomed(viewport, room, factor, centre.x, centre.y));
        }
        down.set(event.pointerId, point);
        return;
      }
      if (travelled < SLOP) {
        travelled = Math.max(travelled, Math.hypot(point.x - before.x, point.y - before.y));
        if (travelled < SLOP) return;
        element.setPointerCapture(event.pointerId);
        element.classList.add("iv-lin-dragged");
      }
      if (begun !== null) return draw(begun, point);
      newest.current.change((viewport, room) => panned(viewport, room, point.x - before.x, point.y - before.y));
      down.set(event.pointerId, point);
    };
    const draw = (from: NonNullable<typeof begun>, point: { x: number; y: number }): void => {
      const shown = live.current;
      if (shown === null) return;
      const index = cellNear(shown, from.panel, point);
      const { choosing, dims, linear, setDraft } = newest.current.props;
      from.now =
        choosing === "move" ? dragged(from.box, linear, from.index, index) : boxed(from.box, linear, dims, from.index, index);
      setDraft(from.now);
    };
    const release = (event: PointerEvent): void => {
      const known = down.delete(event.pointerId);
      element.classList.remove("iv-lin-dragged");
      const chosen = begun;
      begun = null;
      if (chosen !== null && travelled >= SLOP) {
        if (event.type === "pointerup") newest.current.props.onBox(chosen.now.first, chosen.now.last);
        newest.current.props.setDraft(null);
        return;
      }
      const shown = live.current;
      if (!known || event.type !== "pointerup" || travelled >= SLOP || shown === null) return;
      const point = at(event);
      const entry = hit(shown, point.x, point.y);
      if (entry !== null) newest.current.props.onPick(entry);
    };
    const leave = (): void => {
      cancelAnimationFrame(request);
      if (down.size === 0) newest.current.props.onHover(null);
    };
    const wheel = (event: WheelEvent): void => {
      const meant = event.ctrlKey || event.metaKey || element.contains(document.activeElement);
      const shown = live.current;
      if (!meant || shown === null) return;
      const whole = fitted(shown.room);
      // What cannot become smaller lets the page scroll.
      if (
        event.deltaY > 0 &&
        !event.ctrlKey &&
        !event.metaKey &&
        shown.view.width <= whole.width &&
        shown.view.height <= whole.height
      )
        return;
      event.preventDefault();
      const centre = inPanel(at(event));
      const lines = event.deltaMode === 1 ? 30 : 1;
      newest.current.change((viewport, room) =>
        zoomed(viewport, room, Math.exp(-event.deltaY * lines * 0.0022), centre.x, centre.y),
      );
    };
    element.addEventListener("pointerdown", press);
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", release);
    element.addEventListener("pointercancel", release);
    element.addEventListener("pointerleave", leave);
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      cancelAnimationFrame(request);
      newest.current.props.onHover(null);
      element.removeEventListener("pointerdown", press);
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", release);
      element.removeEventListener("pointercancel", release);
      element.removeEventListener("pointerleave", leave);
      element.removeEventListener("wheel", wheel);
    };
  }, []);
}
