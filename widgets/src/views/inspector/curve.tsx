// The throughput function of a channel, both axes logarithmic, with the point at which a hop works on it.
import type { JSX } from "preact";
import type { CurvePoint, ShownHop } from "#model/types.ts";
import { formatBytes, formatRate } from "#model/units.ts";

const WIDTH = 242;
const HEIGHT = 98;
const BOX = { left: 62, right: WIDTH - 8, top: 10, bottom: HEIGHT - 22 };

/** A logarithmic axis: quantities to places. */
interface Axis {
  low: number;
  high: number;
  place: (value: number) => number;
}

function axis(low: number, high: number, from: number, to: number): Axis {
  const [first, last] = [Math.log(low), Math.log(high)];
  return { low, high, place: (value) => from + ((Math.log(value) - first) / (last - first || 1)) * (to - from) };
}

const drawable = (point: CurvePoint): boolean =>
  point.run > 0 && point.rate > 0 && Number.isFinite(point.run) && Number.isFinite(point.rate);

export function Curve({ hop }: { hop: ShownHop }): JSX.Element | null {
  const curve = hop.curve.filter(drawable);
  const measured = hop.measured.filter(drawable);
  const [first, last] = [curve[0], curve.at(-1)];
  if (first === undefined || last === undefined || last.run <= first.run) return null;
  const rates = [...curve, ...measured].map((point) => point.rate);
  const most = Math.max(...rates, hop.rate);
  // A flat function keeps room below it: its height on the picture is its rate, not its noise.
  const least = Math.min(...rates, hop.rate, most / 10);
  const x = axis(first.run, last.run, BOX.left, BOX.right);
  const y = axis(least / 1.3, most * 1.3, BOX.bottom, BOX.top);
  const at = { x: x.place(Math.min(last.run, Math.max(first.run, hop.run))), y: y.place(hop.rate) };
  const ticks = ticksOf(x);
  return (
    <svg
      class="iv-curve"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`Throughput of the channel over the length of the runs, ${formatRate(first.rate)} at ${formatBytes(first.run)} to ${formatRate(last.rate)} at ${formatBytes(last.run)}; this hop works at ${formatRate(hop.rate)}`}
    >
      {decades(y).map((rate) => (
        <g key={rate}>
          <line class="iv-curve-grid" x1={BOX.left} x2={BOX.right} y1={y.place(rate)} y2={y.place(rate)} />
          <text class="iv-curve-text" x={BOX.left - 5} y={y.place(rate) + 4} text-anchor="end">
            {formatRate(rate)}
          </text>
        </g>
      ))}
      <line class="iv-curve-axis" x1={BOX.left} x2={BOX.right} y1={BOX.bottom} y2={BOX.bottom} />
      {ticks.map((run, place) => (
        <text
          key={run}
          class="iv-curve-text"
          x={x.place(run)}
          y={HEIGHT - 7}
          text-anchor={place === 0 ? "start" : place === ticks.length - 1 ? "end" : "middle"}
        >
          {formatBytes(run)}
        </text>
      ))}
      <path
        class="iv-curve-line"
        d={`M${curve.map((point) => `${x.place(point.run).toFixed(1)} ${y.place(point.rate).toFixed(1)}`).join("L")}`}
      />
      {measured.map((point) => (
        <circle key={point.run} class="iv-curve-sample" cx={x.place(point.run)} cy={y.place(point.rate)} r={2.2} />
      ))}
      <line class="iv-curve-drop" x1={at.x} x2={at.x} y1={at.y} y2={BOX.bottom} />
      <circle class="iv-curve-point" cx={at.x} cy={at.y} r={5} />
    </svg>
  );
}

/** Whole powers of ten on an axis of rates, at most three. */
function decades({ low, high }: Axis): number[] {
  const found: number[] = [];
  for (let power = Math.ceil(Math.log10(low)); 10 ** power <= high; power += 1) found.push(10 ** power);
  const every = Math.ceil(found.length / 3);
  return found.filter((_, place) => (found.length - 1 - place) % every === 0);
}

/** Three runs along an axis: both ends, and a power of two between. */
function ticksOf({ low, high }: Axis): number[] {
  const [first, last] = [Math.log2(low), Math.log2(high)];
  const between = 2 ** Math.round((first + last) / 2);
  return between > low && between < high ? [low, between, high] : [low, high];
}
