// The controls of the picture: what colours say, which dimensions are drawn, where the others stand, and what is written.

import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "#lib/icon.tsx";
import { useId } from "#lib/use-id.ts";
import type { ByName } from "#model/by-name.ts";
import { nameOf } from "#model/entries.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Lying, Way } from "#model/picture-way.ts";
import type { Side } from "#model/settings.ts";
import { formatCount } from "#model/units.ts";
import type { ColourBy, ViewOptions } from "./options.ts";

/** The bytes that a lane of a warp may take. */
const LANES = [4, 8, 16] as const;

export type Change = (change: Partial<ViewOptions>) => void;

interface ControlsProps {
  linear: Linearization;
  options: ViewOptions;
  dims: readonly string[];
  hasChunks: boolean;
  hasValues: boolean;
  /** Whether the other end is drawn beside this one. */
  hasTwin: boolean;
  change: Change;
  way: Way;
}

/** Whether the chunk of the selected entry is marked. */
export interface Marking {
  on: boolean;
  set: (on: boolean) => void;
}

/** The menu of colours; digits can be chosen one by one. */
export function ColourMenu({
  linear,
  options,
  hasChunks,
  change,
  way,
  lying,
  lie,
}: ControlsProps & { lying: Lying; lie: (lying: Lying) => void }): JSX.Element {
  // By index, a cell tells where it lies; by address, a place in memory tells what lies there.
  const plain = way === "index" ? "offset" : lying;
  const value =
    options.colour === "digit" ? `digit:${options.digit ?? ""}` : options.colour === "offset" ? plain : options.colour;
  const digits = linear.digits.filter((digit) => digit.part !== "F" && digit.extent > 1);
  const known = options.colour !== "digit" || digits.some((digit) => digit.text === options.digit);
  return (
    <Select
      label="Colour by"
      testid="linearization-colour"
      value={value}
      onChange={(chosen) => {
        if (chosen === "value" || chosen === "index") {
          lie(chosen);
          change({ colour: "offset" });
        } else change(chosen.startsWith("digit:") ? { colour: "digit", digit: chosen.slice(6) } : { colour: chosen as ColourBy });
      }}
    >
      {way === "index" ? (
        <option value="offset">By address</option>
      ) : (
        <>
          <option value="value">By value</option>
          <option value="index">By index</option>
        </>
      )}
      {linear.fields.length > 1 && <option value="field">By field</option>}
      <option value="line">By cache line</option>
      <option value="page">By page</option>
      <option value="sector">By warp sector</option>
      {hasChunks && <option value="chunk">By chunk</option>}
      {digits.map((digit) => (
        <option key={digit.text} value={`digit:${digit.text}`}>
          By {nameOf(digit.text)}
        </option>
      ))}
      {!known && <option value={value}>By {nameOf(options.digit ?? "")}</option>}
    </Select>
  );
}

/** Everything else that can be chosen. */
export function MoreControls({
  linear,
  options,
  dims,
  hasChunks,
  hasValues,
  hasTwin,
  change,
  way,
  marking,
  plays,
}: ControlsProps & { marking: Marking | null; plays: boolean }): JSX.Element {
  const byIndex = way !== "address";
  const several = linear.fields.length > 1;
  const names = linear.dims.map((dim) => dim.name);
  return (
    <div class="iv-lin-more">
      {names.length > 2 && (
        <>
          <Labelled label="right">
            <Select
              label="Dimension to the right"
              testid="linearization-across"
              value={dims[0] ?? ""}
              onChange={(across) => change(exchanged(dims, across, 0))}
            >
              {names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </Select>
          </Labelled>
          <Labelled label="down">
            <Select
              label="Dimension downwards"
              testid="linearization-down"
              value={dims[1] ?? ""}
              onChange={(down) => change(exchanged(dims, down, 1))}
            >
              {names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </Select>
          </Labelled>
        </>
      )}
      {names.length === 2 && (
        <button
          type="button"
          class="iv-lin-button iv-lin-wide-button"
          data-testid="linearization-turn"
          onClick={() => change({ across: dims[1] ?? null, down: dims[0] ?? null })}
        >
          Exchange {dims[0]} and {dims[1]}
        </button>
      )}
      {several && byIndex && (
        <Labelled label="fields">
          <Select label="Fields" testid="linearization-fields" value={options.fields} onChange={(fields) => change({ fields })}>
            <option value="auto">all, as they fit</option>
            <option value="cells">all, in each cell</option>
            <option value="panels">side by side</option>
            {linear.fields.map(({ name }) => (
              <option key={name} value={`only:${name}`}>
                only {name}
              </option>
            ))}
          </Select>
        </Labelled>
      )}
      {options.colour === "sector" && (
        <>
          <Labelled label="warp along">
            <Select
              label="Dimension along which a warp loads"
              testid="linearization-warp-dim"
              value={options.warp ?? dims[0] ?? ""}
              onChange={(warp) => change({ warp })}
            >
              {names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </Select>
          </Labelled>
          <Labelled label="a lane takes">
            <Select
              label="Bytes that a lane takes"
              testid="linearization-warp-lane"
              value={String(options.lane)}
              onChange={(lane) => change({ lane: Number(lane) })}
            >
              {LANES.map((lane) => (
                <option key={lane} value={String(lane)}>
                  {lane} bytes
                </option>
              ))}
            </Select>
          </Labelled>
        </>
      )}
      <Labelled label="numbers">
        <Select
          label="Numbers in cells"
          testid="linearization-numbers"
          value={options.numbers === "value" && !hasValues ? "offset" : options.numbers}
          onChange={(numbers) => change({ numbers: numbers as ViewOptions["numbers"] })}
        >
          {hasValues && <option value="value">value</option>}
          <option value="offset">byte offset</option>
          <option value="order">order in memory</option>
          <option value="none">none</option>
        </Select>
      </Labelled>
      {plays && (
        <Labelled label="play the order of">
          <Select
            label="The end whose order in memory is played"
            testid="linearization-plays"
            value={options.plays}
            onChange={(side) => change({ plays: side as Side })}
          >
            <option value="source">the left card</option>
            <option value="destination">the right card</option>
          </Select>
        </Labelled>
      )}
      {byIndex && <Toggle label="order line" on={options.order} set={(order) => change({ order })} />}
      {byIndex && hasTwin && <Toggle label="request boxes" on={options.runs} set={(runs) => change({ runs })} />}
      {byIndex && hasChunks && <Toggle label="chunks" on={options.chunks} set={(chunks) => change({ chunks })} />}
      {marking !== null && <Toggle label="mark the chunk of the entry" on={marking.on} set={marking.set} />}
      {byIndex && hasTwin && (
        <Toggle label="both ends zoom and move together" on={options.linked} set={(linked) => change({ linked })} />
      )}
    </div>
  );
}

/** The two dimensions after one of them was chosen: choosing the other one exchanges them. */
export function exchanged(dims: readonly string[], chosen: string, place: 0 | 1): Partial<ViewOptions> {
  const [across = null, down = null] = dims;
  if (place === 0) return { across: chosen, down: chosen === down ? across : down };
  return { across: chosen === across ? down : across, down: chosen };
}

/** Sliders for the dimensions that are not drawn. */
export function Slices(props: {
  linear: Linearization;
  dims: readonly string[];
  at: ByName<number>;
  colourOf: (dim: string) => string;
  set: (dim: string, to: number) => void;
}): JSX.Element | null {
  const others = props.linear.dims.filter((dim) => !props.dims.includes(dim.name) && dim.size > 1);
  if (others.length === 0) return null;
  return (
    <div class="iv-lin-slices">
      {others.map(({ name, size }) => {
        const value = Math.min(size - 1, props.at.get(name) ?? 0);
        return (
          <label key={name}>
            <span style={{ color: props.colourOf(name) }}>
              <b>{name}</b> = {formatCount(value)}
            </span>
            <input
              type="range"
              min={0}
              max={size - 1}
              step={1}
              value={value}
              aria-label={`Slice: ${name}`}
              aria-valuetext={`${name} = ${formatCount(value)} of 0 to ${formatCount(size - 1)}`}
              data-testid={`linearization-slice-${name}`}
              onInput={(event) => props.set(name, Number(event.currentTarget.value))}
            />
            <span class="iv-faint">{formatCount(size - 1)}</span>
          </label>
        );
      })}
    </div>
  );
}

/** A button that opens what does not fit; Escape and a click elsewhere close it. */
export function Drop({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  // Before the next key: an effect after the paint would miss an Escape that follows at once.
  useLayoutEffect(() => {
    if (!open) return;
    const outside = (event: Event): void => {
      if (!event.composedPath().includes(box.current as EventTarget)) setOpen(false);
    };
    const closing = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      setOpen(false);
      box.current?.querySelector("button")?.focus();
    };
    document.addEventListener("pointerdown", outside, true);
    document.addEventListener("keydown", closing, true);
    return () => {
      document.removeEventListener("pointerdown", outside, true);
      document.removeEventListener("keydown", closing, true);
    };
  }, [open]);
  return (
    <div class="iv-lin-drop" ref={box}>
      <button
        type="button"
        class="iv-lin-button"
        aria-label={label}
        title={label}
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        data-testid="linearization-more"
        onClick={() => setOpen(!open)}
      >
        <Icon name="settings" />
      </button>
      {open && (
        <div id={id} class="iv-lin-sheet" data-own-stops role="group" aria-label={label}>
          {children}
        </div>
      )}
    </div>
  );
}

function Select(props: {
  label: string;
  testid: string;
  value: string;
  onChange: (value: string) => void;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <select
      class="iv-lin-select"
      aria-label={props.label}
      title={props.label}
      data-testid={props.testid}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    >
      {props.children}
    </select>
  );
}

function Labelled({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <span class="iv-lin-labelled">
      <span class="iv-faint" aria-hidden="true">
        {label}
      </span>
      {children}
    </span>
  );
}

function Toggle({ label, on, set }: { label: string; on: boolean; set: (on: boolean) => void }): JSX.Element {
  return (
    <label class="iv-lin-toggle">
      <input type="checkbox" checked={on} onChange={(event) => set(event.currentTarget.checked)} />
      {label}
    </label>
  );
}
