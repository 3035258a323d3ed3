// The figures of repeated runs: a dot for each, the middle marked, the lowest and the highest in words.
import type { JSX } from "preact";
import type { ShownSpread } from "#model/types.ts";

const WIDE = 120;
const HIGH = 16;

interface SpreadProps {
  spread: ShownSpread;
  format: (value: number) => string;
  /** What was predicted: marked as well. */
  predicted?: number;
}

/** Dots on a line from the lowest to the highest figure; the words beside it say the same. */
export function Spread({ spread, format, predicted }: SpreadProps): JSX.Element {
  const all = predicted === undefined ? spread.values : [...spread.values, predicted];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const x = (value: number): number => 5 + ((WIDE - 10) * (value - low)) / (high - low || 1);
  return (
    <span class="iv-spread" data-testid="spread">
      <svg viewBox={`0 0 ${WIDE} ${HIGH}`} width={WIDE} height={HIGH} aria-hidden="true" focusable="false">
        <line x1={5} x2={WIDE - 5} y1={HIGH / 2} y2={HIGH / 2} class="iv-spread-line" />
        {predicted !== undefined && <line x1={x(predicted)} x2={x(predicted)} y1={1} y2={HIGH - 1} class="iv-spread-predicted" />}
        {spread.values.map((value, place) => (
          <circle key={place} cx={x(value)} cy={HIGH / 2} r={2.6} class="iv-spread-dot" />
        ))}
        <line x1={x(spread.median)} x2={x(spread.median)} y1={2} y2={HIGH - 2} class="iv-spread-median" />
      </svg>
      <span class="iv-faint">
        {format(spread.low)} to {format(spread.high)}
      </span>
    </span>
  );
}
