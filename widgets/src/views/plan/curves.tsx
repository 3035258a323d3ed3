// The throughput functions of the channels of the path, with the points at which the hops work and the samples that were measured. The
// pointer or the arrow keys move along the length of the runs, and the rates there are told.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useSelection } from "#model/selection.ts";
import type { CurvePoint } from "#model/types.ts";
import { counted, formatBytes, formatRate } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { hopsOf, type PlacedHop } from "#model/words.ts";
import { Term } from "#views/controls/term.tsx";
import { logAxis, powers } from "./chart.ts";

const WIDTH = 400;
const HEIGHT = 210;
const BOX = { left: 66, right: WIDTH - 10, top: 10, bottom: HEIGHT - 26 };

const drawable = (point: CurvePoint): boolean =>
  point.run > 0 && point.rate > 0 && Number.isFinite(point.run) && Number.isFinite(point.rate);

/** The rate that a curve says at a run: straight between its points in the logarithms, flat beyond them. */
export function rateAt(curve: readonly CurvePoint[], run: number): number {
  const above = curve.findIndex((point) => point.run >= run);
  if (above < 0) return curve.at(-1)?.rate ?? 0;
  const [before, after] = [curve[above - 1], curve[above]];
  if (after === undefined || before === undefined || before.run === after.run) return after?.rate ?? 0;
  const share = Math.log(run / before.run) / Math.log(after.run / before.run);
  return before.rate * (after.rate / before.rate) ** share;
}

/** A throughput function that is drawn, with the hops that have it; it is drawn as that of the first, the longest. `look` is its number among the lines that can be told; null is grey. */
export interface DrawnCurve {
  readonly hops: readonly PlacedHop[];
  readonly look: number | null;
}

/** Lines that can be told from each other by colour and dashes. */
export const LOOKS = 5;

/** Whether two hops of a kind have one line: their functions are the same, perhaps as far as longer runs. */
function haveOneLine({ hop: one }: PlacedHop, { hop: other }: PlacedHop): boolean {
  const [shorter, longer] = lengthOf(one.curve) < lengthOf(other.curve) ? [one.curve, other.curve] : [other.curve, one.curve];
  return one.words === other.words && shorter.every(({ run, rate }) => Math.abs(rateAt(longer, run) - rate) <= 0.01 * rate);
}

const lengthOf = (curve: readonly CurvePoint[]): number => curve.at(-1)?.run ?? 0;

/** The functions of the hops, each once, the slowest hop's first. The slowest ones get looks of their own, the others are grey. */
export function drawnCurves(hops: readonly PlacedHop[]): DrawnCurve[] {
  const lines: PlacedHop[][] = [];
  for (const placed of [...hops].sort((one, other) => one.hop.rate - other.hop.rate)) {
    const line = lines.find(([first]) => first !== undefined && haveOneLine(first, placed));
    if (line === undefined) lines.push([placed]);
    else line.push(placed);
  }
  for (const line of lines)
    line.sort((one, other) => lengthOf(other.hop.curve) - lengthOf(one.hop.curve) || one.number - other.number);
  // One more line needs no common name for the rest.
  return lines.map((members, place) => ({ hops: members, look: place < LOOKS || lines.length === LOOKS + 1 ? place : null }));
}

export function Curves(): JSX.Element | null {
  const { snapshot } = useView();
  const [selection, select] = useSelection();
  const [at, setAt] = useState<number | null>(null);
  const { plan } = snapshot.panes;
  if (plan === null) return null;
  const hops = hopsOf(plan).filter(({ hop }) => hop.curve.filter(drawable).length > 1);
  const points = hops.flatMap(({ hop }) => [...hop.curve, ...hop.measured].filter(drawable));
  if (points.length === 0) return null;
  const runs = points.map((point) => point.run);
  const rates = [...points.map((point) => point.rate), ...hops.map(({ hop }) => hop.rate)].filter((rate) => rate > 0);
  const x = logAxis(Math.min(...runs), Math.max(...runs, Math.min(...runs) * 2), BOX.left, BOX.right);
  const most = Math.max(...rates);
  const y = logAxis(Math.max(Math.min(...rates), most / 1e5) / 1.2, most * 1.3, BOX.bottom, BOX.top);
  const path = (curve: readonly CurvePoint[]): string =>
    `M${curve
      .filter(drawable)
      .map((point) => `${x.place(point.run).toFixed(1)} ${y.place(Math.max(point.rate, y.low)).toFixed(1)}`)
      .join("L")}`;
  const drawn = drawnCurves(hops);
  const isChosen = ({ hops: members }: DrawnCurve): boolean => members.some(({ number }) => number === selection.hop);
  const told = drawn.filter((curve) => curve.look !== null || isChosen(curve));
  const others = drawn.filter((curve) => !told.includes(curve));
  const kind = (curve: DrawnCurve): string =>
    `iv-why-curve${isChosen(curve) ? " iv-why-curve-chosen" : ""}${curve.hops.some(({ hop }) => hop.bottleneck) ? " iv-slowest" : ""}${curve.look === null ? "" : ` iv-look-${curve.look}`}`;
  const clamp = (run: number): number => Math.min(x.high, Math.max(x.low, run));
  const readout =
    at === null
      ? ""
      : `At runs of ${formatBytes(at)}: ${hops.map(({ hop }) => `${hop.words} ${formatRate(rateAt(hop.curve, at))}`).join(", ")}.`;
  return (
    <section class="iv-why-part" data-testid="curves" aria-label="Throughput functions">
      <header class="iv-why-head">
        <h3>
          <Term name="throughput function">Throughput functions</Term>
        </h3>
      </header>
      <svg
        class="iv-why-chart"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="slider"
        tabIndex={0}
        aria-label="Length of the runs at which rates are told; arrow keys move it"
        aria-valuemin={x.low}
        aria-valuemax={x.high}
        aria-valuenow={at ?? x.low}
        aria-valuetext={readout || "Press an arrow key"}
        data-testid="curves-chart"
        onPointerMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          setAt(clamp(x.value(((event.clientX - box.left) / box.width) * WIDTH)));
        }}
        onPointerLeave={() => setAt(null)}
        onBlur={() => setAt(null)}
        onKeyDown={(event) => {
          const factor = { ArrowRight: 2, ArrowUp: 2, ArrowLeft: 0.5, ArrowDown: 0.5 }[event.key];
          if (factor === undefined) return;
          event.preventDefault();
          const begin = hops.find(({ number }) => number === selection.hop)?.hop.run ?? Math.sqrt(x.low * x.high);
          setAt(at === null ? clamp(begin) : clamp(at * factor));
        }}
      >
        {powers(y, 10, 4).map((rate) => (
          <g key={rate}>
            <line class="iv-curve-grid" x1={BOX.left} x2={BOX.right} y1={y.place(rate)} y2={y.place(rate)} />
            <text class="iv-curve-text" x={BOX.left - 5} y={y.place(rate) + 4} text-anchor="end">
              {formatRate(rate)}
            </text>
          </g>
        ))}
        <line class="iv-curve-axis" x1={BOX.left} x2={BOX.right} y1={BOX.bottom} y2={BOX.bottom} />
        {powers(x, 2, 4).map((run) => (
          <text
            key={run}
            class="iv-curve-text"
            x={x.place(run)}
            y={HEIGHT - 8}
            text-anchor={x.place(run) > BOX.right - 20 ? "end" : "middle"}
          >
            {formatBytes(run)}
          </text>
        ))}
        {[...others, ...[...told].reverse().sort((one, other) => Number(isChosen(one)) - Number(isChosen(other)))].map(
          (curve) => (
            <g key={curve.hops[0]?.number} class={kind(curve)}>
              <path d={path(curve.hops[0]?.hop.curve ?? [])} onClick={() => select({ hop: curve.hops[0]?.number ?? null })} />
              {curve.hops[0]?.hop.measured.filter(drawable).map((point) => (
                <circle
                  key={point.run}
                  class="iv-why-sample"
                  cx={x.place(point.run)}
                  cy={y.place(Math.max(point.rate, y.low))}
                  r={2}
                />
              ))}
              {curve.hops.map(({ number, hop }) => (
                <circle
                  key={number}
                  class="iv-why-point"
                  cx={x.place(clamp(hop.run))}
                  cy={y.place(Math.max(hop.rate, y.low))}
                  r={4.5}
                  onClick={() => select({ hop: number })}
                >
                  <title>{`${number} ${hop.words}: ${formatRate(hop.rate)} at runs of ${formatBytes(hop.run)}`}</title>
                </circle>
              ))}
            </g>
          ),
        )}
        {at !== null && <line class="iv-curve-drop" x1={x.place(at)} x2={x.place(at)} y1={BOX.top} y2={BOX.bottom} />}
      </svg>
      <ul class="iv-why-legend">
        {told.flatMap((curve) =>
          curve.hops.map(({ number, hop }) => (
            <li key={number} class={kind(curve)}>
              <Sample />
              <button
                type="button"
                class="iv-link"
                aria-pressed={selection.hop === number}
                onClick={() => select({ hop: number })}
              >
                {number} {hop.words}
              </button>{" "}
              <span class="iv-faint">
                {at === null
                  ? `${formatRate(hop.rate)} at ${formatBytes(hop.run)}`
                  : `${formatRate(rateAt(hop.curve, at))} at ${formatBytes(at)}`}
              </span>
            </li>
          )),
        )}
        {others.length > 0 && (
          <li
            class="iv-why-curve"
            data-testid="other-curves"
            title={others.flatMap((curve) => curve.hops.map(({ number, hop }) => `${number} ${hop.words}`)).join(", ")}
          >
            <Sample />
            {counted(others.length, "other")}, faster
          </li>
        )}
      </ul>
    </section>
  );
}

/** A piece of the line before its words. */
function Sample(): JSX.Element {
  return (
    <svg class="iv-why-piece" viewBox="0 0 22 6" aria-hidden="true">
      <path d="M0 3H22" />
    </svg>
  );
}
