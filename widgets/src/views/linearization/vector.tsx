// The layout vector: the digits of the layout, fastest first, with the value that each of them has at an entry.
import type { JSX } from "preact";
import { dimensionColour } from "#model/colours.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { type Entry, entryAt } from "#model/layouts/order.ts";
import type { Named, ShownColour } from "#model/types.ts";
import { formatCount } from "#model/units.ts";

interface VectorProps {
  linear: Linearization;
  palette: Named<ShownColour>;
  entry: Entry | null;
  onSelect: (entry: Entry) => void;
}

export function Vector({ linear, palette, entry, onSelect }: VectorProps): JSX.Element {
  const values = linear.digitsOf(entry?.index ?? linear.dims.map(() => 0), entry?.field ?? 0);
  const turn = (place: number, way: number): void => {
    const found = turned(linear, values, place, way);
    if (found !== null) onSelect(found);
  };
  return (
    <div class="iv-lin-vector" role="group" aria-label="Digits of the entry, fastest first" data-testid="linearization-vector">
      <span class="iv-lin-end">fastest</span>
      {linear.digits.map((digit, place) => {
        const value = values[place] ?? 0;
        const field = digit.part === "F" ? (linear.fields[value]?.name ?? "") : null;
        return (
          <span
            key={digit.text}
            class="iv-lin-digit"
            style={dimensionColour(palette, digit.dim)}
            role="spinbutton"
            tabIndex={0}
            aria-label={digit.part === "F" ? "F" : nameOf(digit.text)}
            aria-valuemin={0}
            aria-valuemax={digit.extent - 1}
            aria-valuenow={value}
            aria-valuetext={field ?? undefined}
            title={`${digit.text}: ${formatCount(value)} of 0 to ${formatCount(digit.extent - 1)}. Click, or press ↑ ↓, to step`}
            onClick={(event) => turn(place, event.shiftKey ? -1 : 1)}
            onKeyDown={(event) => {
              const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
              if (way === undefined) return;
              turn(place, way);
              event.preventDefault();
            }}
          >
            <b>{nameOf(digit.text)}</b> <span>{entry === null ? "–" : (field ?? formatCount(value))}</span>
          </span>
        );
      })}
      <span class="iv-lin-end">slowest</span>
    </div>
  );
}

/** "x_in" of "x_in=4". */
export function nameOf(text: string): string {
  return text.replace(/=.*$/, "");
}

/** The entry with one digit turned on; digits go round, and padding is passed over. */
export function turned(linear: Linearization, values: readonly number[], place: number, way: number): Entry | null {
  const extent = linear.digits[place]?.extent ?? 1;
  const weights = linear.digits.map((_, at) => linear.digits.slice(0, at).reduce((product, digit) => product * digit.extent, 1));
  let value = values[place] ?? 0;
  for (let tries = 0; tries < Math.min(extent, 4096); tries += 1) {
    value = (value + way + extent) % extent;
    const position = values.reduce((sum, other, at) => sum + (at === place ? value : other) * (weights[at] ?? 1), 0);
    const found = entryAt(linear, position);
    if (found !== null) return found;
  }
  return null;
}
