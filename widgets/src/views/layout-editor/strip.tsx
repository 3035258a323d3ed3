// The controls of the chip that is selected: its block, split, merge.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { useId } from "#lib/use-id.ts";
import { dimensionColour } from "#model/colours.ts";
import type { Spaces } from "#model/ends.ts";
import { merged, split, withBlock } from "#model/layouts/edits.ts";
import type { Part } from "#model/layouts/notation.ts";
import type { Named, ShownColour } from "#model/types.ts";
import { formatCount } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { Term } from "#views/controls/term.tsx";
import {
  blockEntry,
  type DigitState,
  digitName,
  digitState,
  digitWords,
  firstSplit,
  partKey,
  splitsOf,
  splitWords,
} from "./words.ts";

interface StripProps {
  id: string;
  parts: readonly Part[];
  at: number;
  spaces: Spaces;
  palette: Named<ShownColour>;
  /** Other components; `select` is the key of the chip whose controls are shown then. */
  onChange: (parts: readonly Part[], select: string | null) => void;
  onClose: () => void;
}

export function Strip(props: StripProps): JSX.Element | null {
  const { parts, at, spaces } = props;
  const box = useRef<HTMLDivElement>(null);
  const part = parts[at];
  const state = digitState(parts, at, spaces.dims);
  const kind = part === "F" ? "F" : (state?.kind ?? "");
  useEffect(() => {
    box.current?.querySelector<HTMLElement>("input, button")?.focus();
  }, [kind]);
  if (part === undefined) return null;
  return (
    <div
      ref={box}
      id={props.id}
      class="iv-edit-strip"
      data-own-stops
      role="group"
      aria-label={`Controls of ${digitName(part)}`}
      style={dimensionColour(props.palette, part === "F" ? "F" : part.dim)}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        props.onClose();
      }}
    >
      {part === "F" || state === null ? <Fields spaces={spaces} /> : <Digit {...props} state={state} />}
      <span class="iv-edit-close">
        <Button
          label={`Close the controls of ${digitName(part)}`}
          icon="remove"
          iconOnly
          testid="strip-close"
          onClick={props.onClose}
        />
      </span>
    </div>
  );
}

function Fields({ spaces }: { spaces: Spaces }): JSX.Element {
  const { fields } = spaces;
  const { quiet } = useView().connection;
  const shown = fields.slice(0, 4).map((field) => (quiet ? field.name : `${field.name} ${field.size} B`));
  return (
    <>
      <p class="iv-edit-about">
        <Term name="F" />: {shown.join(", ")}
        {fields.length > shown.length && `, … ${formatCount(fields.length)} fields`}
      </p>
      <p class="iv-edit-about iv-edit-muted">
        First in the order: <Term name="AOS">array of structs</Term>. Last: <Term name="SOA">struct of arrays</Term>.
      </p>
    </>
  );
}

function Digit({ parts, at, state, onChange }: StripProps & { state: DigitState }): JSX.Element {
  const { part, kind, most, choices } = state;
  const own = partKey(part);
  const block = kind === "inner" ? part.extent : null;
  const begin = firstSplit(state);
  const [typed, setTyped] = useState<string | null>(null);
  const note = useId();
  // A text belongs to one block: when that changes otherwise, the text is gone. At once, before anybody can type the next one.
  useLayoutEffect(() => setTyped(null), [block, own, kind]);
  const entry = typed === null ? null : blockEntry(typed, kind === "inner" ? most : Math.max(1, state.extent - 1));
  const wrong = entry?.problem ?? null;
  const set = (value: number): void => onChange(withBlock(parts, at, value), own);
  const cut = (value: number): void => onChange(split(parts, at, value), own);
  const place = block === null ? 0 : choices.indexOf(block);
  const shown = typed ?? String(block ?? begin ?? "");
  const ready = entry === null ? begin : entry.block;
  const canSplit = kind === "inner" ? begin !== null : ready !== null && state.extent > 1;
  return (
    <>
      <div class="iv-edit-controls">
        {kind === "inner" ? (
          <>
            <label class="iv-edit-name" for={`${note}-slider`}>
              {digitName(part)}
            </label>
            <input
              id={`${note}-slider`}
              type="range"
              class="iv-edit-slider"
              data-testid="block-slider"
              min={0}
              max={choices.length - 1}
              step={1}
              value={place}
              aria-label={`Block of ${digitName(part)}`}
              aria-valuetext={digitWords(state)}
              onInput={(event) => {
                const value = choices[Number(event.currentTarget.value)];
                if (value !== undefined && value !== block) set(value);
              }}
            />
          </>
        ) : (
          <span class="iv-edit-name" id={`${note}-name`}>
            Split {digitName(part)} into blocks of
          </span>
        )}
        <input
          type="text"
          class="iv-input iv-code iv-edit-number"
          data-testid="block-number"
          inputMode="numeric"
          autocomplete="off"
          aria-label={kind === "inner" ? `Block of ${digitName(part)}, as a number` : `Blocks to split ${digitName(part)} into`}
          aria-invalid={wrong !== null}
          aria-describedby={note}
          disabled={kind !== "inner" && begin === null}
          value={shown}
          onInput={(event) => {
            const text = event.currentTarget.value;
            setTyped(text);
            const read = blockEntry(text, most);
            if (kind === "inner" && read.block !== null && read.block !== block) set(read.block);
          }}
          onBlur={() => kind === "inner" && setTyped(null)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && kind !== "inner" && ready !== null) cut(ready);
            if (event.key === "Enter" && kind === "inner") setTyped(null);
          }}
        />
        <span class="iv-edit-of">of {formatCount(kind === "inner" ? most : state.extent)}</span>
      </div>
      <div class="iv-edit-controls">
        <p
          id={note}
          class={`iv-edit-about${wrong === null ? " iv-edit-muted" : " iv-edit-wrong"}`}
          role={wrong === null ? undefined : "alert"}
        >
          {wrong ?? (kind === "inner" || ready === null ? digitWords(state) : splitWords(state, ready))}
        </p>
        <span class="iv-edit-actions">
          <Button
            label="Split"
            testid="chip-split"
            disabled={!canSplit}
            title={splitTitle(state, ready)}
            onClick={() => {
              const value = kind === "inner" ? begin : ready;
              if (value !== null) cut(value);
            }}
          />
          {kind !== "whole" && (
            <Button
              label="Merge"
              testid="chip-merge"
              title={`Make ${part.dim} whole again`}
              onClick={() => onChange(merged(parts, part.dim), `${part.dim}:0`)}
            />
          )}
        </span>
      </div>
    </>
  );
}

function splitTitle(state: DigitState, block: number | null): string {
  const name = digitName(state.part);
  if (splitsOf(state).length === 0) return `${name} has no block that could be split off`;
  return state.kind === "inner" || block === null
    ? `Split ${name} into two digits`
    : `Split ${name} into blocks of ${formatCount(block)}`;
}
