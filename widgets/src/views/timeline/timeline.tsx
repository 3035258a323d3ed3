// The timeline: what every channel did when, and what the buffers held. One or several traces, one below the other, on one axis.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { colourReader } from "#lib/board.ts";
import { Button } from "#lib/button.tsx";
import { fitCanvas, useDark, useFrame, useRatio, useSize } from "#lib/hooks.ts";
import { useSelection } from "#model/selection.ts";
import type { Segments } from "#model/trace/segments.ts";
import { activeAt, type TraceData } from "#model/trace/trace-data.ts";
import { selectedTrack, trackColour, tracksOf } from "#model/tracks.ts";
import { formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { AXIS, boxOf, drawAxis, drawMarks, drawRows, gutterOf, MARGIN, type Scene, timeAt } from "./draw.ts";
import { isFine } from "./lane-bars.ts";
import { beginning, firstPeriods, wayOf } from "./places.ts";
import { type Row, rowAt, rowsOf, type Titled } from "./rows.ts";
import { Scrubber } from "./scrubber.tsx";
import { moved, type Span, showing, within, zoomed } from "./span.ts";
import { idleTold, momentTold, nearest, requestTold, ringTold } from "./told.ts";

export interface TimelineProps {
  /** The first one is the one that the selected chunk and the moment are about. */
  traces: readonly Titled[];
  /** Whether the buffers are drawn as well. */
  rings?: boolean;
  /** The critical path of traces, by lane. */
  critical?: ReadonlyMap<TraceData, readonly Segments[]>;
  /** Requests of the first trace that a step is about. */
  marked?: readonly number[];
  /** Changes where the timeline is to show the whole again. */
  wholeAt?: unknown;
  /** Further controls, beside those for zooming. */
  children?: ComponentChildren;
}

interface Pointed {
  row: Row;
  request: number | null;
  time: number;
  x: number;
  y: number;
}

const NONE: ReadonlyMap<TraceData, readonly Segments[]> = new Map();
const NO_REQUESTS: readonly number[] = [];
const HINT =
  "Arrow keys to the sides move, plus and minus zoom, 0 shows the whole. Arrow keys up and down go from channel to channel, comma and full stop from request to request.";

export function Timeline({
  traces,
  rings = true,
  critical = NONE,
  marked = NO_REQUESTS,
  wholeAt,
  children,
}: TimelineProps): JSX.Element {
  const first = traces[0]!.trace;
  const whole = Math.max(...traces.map(({ trace }) => trace.seconds)) || 1;
  const [selection, select] = useSelection();
  const area = useRef<HTMLDivElement>(null);
  const [axis, base, over] = [useRef<HTMLCanvasElement>(null), useRef<HTMLCanvasElement>(null), useRef<HTMLCanvasElement>(null)];
  const { width } = useSize(area);
  const [ratio, dark] = [useRatio(), useDark()];
  const [chosen, setSpan] = useState<Span | null>(null);
  const [pointedAt, setPointed] = useState<Pointed | null>(null);
  const [focusedOn, setFocused] = useState<{ trace: TraceData; row: number; request: number | null } | null>(null);
  const { plan } = useView().snapshot.panes;
  const track = useMemo(() => (plan === null ? null : selectedTrack(tracksOf(plan, null), selection)), [plan, selection]);
  const only = (plan?.paths.length ?? 0) > 1 ? (track?.number ?? null) : null;
  const { rows, height } = useMemo(() => rowsOf(traces, rings, only), [traces, rings, only]);
  // Rows and requests are those of the traces that are shown: a new trace has others.
  const pointed = pointedAt !== null && rows.includes(pointedAt.row) ? pointedAt : null;
  const focused = focusedOn !== null && rows[focusedOn.row]?.trace === focusedOn.trace ? focusedOn : null;
  const gutter = useMemo(() => gutterOf(rows), [rows]);
  const started = useMemo(() => beginning(first, whole, Math.max(300, width - gutter - MARGIN)), [first.id, whole, width > 0]);
  const span = within(chosen ?? started, whole);
  const drag = useRef<{ x: number; span: Span; axis: boolean; moved: boolean } | null>(null);
  const wheel = useRef<(event: WheelEvent) => void>(() => undefined);
  const time = selection.time === null ? null : Math.min(selection.time, whole);
  const resolution = (span.to - span.from) / 2000;
  const drawnTimes = useRef(0);

  useEffect(() => {
    if (wholeAt !== undefined) setSpan({ from: 0, to: whole });
  }, [wholeAt]);

  // A moment that was selected before this was shown, or elsewhere, is brought into sight; zooming is free from then on.
  useEffect(() => {
    if (time !== null && width > 0) setSpan(showing(span, time, whole));
  }, [time === null, width > 0]);

  useEffect(() => {
    if (marked.length > 0 && time !== null) setSpan(showing(span, time, whole)); // a step may be anywhere
  }, [marked]);

  const pens = () => ({ colour: colourReader(area.current!), font: getComputedStyle(area.current!).fontFamily });
  const scene = { rows, span, width, height, gutter };
  const pen = (canvas: HTMLCanvasElement | null, tall: number): CanvasRenderingContext2D | null => {
    const found = canvas === null || width === 0 ? null : fitCanvas(canvas, { width, height: tall }, ratio);
    found?.setTransform(ratio, 0, 0, ratio, 0, 0);
    return found;
  };
  useFrame(() => {
    const found = pen(base.current, height);
    if (found === null) return;
    drawRows(found, scene, critical, pens());
    drawnTimes.current += 1;
    base.current!.dataset.drawn = String(drawnTimes.current);
  }, [rows, span.from, span.to, width, height, ratio, dark, critical]);
  useFrame(() => {
    const [low, high] = [pen(over.current, height), pen(axis.current, AXIS)];
    if (low === null || high === null) return;
    const at = focused === null ? undefined : rows[focused.row];
    const shown =
      pointed?.request != null
        ? { row: pointed.row, request: pointed.request }
        : at !== undefined && focused?.request != null
          ? { row: at, request: focused.request }
          : null;
    drawMarks(low, scene, { time, chunk: selection.chunk, pointed: shown, requests: marked }, pens());
    drawAxis(high, scene, time, pens());
  }, [rows, span.from, span.to, width, height, ratio, dark, time, selection.chunk, pointed, focused, marked]);

  const at = (event: { clientX: number; clientY: number }): { x: number; y: number; time: number } => {
    const box = base.current!.getBoundingClientRect();
    const x = event.clientX - box.left;
    return { x, y: event.clientY - box.top, time: Math.max(0, Math.min(whole, timeAt(x, scene))) };
  };
  const point = (event: PointerEvent): void => {
    const { x, y, time: moment } = at(event);
    const row = rowAt(rows, y);
    if (row === null || row.kind === "title" || x < gutter || x > width - MARGIN) return setPointed(null);
    const request = row.kind === "lane" ? requestAt(row, moment, y, scene) : null;
    setPointed({ row, request, time: moment, x, y: event.clientY - area.current!.getBoundingClientRect().top });
  };
  wheel.current = (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return; // the page scrolls
    event.preventDefault();
    const by = event.deltaY || event.deltaX;
    if (event.shiftKey) setSpan(moved(span, (by / 800) * (span.to - span.from), whole));
    else setSpan(zoomed(span, Math.exp(by / 300), Math.max(span.from, Math.min(span.to, at(event).time)), whole));
  };
  useEffect(() => {
    const element = area.current!;
    const listener = (event: WheelEvent): void => wheel.current(event);
    element.addEventListener("wheel", listener, { passive: false });
    return () => element.removeEventListener("wheel", listener);
  }, []);

  const middle = time !== null && time >= span.from && time <= span.to ? time : (span.from + span.to) / 2;
  const zoom = (factor: number): void => setSpan(zoomed(span, factor, middle, whole));
  const oneChunk = (): void => {
    const chunk = selection.chunk ?? Math.floor((first.hops[0]?.chunks ?? 1) / 2);
    const way = wayOf(first, chunk) ?? wayOf(first, 0);
    if (way === null) return;
    select({ chunk });
    setSpan(way);
  };
  const lanes = rows.flatMap((row, place) => (row.kind === "lane" ? [place] : []));
  const go = (row: number, request: number | null): void => {
    const { trace } = rows[row]!;
    setFocused({ trace, row, request });
    if (request === null) return;
    const number = trace.chunk[request]!;
    const ofPlan = trace.hops[trace.row[request]!]!.transfer === 0;
    select({ time: trace.start[request]!, ...(ofPlan ? { chunk: number } : {}) });
    setSpan(showing(span, trace.start[request]!, whole));
  };
  const pan = (share: number): void => setSpan(moved(span, share * (span.to - span.from), whole));
  const focusedLane = focused === null ? -1 : lanes.indexOf(focused.row);
  const goToLane = (step: number): void => {
    const next = lanes[focusedLane < 0 ? 0 : Math.max(0, Math.min(lanes.length - 1, focusedLane + step))];
    if (next !== undefined) go(next, nearest(rows[next]!.trace, rows[next]!.number, middle));
  };
  const goToRequest = (step: number): void => {
    const row = lanes[Math.max(0, focusedLane)];
    if (row === undefined) return;
    const { trace, number } = rows[row]!;
    const { first: from, count } = trace.lanes[number]!;
    const next = focused?.request == null ? nearest(trace, number, middle) : focused.request + step;
    if (next !== null) go(row, Math.max(from, Math.min(from + count - 1, next)));
  };
  const keys: Record<string, () => void> = {
    ArrowLeft: () => pan(-0.1),
    ArrowRight: () => pan(0.1),
    ArrowUp: () => goToLane(-1),
    ArrowDown: () => goToLane(1),
    "+": () => zoom(1 / 1.6),
    "=": () => zoom(1 / 1.6),
    "-": () => zoom(1.6),
    "0": () => setSpan({ from: 0, to: whole }),
    ",": () => goToRequest(-1),
    ".": () => goToRequest(1),
  };
  const key = (event: KeyboardEvent): void => {
    const act = keys[event.key];
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  };

  const told = useMemo(() => (time === null ? "" : momentTold(first, time)), [first, time]);
  const focusTold =
    focused?.request == null ? "" : requestTold(rows[focused.row]?.trace ?? first, focused.request, resolution).join(". ");
  const isWhole = span.to - span.from >= whole * (1 - 1e-9);
  const isFar = rows.some((row) => row.kind === "lane" && !isFine(row.trace, row.number, span, width - gutter - MARGIN));
  return (
    <div class="iv-timeline" data-testid="timeline" data-from={span.from} data-to={span.to} data-whole={whole} data-far={isFar}>
      <div class="iv-tl-controls">
        <Scrubber whole={whole} span={span} follow={(to) => setSpan(showing(span, to, whole))} told={told} />
        <div class="iv-tl-zoom" role="group" aria-label="Part of the time that is shown">
          <Button label="Whole" testid="timeline-whole" pressed={isWhole} onClick={() => setSpan({ from: 0, to: whole })} />
          <Button label="First periods" testid="timeline-first" onClick={() => setSpan(firstPeriods(first))} />
          <Button label="One chunk" testid="timeline-chunk" onClick={oneChunk} />
          <Button label="Zoom out" icon="minus" iconOnly testid="timeline-out" onClick={() => zoom(1.6)} />
          <Button label="Zoom in" icon="add" iconOnly testid="timeline-in" onClick={() => zoom(1 / 1.6)} />
        </div>
        {children}
      </div>
      <div
        class="iv-tl-area"
        ref={area}
        tabIndex={0}
        role="application"
        aria-label={`Timeline of ${traces.map((each) => each.title).join(" and ")}. ${HINT}`}
        data-testid="timeline-area"
        onKeyDown={key}
        onBlur={() => setFocused(null)}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          const { x, time: moment } = at(event);
          if (x < gutter) return;
          const onAxis = event.clientY - area.current!.getBoundingClientRect().top < AXIS;
          drag.current = { x, span, axis: onAxis, moved: false };
          event.currentTarget.setPointerCapture(event.pointerId);
          if (onAxis) select({ time: moment });
        }}
        onPointerMove={(event) => {
          const dragged = drag.current;
          if (dragged === null) return point(event);
          const { x, time: moment } = at(event);
          if (dragged.axis) return select({ time: moment });
          if (!dragged.moved && Math.abs(x - dragged.x) < 4) return;
          dragged.moved = true;
          setPointed(null);
          const { from, to } = dragged.span;
          setSpan(moved(dragged.span, ((dragged.x - x) / (width - gutter - MARGIN)) * (to - from), whole));
        }}
        onPointerUp={(event) => {
          const dragged = drag.current;
          drag.current = null;
          if (dragged === null || dragged.moved || dragged.axis) return;
          const { y, time: moment } = at(event);
          const row = rowAt(rows, y);
          const request = row?.kind === "lane" ? requestAt(row, moment, y, scene) : null;
          const ofPlan = row !== null && request !== null && row.trace.hops[row.trace.row[request]!]!.transfer === 0;
          select({ time: moment, chunk: ofPlan ? row.trace.chunk[request]! : null });
        }}
        onPointerCancel={() => (drag.current = null)}
        onPointerLeave={() => setPointed(null)}
      >
        <canvas ref={axis} class="iv-tl-axis" style={{ height: `${AXIS}px` }} aria-hidden="true" />
        <div class="iv-tl-rows" style={{ height: `${height}px` }}>
          <canvas ref={base} style={{ height: `${height}px` }} aria-hidden="true" />
          <canvas ref={over} style={{ height: `${height}px` }} aria-hidden="true" />
        </div>
        {pointed !== null && <Tip pointed={pointed} width={width} resolution={resolution} />}
        <p class="iv-hidden" aria-live="polite" data-testid="timeline-told">
          {focusTold}
        </p>
      </div>
      {only !== null && (
        <p class="iv-path-head" data-testid="timeline-track">
          <i class="iv-track-key" style={{ background: `var(${trackColour(only)})` }} /> Path {only} alone.{" "}
          <Button label="All paths" quiet testid="timeline-all-paths" onClick={() => select({ hop: null, stop: null })} />
        </p>
      )}
      <p class="iv-tl-key iv-faint" data-testid="timeline-key">
        {keyText(
          span,
          whole,
          isFar,
          traces.some(({ trace }) => trace.transfers.length > 1),
          rings,
        )}
      </p>
    </div>
  );
}

/** What is drawn, in words. */
function keyText(span: Span, whole: number, far: boolean, several: boolean, rings: boolean): string {
  const length = span.to - span.from;
  const part =
    length >= whole * (1 - 1e-9) ? `All ${formatSeconds(whole)}.` : `${formatSeconds(length)} of ${formatSeconds(whole)}.`;
  const bars = far
    ? "A bar is as high as its channel is busy; zoom in to see every request."
    : "A bar is a request with the number of its chunk.";
  const colours = several ? " Each transfer has its colour; hatched: it waits while the channel serves another." : "";
  const below = far
    ? " Below: how full the buffers are."
    : " Below: the slots of the buffers, pale while they are filled or emptied.";
  return `${part} ${bars}${colours}${rings ? below : ""}`;
}

/** The request of a lane at a place on the screen. */
function requestAt(row: Row, time: number, y: number, scene: Scene): number | null {
  const box = boxOf(row, scene);
  const active = activeAt(row.trace, row.number, time);
  if (active.length > 0)
    return active.length === 1
      ? active[0]!
      : (active[Math.min(active.length - 1, Math.floor(((y - row.y) / row.height) * active.length))] ?? null);
  const near = nearest(row.trace, row.number, time);
  if (near === null) return null;
  // Requests that are narrower than a few pixels are hit from beside them as well.
  const gap = Math.max(row.trace.start[near]! - time, time - row.trace.end[near]!);
  return (gap / (scene.span.to - scene.span.from)) * box.width <= 3 ? near : null;
}

function Tip({ pointed, width, resolution }: { pointed: Pointed; width: number; resolution: number }): JSX.Element {
  const { row, request, time, x, y } = pointed;
  const lines =
    row.kind === "ring"
      ? ringTold(row.trace, row.number, time, resolution)
      : request === null
        ? idleTold(row.trace, row.number, time, resolution)
        : requestTold(row.trace, request, resolution);
  const left = x > width / 2;
  return (
    <div
      class="iv-tl-tip"
      data-testid="timeline-tip"
      style={{ top: `${y + 14}px`, ...(left ? { right: `${width - x + 10}px` } : { left: `${x + 10}px` }) }}
    >
      {lines.map((line, place) => (place === 0 ? <b key={place}>{line}</b> : <span key={place}>{line}</span>))}
    </div>
  );
}
