// What a switch delivers, and how long its packets take, against what is offered; with what the switch above does now.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Kind, packetsOf } from "#model/vortex/kinds.ts";
import { curveOf, LOADS, type LoadPoint } from "#model/vortex/play.ts";
import type { SwitchShape } from "#model/vortex/switch.ts";

const BOX = { width: 320, height: 150, left: 34, right: 8, top: 20, bottom: 24 } as const;
/** Milliseconds of a frame in which points are computed. */
const SHARE = 6;

/** The curve of a switch, as far as it has been computed. */
export function useCurve(shape: SwitchShape, kind: Kind): readonly LoadPoint[] {
  const [points, setPoints] = useState<readonly LoadPoint[]>([]);
  useEffect(() => {
    const found: LoadPoint[] = [];
    setPoints([]);
    const coming = curveOf(shape, (load) => packetsOf(kind, shape, load, 1));
    let timer = 0;
    const go = (): void => {
      const end = performance.now() + SHARE;
      let next = coming.next();
      while (next.done !== true && performance.now() < end) {
        if (next.value !== null) found.push(next.value);
        next = coming.next();
      }
      if (next.value != null) found.push(next.value);
      setPoints((before) => (before.length === found.length ? before : [...found]));
      if (next.done !== true) timer = window.setTimeout(go, 16);
    };
    timer = window.setTimeout(go, 16);
    return () => clearTimeout(timer);
  }, [shape, kind]);
  return points;
}

interface ChartProps {
  title: string;
  /** What the lines are. */
  words: string;
  points: readonly LoadPoint[];
  /** By their names, the lines: solid, then dashed. */
  lines: Readonly<Record<string, (point: LoadPoint) => number>>;
  most: number;
  now: { load: number; value: number };
  /** What is offered is a line as well. */
  diagonal?: boolean;
}

export function Chart({ title, words, points, lines, most, now, diagonal }: ChartProps): JSX.Element {
  const x = (load: number): number => BOX.left + load * (BOX.width - BOX.left - BOX.right);
  const y = (value: number): number => BOX.height - BOX.bottom - (value / most) * (BOX.height - BOX.top - BOX.bottom);
  const high = BOX.height - BOX.top - BOX.bottom;
  const ticks = [0, most / 2, most];
  const last = points.at(-1);
  const said =
    last === undefined
      ? ""
      : `: ${Object.entries(lines)
          .map(([name, of]) => `${name} ${of(last).toPrecision(3)} at load ${last.load}`)
          .join(", ")}`;
  return (
    <figure class="iv-switch-chart">
      <figcaption>
        {title}
        <span class="iv-faint">: {words}</span>
      </figcaption>
      <svg viewBox={`0 0 ${BOX.width} ${BOX.height}`} role="img" aria-label={`${title}${said}`} data-points={points.length}>
        {ticks.map((tick) => (
          <g key={tick}>
            <line class="iv-switch-grid" x1={BOX.left} x2={BOX.width - BOX.right} y1={y(tick)} y2={y(tick)} />
            <text x={BOX.left - 5} y={y(tick) + 4} text-anchor="end">
              {+tick.toPrecision(2)}
            </text>
          </g>
        ))}
        <text x={0} y={BOX.height - 8}>
          load
        </text>
        {[0.25, 0.5, 0.75, 1].map((load) => (
          <text key={load} x={x(load)} y={BOX.height - 8} text-anchor="middle">
            {load}
          </text>
        ))}
        <svg
          x={BOX.left}
          y={BOX.top - 3}
          width={BOX.width - BOX.left}
          height={high + 6}
          viewBox={`${BOX.left} ${BOX.top - 3} ${BOX.width - BOX.left} ${high + 6}`}
        >
          <line class="iv-switch-here" x1={x(now.load)} x2={x(now.load)} y1={0} y2={BOX.height} />
          {diagonal && <path class="iv-switch-offered" d={`M${x(0)} ${y(0)}L${x(1)} ${y(1)}`} />}
          {Object.values(lines).map((of, place) => (
            <path
              key={place}
              class={`iv-switch-line iv-switch-line-${place}`}
              d={points
                .filter((point) => Number.isFinite(of(point)))
                .map((point, each) => `${each === 0 ? "M" : "L"}${x(point.load).toFixed(1)} ${y(of(point)).toFixed(1)}`)
                .join("")}
            />
          ))}
        </svg>
        {Number.isFinite(now.value) && (
          <circle class="iv-switch-now" cx={x(now.load)} cy={y(Math.min(most, now.value))} r={4.5} />
        )}
        {points.length < LOADS.length && (
          <text x={BOX.width / 2} y={BOX.top + 16} text-anchor="middle">
            being computed…
          </text>
        )}
      </svg>
    </figure>
  );
}
