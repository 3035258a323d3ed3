// A slider over a quantity above 0, even in its logarithm, with its value as text and marks at values that mean something.
import type { ComponentChildren, JSX } from "preact";
import { useId } from "#lib/use-id.ts";

/** Steps from one end of a slider to the other. */
const STEPS = 400;

export interface SliderMark {
  value: number;
  title: string;
}

interface SliderProps {
  testid: string;
  label: ComponentChildren;
  /** What the slider is called for those who do not see it. */
  name: string;
  low: number;
  high: number;
  value: number;
  text: string;
  whole?: boolean;
  /** Values to stop at; without them every value between the ends. */
  stops?: readonly number[];
  marks?: readonly SliderMark[];
  disabled?: boolean;
  /** `moving` while the pointer still holds it. */
  onValue: (value: number, moving: boolean) => void;
  /** The pointer takes hold of it. */
  onHold?: () => void;
}

export function LogSlider(props: SliderProps): JSX.Element {
  const { low, high, stops } = props;
  const id = useId();
  const span = Math.log(high / low) || 1;
  const placeOf = (value: number): number => {
    if (stops === undefined) return Math.round((Math.log(Math.min(high, Math.max(low, value)) / low) / span) * STEPS);
    const above = stops.findIndex((stop) => stop >= value);
    return above < 0 ? stops.length - 1 : above;
  };
  const valueAt = (place: number): number => {
    if (stops !== undefined) return stops[place] ?? low;
    const value = low * Math.exp((place / STEPS) * span);
    return props.whole ? Math.round(value) : value;
  };
  const last = stops === undefined ? STEPS : stops.length - 1;
  return (
    <div class="iv-slider">
      <label for={id} title={props.name}>
        {props.label}
      </label>
      <output for={id} class="iv-slider-value">
        {props.text}
      </output>
      <div class="iv-slider-track">
        <input
          id={id}
          type="range"
          class="iv-edit-slider"
          data-testid={props.testid}
          data-value={props.value}
          min={0}
          max={Math.max(1, last)}
          step={1}
          value={placeOf(props.value)}
          aria-label={props.name}
          aria-valuetext={props.text}
          disabled={props.disabled}
          onPointerDown={() => props.onHold?.()}
          onInput={(event) => props.onValue(valueAt(Number(event.currentTarget.value)), true)}
          onChange={(event) => props.onValue(valueAt(Number(event.currentTarget.value)), false)}
        />
        {(props.marks ?? [])
          .filter((mark) => mark.value >= low && mark.value <= high)
          .map((mark) => (
            <i
              key={`${mark.value}`}
              class="iv-slider-mark"
              title={mark.title}
              style={{ left: `${(100 * placeOf(mark.value)) / Math.max(1, last)}%` }}
            />
          ))}
      </div>
    </div>
  );
}
