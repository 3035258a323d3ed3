// A memory on the canvas: a shape by its kind, with its name, what it is in words, and a handle from which channels are drawn.
import type { JSX } from "preact";
import type { DrawnMemory } from "#model/types.ts";
import { Field } from "./field.tsx";

const OUTLINES: ReadonlyMap<string, string> = new Map([
  ["SYS", "M5 1H119Q123 1 123 5V41Q123 45 119 45H5Q1 45 1 41V5Q1 1 5 1Z"],
  ["REG", "M6 1H118L123 23L118 45H6L1 23Z"],
  ["ZCM", "M1 1H110L123 14V45H1Z"],
  ["FBM", "M8 1H116L123 9V37L116 45H8L1 37V9Z"],
  ["DSK", "M1 6C1-.5 123-.5 123 6V40C123 46.5 1 46.5 1 40Z"],
]);
const OTHER = "M22 1H102A21 22 0 0 1 102 45H22A21 22 0 0 1 22 1Z";

/** The outline of a kind, as wide as its box. */
export function Outline({ kind }: { kind: string }): JSX.Element {
  return (
    <svg class="iv-mc-outline" viewBox="0 0 124 46" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <path d={OUTLINES.get(kind) ?? OTHER} vector-effect="non-scaling-stroke" />
      {kind === "DSK" && <path class="iv-mc-rim" d="M1 6C1 12.5 123 12.5 123 6" vector-effect="non-scaling-stroke" />}
    </svg>
  );
}

/** What fits into a memory from afar: "GPU 3", "pinned"; of a longer kind with a number, the number: the shape says the rest. */
export function brief(far: string): string {
  const short = far.replace(/ memory\b/, "");
  return short.length > 10 ? (/\d+$/.exec(short)?.[0] ?? short) : short;
}

interface ShapeProps {
  memory: DrawnMemory;
  words: string;
  /** What it is from afar: its kind in words, with its number where its node has several of the kind. */
  far: string;
  /** Whether Tab leads here. */
  reached: boolean;
  chosen: boolean;
  /** What it is for the transfer: "source", "destination", "on the path" or "". */
  role: string;
  /** It is one of those that a channel could lead to now; null where none is being drawn. */
  fits: boolean | null;
  renaming: boolean;
  renamed: () => void;
}

export function Shape({ memory, words, far, reached, chosen, role, fits, renaming, renamed }: ShapeProps): JSX.Element {
  const about = [memory.emulated ? "emulated" : memory.here ? "" : "not on this computer", role]
    .filter((part) => part !== "")
    .join(", ");
  const state = `${chosen ? " iv-mc-chosen" : ""}${role === "" ? "" : " iv-mc-on-path"}${fits === null ? "" : fits ? " iv-mc-fits" : " iv-mc-unfit"}${memory.emulated ? " iv-mc-emulated" : ""}`;
  return (
    <div class={`iv-mc-memory iv-mc-${memory.kind}${state}`} data-memory={memory.name}>
      {renaming ? (
        <div class="iv-mc-renaming">
          <Field
            name="rename"
            label="Name"
            hideLabel
            eager
            value={memory.name}
            edit={(value) => ({ do: "set-memory", memory: memory.name, field: "name", value })}
            ended={renamed}
          />
        </div>
      ) : (
        <button
          type="button"
          class="iv-mc-body"
          data-testid={`canvas-memory-${memory.name}`}
          tabIndex={reached ? 0 : -1}
          aria-pressed={chosen}
          title={`${memory.name}: ${words}${about === "" ? "" : `, ${about}`}`}
        >
          <Outline kind={memory.kind} />
          <span class="iv-mc-words">{words}</span>
          <span class="iv-mc-far">{far.length > 12 ? far.replace(/ memory\b/, "") : far}</span>
          <span class="iv-mc-brief">{brief(far)}</span>
          <span class="iv-mc-name">
            {memory.short}
            {memory.emulated && <i class="iv-mc-emulation"> emulated</i>}
          </span>
          <span class="iv-hidden">
            , {memory.name}
            {about !== "" && `, ${about}`}
          </span>
        </button>
      )}
      <button
        type="button"
        class="iv-mc-handle"
        data-testid={`handle-${memory.name}`}
        tabIndex={-1}
        title={`Draw a channel from ${memory.name}`}
        aria-label={`Draw a channel from ${memory.name}`}
      />
    </div>
  );
}
