// The components of a layout as chips, fastest first; moved by mouse, finger or keyboard.
import type { JSX, TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Box, boxOf, dropPlace, glide, THRESHOLD } from "#lib/dragging.ts";
import { dimensionColour } from "#model/colours.ts";
import { entryFrom, shownFrom, turned } from "#model/entries.ts";
import { moved } from "#model/layouts/edits.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { type Part, partText } from "#model/layouts/notation.ts";
import { useHover, useSelection } from "#model/selection.ts";
import type { Named, ShownColour } from "#model/types.ts";
import { formatCount } from "#model/units.ts";
import { Term } from "#views/controls/term.tsx";
import { chipLabel, digitName, partKey } from "./words.ts";

interface ChipsProps {
  /** For those who do not see the chips: "the source layout". */
  title: string;
  parts: readonly Part[];
  palette: Named<ShownColour>;
  /** Older than the text: greyed. */
  stale: boolean;
  /** How many chips at the fast and at the slow end both layouts keep. */
  prefix: number;
  suffix: number;
  /** The key of the chip whose controls are open, and their id. */
  selected: string | null;
  stripId: string;
  onSelect: (key: string | null) => void;
  onChange: (parts: readonly Part[]) => void;
  /** The layout on the array: chips carry the digits of the entry that is pointed at. */
  linear: Linearization | null;
  /** The chip to focus as soon as it is there. */
  focus: { current: string | null };
}

/** The place of a component among the digits of a layout; -1 where it is another layout. */
function digitOf(linear: Linearization, part: Part): number {
  return linear.digits.findIndex((digit) => partText(digit.part) === partText(part));
}

/** What a chip says: its component, and in the place of its block the digit of the entry that is pointed at, else of the selected one. */
export function ChipText({ linear, part }: { linear: Linearization | null; part: Part }): JSX.Element {
  const [hover] = useHover();
  const [selection] = useSelection();
  const place = linear === null ? -1 : digitOf(linear, part);
  const extent = linear?.digits[place]?.extent ?? 1;
  if (linear === null || extent < 2) return <>{partText(part)}</>;
  const entry = entryFrom(linear, hover) ?? entryFrom(linear, selection.entry);
  const told = (value: number): string => (part === "F" ? (linear.fields[value]?.name ?? "") : formatCount(value));
  const longest = part === "F" ? Math.max(...linear.fields.map(({ name }) => name.length)) : told(extent - 1).length;
  const value = entry === null ? "" : told(linear.digitsOf(entry.index, entry.field)[place] ?? 0);
  const name = digitName(part);
  const block = partText(part).slice(name.length);
  const width = `${Math.min(12, Math.max(longest, block.length))}ch`;
  return (
    <>
      {name}
      <span class={`iv-edit-at${value !== "" || block === "" ? " iv-edit-value" : ""}`} style={{ width }}>
        {value === "" ? block : value}
      </span>
    </>
  );
}

/** A chip that is pressed or dragged: where it was grabbed, and the order before. */
interface Grip {
  readonly key: string;
  readonly pointer: number;
  readonly x: number;
  readonly y: number;
  readonly dx: number;
  readonly dy: number;
  readonly before: readonly Part[];
  at: { x: number; y: number };
}

export function Chips(props: ChipsProps): JSX.Element {
  const { parts } = props;
  const list = useRef<HTMLOListElement>(null);
  const grip = useRef<Grip | null>(null);
  const places = useRef(new Map<string, Box>());
  const [dragged, setDragged] = useState<string | null>(null);
  const [said, setSaid] = useState("");
  const keys = parts.map(partKey);

  const chipOf = (key: string): HTMLElement | null =>
    [...(list.current?.querySelectorAll<HTMLElement>(".iv-edit-chip") ?? [])].find((chip) => chip.dataset.key === key) ?? null;
  const itemOf = (key: string): HTMLElement | null => (chipOf(key)?.parentElement as HTMLElement | null) ?? null;

  const follow = (): void => {
    const held = grip.current;
    const item = held === null || dragged === null ? null : itemOf(held.key);
    if (held === null || item === null) return;
    item.style.transform = `translate(${held.at.x - held.dx - item.offsetLeft}px, ${held.at.y - held.dy - item.offsetTop}px)`;
  };

  useLayoutEffect(() => {
    const now = new Map<string, Box>();
    for (const key of keys) {
      const item = itemOf(key);
      if (item === null) continue;
      const box = boxOf(item);
      now.set(key, box);
      const before = places.current.get(key);
      if (key === dragged) continue;
      item.style.transform = "";
      if (before !== undefined) glide(item, before, box);
    }
    places.current = now;
    follow();
  });
  useLayoutEffect(() => {
    if (props.focus.current === null) return;
    chipOf(props.focus.current)?.focus();
    props.focus.current = null;
  });

  const move = (from: number, to: number): void => {
    const part = parts[from];
    if (part === undefined || to < 0 || to >= parts.length || to === from) return;
    props.focus.current = partKey(part);
    props.onChange(moved(parts, from, to));
    setSaid(chipLabel(part, to, parts.length));
  };
  const release = (): void => {
    const held = grip.current;
    grip.current = null;
    if (held === null || dragged === null) return;
    const item = itemOf(held.key);
    const was = item === null ? null : { ...boxOf(item), left: held.at.x - held.dx, top: held.at.y - held.dy };
    if (item !== null && was !== null) {
      item.style.transform = "";
      glide(item, was, boxOf(item));
    }
    setDragged(null);
    props.focus.current = held.key;
  };
  useLayoutEffect(() => {
    if (dragged === null) return;
    const key = (event: KeyboardEvent): void => {
      const held = grip.current;
      if (event.key !== "Escape" || held === null) return;
      event.preventDefault();
      event.stopPropagation();
      release();
      props.onChange(held.before);
    };
    window.addEventListener("keydown", key, true);
    return () => window.removeEventListener("keydown", key, true);
  });

  const down = (event: TargetedPointerEvent<HTMLOListElement>): void => {
    const chip = (event.target as HTMLElement).closest<HTMLElement>(".iv-edit-chip");
    const item = chip?.parentElement;
    const key = chip?.dataset.key;
    if (event.button !== 0 || !event.isPrimary || key === undefined || item === null || item === undefined) return;
    const box = event.currentTarget.getBoundingClientRect();
    const at = { x: event.clientX - box.left, y: event.clientY - box.top };
    grip.current = {
      key,
      pointer: event.pointerId,
      ...at,
      dx: at.x - item.offsetLeft,
      dy: at.y - item.offsetTop,
      before: parts,
      at,
    };
  };
  const pull = (event: TargetedPointerEvent<HTMLOListElement>): void => {
    const held = grip.current;
    if (held === null || event.pointerId !== held.pointer) return;
    const box = event.currentTarget.getBoundingClientRect();
    held.at = { x: event.clientX - box.left, y: event.clientY - box.top };
    if (dragged === null) {
      if (Math.hypot(held.at.x - held.x, held.at.y - held.y) < THRESHOLD) return;
      // The list holds the pointer: a chip that moves in the document would lose it.
      event.currentTarget.setPointerCapture(event.pointerId);
      setDragged(held.key);
    }
    const from = keys.indexOf(held.key);
    const others = keys.filter((key) => key !== held.key).flatMap((key) => itemOf(key) ?? []);
    const to = dropPlace(others.map(boxOf), held.at.x, held.at.y);
    if (from >= 0 && to !== from) props.onChange(moved(parts, from, to));
    follow();
  };

  const [selection, select] = useSelection();
  const step = (part: Part, way: number): void => {
    const { linear } = props;
    const from = linear === null ? null : (entryFrom(linear, selection.entry) ?? { index: linear.dims.map(() => 0), field: 0 });
    const place = linear === null ? -1 : digitOf(linear, part);
    if (linear === null || from === null || place < 0) return;
    const entry = turned(linear, linear.digitsOf(from.index, from.field), place, way);
    if (entry !== null) select({ entry: shownFrom(linear, entry) });
  };
  const arrow = (event: TargetedKeyboardEvent<HTMLButtonElement>, place: number): void => {
    const last = parts.length - 1;
    const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: last }[event.key];
    if (event.key === "Escape" && props.selected !== null) {
      event.stopPropagation();
      props.onSelect(null);
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const way = event.shiftKey ? { ArrowUp: 1, ArrowDown: -1 }[event.key] : undefined;
    const part = parts[place];
    if (way !== undefined && part !== undefined) {
      event.preventDefault();
      step(part, way);
    }
    if (to === undefined) return;
    event.preventDefault();
    move(place, to);
  };
  return (
    <div class={`iv-edit-order${props.stale ? " iv-edit-stale" : ""}`}>
      <span class="iv-edit-end">
        <Term name="fastest" />
      </span>
      <ol
        class="iv-edit-chips"
        data-toolbar
        ref={list}
        aria-label={`Components of ${props.title}, fastest first`}
        onPointerDown={down}
        onPointerMove={pull}
        onPointerUp={release}
        onPointerCancel={() => {
          const held = grip.current;
          const was = dragged !== null;
          release();
          if (held !== null && was) props.onChange(held.before);
        }}
      >
        {parts.map((part, place) => {
          const key = partKey(part);
          const kept = `${place < props.prefix ? " iv-edit-prefix" : ""}${place >= parts.length - props.suffix ? " iv-edit-suffix" : ""}`;
          return (
            <li key={key} class={`iv-edit-item${kept}${dragged === key ? " iv-edit-dragged" : ""}`}>
              <button
                type="button"
                class="iv-edit-chip"
                style={dimensionColour(props.palette, part === "F" ? "F" : part.dim)}
                data-key={key}
                data-testid={`chip-${key}`}
                aria-label={chipLabel(part, place, parts.length)}
                aria-expanded={props.selected === key}
                aria-controls={props.selected === key ? props.stripId : undefined}
                title="Drag, or press ← →, to move; ↑ ↓ go to the next; Shift ↑ ↓ step its value; click, or press Enter, for its block"
                onClick={(event) => {
                  event.currentTarget.focus();
                  props.onSelect(props.selected === key ? null : key);
                }}
                onKeyDown={(event) => arrow(event, place)}
              >
                <ChipText linear={props.linear} part={part} />
              </button>
            </li>
          );
        })}
        <li class="iv-edit-end">
          <Term name="slowest" />
        </li>
      </ol>
      <span class="iv-hidden" role="status">
        {said}
      </span>
    </div>
  );
}
