// Memory as it is: byte after byte, coloured by what lies there, with marks, numbers, hover, click and keyboard.
import type { JSX, RefObject, TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { fitCanvas, useFrame, useRatio, useSize } from "#lib/hooks.ts";
import type { CellValues } from "#model/array-values.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { type Entry, positionOf } from "#model/layouts/order.ts";
import { isInside, type Marked } from "#views/linearization/drawing/chunk-marks.ts";
import { type Ink, strokeTwice } from "#views/linearization/drawing/ink.ts";
import type { Rect } from "#views/linearization/geometry/scene.ts";
import { drawMemory } from "#views/memory/draw-memory.ts";
import { type MemoryMap, memoryMap, type Part } from "#views/memory/memory-map.ts";
import type { Paint } from "#views/memory/paint.ts";
import { inkOn, packed, rgbOf } from "#views/memory/scales.ts";
import { moved } from "./keyboard.ts";
import type { ViewOptions } from "./options.ts";

/** Where an entry is drawn in the element of a picture; null where it is not drawn. */
export type Places = RefObject<((entry: Entry) => Rect | null) | null>;

export interface MemoryProps {
  linear: Linearization;
  part: Part;
  /** The colours of what lies in memory. */
  paint: (map: MemoryMap) => Paint;
  /** How many times as wide as high the picture is. */
  aspect: number;
  values: CellValues | null;
  numbers: ViewOptions["numbers"];
  /** The dimensions that the arrow keys follow. */
  dims: readonly string[];
  ink: Ink | null;
  hovered: Entry | null;
  selected: Entry | null;
  marked: Marked | null;
  label: string;
  testid?: string;
  places: Places;
  onHover: (entry: Entry | null) => void;
  onSelect: (entry: Entry) => void;
  /** An entry was clicked. */
  onPick: (entry: Entry) => void;
  onChunk: ((entry: Entry | null) => void) | null;
  onDrawn: () => void;
}

/** The smallest mark of an entry, in CSS pixels. */
const SMALLEST = 11;
/** A picture of more elements has neither numbers nor a veil. */
const MOST = 40_000;
const MOST_NUMBERS = 1600;
const VEIL = 0.62;

export function Memory(props: MemoryProps): JSX.Element {
  const { linear, part, paint, ink, hovered, selected, marked } = props;
  const frame = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const marks = useRef<HTMLCanvasElement>(null);
  const size = useSize(frame);
  const ratio = useRatio();
  const box = useMemo(() => boxIn(size, props.aspect), [size, props.aspect]);
  const map = useMemo(() => memoryMap(linear, part), [linear, part]);
  const colours = useMemo(() => paint(map), [paint, map]);
  props.places.current = (entry) => {
    const place = box.width < 4 ? null : nearestPlace(map, part, entry);
    return place === null ? null : map.rectOf(place, box);
  };
  useFrame(() => {
    const canvas = base.current;
    const context = canvas === null || ink === null || box.width < 4 ? null : fitCanvas(canvas, size, ratio);
    if (!context || canvas === null || ink === null) return;
    context.setTransform(1, 0, 0, 1, 0, 0);
    const scaled = { x: box.x * ratio, y: box.y * ratio, width: box.width * ratio, height: box.height * ratio };
    drawMemory(context, map, colours, scaled, ink.dark);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawNumbers(context, map, colours, box, ink, props);
    canvas.dataset.drawn = props.label; // what a test or a benchmark waits for
    props.onDrawn();
  }, [map, colours, ink, size, ratio, box, props.numbers, props.values]);
  useFrame(() => {
    const canvas = marks.current;
    const context = canvas === null || ink === null || box.width < 4 ? null : fitCanvas(canvas, size, ratio);
    if (!context || canvas === null || ink === null) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    if (marked !== null && map.count <= MOST) drawVeil(context, map, marked, box, ink);
    if (selected !== null) ring(context, props.places.current?.(selected) ?? null, ink.accent, ink.paper);
    if (hovered !== null) ring(context, props.places.current?.(hovered) ?? null, "#05080c", "#ffffff");
    canvas.dataset.drawn = hovered === null ? "" : hovered.index.join(",");
  }, [map, ink, size, ratio, box, hovered, selected, marked]);
  const at = (event: TargetedPointerEvent<HTMLDivElement> | MouseEvent): Entry | null => {
    const corner = frame.current?.getBoundingClientRect();
    if (corner === undefined) return null;
    const place = map.placeAt(event.clientX - corner.left, event.clientY - corner.top, box);
    return place === null ? null : map.elementAt(place);
  };
  const key = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    if (event.altKey || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (event.key === "c" && props.onChunk !== null) props.onChunk(selected);
    else {
      const entry = moved(linear, props.dims, selected, event.key);
      if (entry === null) return;
      props.onSelect(entry);
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={frame}
      class="iv-lin-memory"
      role="application"
      tabIndex={0}
      aria-label={`${props.label}, as memory. Arrow keys move the selected entry, N and P follow memory, C marks its chunk.`}
      data-testid={props.testid ?? "linearization-memory"}
      onKeyDown={key}
      onPointerMove={(event) => props.onHover(at(event))}
      onPointerLeave={() => props.onHover(null)}
      onClick={(event) => {
        const entry = at(event);
        if (entry !== null) props.onPick(entry);
      }}
    >
      <canvas ref={base} role="img" aria-label={`${props.label}, as memory`} data-testid="memory-picture" />
      <canvas ref={marks} aria-hidden="true" />
    </div>
  );
}

/** The largest box of a shape in a room. */
function boxIn(room: { width: number; height: number }, aspect: number): Rect {
  const high = Math.floor(Math.min(room.height, room.width / aspect));
  return { x: 0, y: 0, width: Math.max(1, Math.floor(high * aspect)), height: Math.max(1, high) };
}

/** The place of an entry in a picture, or, in a scale model, of the one before it that is shown. */
export function nearestPlace(map: MemoryMap, part: Part, entry: Entry): number | null {
  const { dims } = map.linear;
  if (part.kind === "block" && dims.some(({ name, size }, dim) => (entry.index[dim] ?? 0) >= (part.block.get(name) ?? size)))
    return null;
  const index = entry.index.map((at, dim) => map.coordinate(dim, modelCoordinate(map, dim, at)) ?? 0);
  let field = entry.field;
  while (field > 0 && map.placeOf(index, field) === null) field -= 1;
  return map.placeOf(index, field);
}

/** The coordinate of the model that shows a coordinate of the array, or the one before it that is shown. */
export function modelCoordinate(map: MemoryMap, dim: number, at: number): number {
  let [low, high] = [0, (map.sizes[dim] ?? 1) - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((map.coordinate(dim, middle) ?? Infinity) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

function ring(context: CanvasRenderingContext2D, rect: Rect | null, colour: string, rim: string): void {
  if (rect === null) return;
  const [wide, high] = [Math.max(rect.width, SMALLEST), Math.max(rect.height, SMALLEST)];
  const path = new Path2D();
  path.roundRect(rect.x + (rect.width - wide) / 2 + 0.5, rect.y + (rect.height - high) / 2 + 0.5, wide - 1, high - 1, 2);
  strokeTwice(context, path, colour, rim, 2);
}

/** The veil over what is not marked. */
function drawVeil(context: CanvasRenderingContext2D, map: MemoryMap, marked: Marked, box: Rect, ink: Ink): void {
  context.fillStyle = ink.paper;
  context.globalAlpha = VEIL;
  for (let place = 0; place < map.count; place += 1) {
    const entry = map.elementAt(place);
    if (entry === null || isInside(marked, entry.index, entry.field)) continue;
    const { x, y, width, height } = map.rectOf(place, box);
    context.fillRect(x, y, width, height);
  }
  context.globalAlpha = 1;
}

/** What an entry says in a large cell: its value, its byte, or its number in the order. */
function drawNumbers(
  context: CanvasRenderingContext2D,
  map: MemoryMap,
  paint: Paint,
  box: Rect,
  ink: Ink,
  { linear, numbers, values }: Pick<MemoryProps, "linear" | "numbers" | "values">,
): void {
  if (numbers === "none" || map.count > MOST_NUMBERS) return;
  const shown = numbers === "value" && values === null ? "offset" : numbers;
  const text = ({ index, field }: Entry): string =>
    shown === "value"
      ? (values?.of(index, field) ?? "")
      : String(shown === "order" ? positionOf(linear, index, field) : linear.offset(index, field));
  context.font = `${ink.size}px ${ink.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const first = map.rectOf(0, box);
  const last = map.elementAt(map.count - 1);
  const longest = shown === "value" ? (values?.longest ?? "") : last === null ? String(linear.nbytes) : text(last);
  if (first.height < ink.size + 2 || first.width < context.measureText(longest).width + 4) return;
  for (let place = 0; place < map.count; place += 1) {
    const entry = map.elementAt(place);
    if (entry === null) continue;
    const { x, y, width, height } = map.rectOf(place, box);
    const at = map.modelAt(place);
    const colour = paint.element(at, at[at.length - 1] ?? 0);
    context.fillStyle = inkOn(colour || packed(rgbOf(ink.paper)));
    context.fillText(text(entry), x + width / 2, y + height / 2 + 0.5);
  }
}
