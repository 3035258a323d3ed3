// The memory tape with its marks; hovering and clicking it finds entries.
import type { JSX, TargetedMouseEvent, TargetedPointerEvent } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { fitCanvas, useFrame, useRatio, useSize } from "#lib/hooks.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import { drawTapeMarked, type Marked } from "#views/linearization/drawing/chunk-marks.ts";
import type { Colouring } from "#views/linearization/drawing/colouring.ts";
import type { Ink } from "#views/linearization/drawing/ink.ts";
import {
  byteAt,
  drawTape,
  drawTapeMarks,
  linesThatFit,
  type StripSide,
  type TapeGeometry,
  type TapeMark,
  tapeRows,
  windowFrom,
} from "#views/linearization/drawing/tape-canvas.ts";
import { elementAtOrAfter } from "#views/linearization/geometry/order.ts";

export interface TapeProps {
  linear: Linearization;
  colours: Colouring;
  /** The colour of each entry in the place of these; null where there is none. */
  paint: ((index: readonly number[], field: number) => number) | null;
  /** Where the strip of all of memory stands. */
  strip: StripSide;
  ink: Ink | null;
  hovered: Entry | null;
  selected: Entry | null;
  /** The chunk or the bytes that are marked. */
  marked: Marked | null;
  /** The bytes at which it begins to differ from the tape beside it: where they begin, and how many. */
  differs?: readonly [begin: number, size: number] | null;
  label: string;
  /** Names the tape for tests, where a card has two. */
  testid?: string;
  onHover: (entry: Entry | null) => void;
  onSelect: (entry: Entry) => void;
}

export function Tape(props: TapeProps): JSX.Element {
  const { linear, colours, paint, ink, hovered, selected, marked, strip } = props;
  const frame = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const marks = useRef<HTMLCanvasElement>(null);
  const size = useSize(frame);
  const ratio = useRatio();
  const [firstLine, setFirstLine] = useState(0);
  const letters = ink?.size ?? 12;
  const lines = linesThatFit(linear, (size.width * 12) / letters);
  const focus = hovered ?? selected ?? marked?.entries[0] ?? null;
  const differs = props.differs ?? null;
  const byte = focus === null ? (differs?.[0] ?? null) : linear.offset(focus.index, focus.field);
  const first =
    byte === null
      ? Math.min(firstLine, Math.max(0, Math.ceil(linear.nbytes / 64) - lines))
      : windowFrom(firstLine, byte, lines, linear.nbytes);
  useEffect(() => setFirstLine(first), [first]);
  const tape = useMemo<TapeGeometry>(
    () => ({ linear, width: size.width, ratio, firstLine: first, lines, size: letters, strip }),
    [linear, size.width, ratio, first, lines, letters, strip],
  );
  const byField = colours.by === "field";

  useFrame(() => {
    const context = base.current === null || ink === null || size.width < 10 ? null : fitCanvas(base.current, size, ratio);
    if (context && ink !== null) drawTape(context, tape, colours, paint, ink);
  }, [tape, colours, paint, ink, size]);
  useFrame(() => {
    const context = marks.current === null || ink === null || size.width < 10 ? null : fitCanvas(marks.current, size, ratio);
    if (!context || ink === null) return;
    const shown: TapeMark[] = [
      ...(differs === null ? [] : [{ bytes: differs, colour: ink.dark ? "#f5a463" : "#a84300", rim: ink.paper }]),
      ...(selected === null ? [] : [{ entry: selected, colour: ink.accent, rim: ink.paper }]),
      ...(hovered === null ? [] : [{ entry: hovered, colour: "#05080c", rim: "#ffffff" }]),
    ];
    drawTapeMarks(
      context,
      tape,
      byField,
      shown,
      marked === null ? null : (pen) => drawTapeMarked(pen, tape, byField, marked, ink),
    );
  }, [tape, byField, ink, hovered, selected, marked, differs?.[0], differs?.[1], size]);

  const at = (event: TargetedPointerEvent<HTMLDivElement> | TargetedMouseEvent<HTMLDivElement>): Entry | null => {
    const box = event.currentTarget.getBoundingClientRect();
    const found = byteAt(tape, byField, event.clientX - box.left, event.clientY - box.top);
    if (found === null) return null;
    const there = linear.at(found);
    return there === null ? elementAtOrAfter(linear, found) : { index: there.index, field: there.field };
  };
  return (
    <div
      ref={frame}
      class="iv-lin-tape"
      data-testid={props.testid ?? "linearization-tape"}
      style={{ height: `${tapeRows(linear.fields.length, byField, letters, strip).all}px` }}
      onPointerMove={(event) => props.onHover(at(event))}
      onPointerLeave={() => props.onHover(null)}
      onClick={(event) => {
        const entry = at(event);
        if (entry !== null) props.onSelect(entry);
      }}
    >
      <canvas ref={base} role="img" aria-label={props.label} />
      <canvas ref={marks} aria-hidden="true" />
    </div>
  );
}
