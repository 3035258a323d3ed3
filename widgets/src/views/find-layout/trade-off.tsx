// What is gained against what: every layout by its times in two of the uses.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { prettyLayout, useNames } from "#model/layout-question.ts";
import type { FindLayoutPart, ShownRankedLayout } from "#model/types.ts";
import { formatSeconds } from "#model/units.ts";
import { type Axis, logAxis } from "#views/plan/chart.ts";
import { Choice, useQuestion } from "./question.tsx";

const WIDTH = 320;
const HEIGHT = 240;
const BOX = { left: 66, right: WIDTH - 14, top: 12, bottom: HEIGHT - 42 };
/** Layouts whose places differ by fewer pixels are one point. */
const NEAR = 3;

interface TradeOffProps {
  part: FindLayoutPart;
  pointed: string | null;
  point: (layout: string | null) => void;
}

/** The layouts that no other one beats in both of two uses, from the left to the right. */
export function frontOf(layouts: readonly ShownRankedLayout[], first: number, second: number): ShownRankedLayout[] {
  const at = (layout: ShownRankedLayout, use: number): number => layout.times[use] ?? 0;
  const found: ShownRankedLayout[] = [];
  for (const each of [...layouts].sort((a, b) => at(a, first) - at(b, first) || at(a, second) - at(b, second))) {
    const last = found.at(-1);
    if (last === undefined || at(each, second) < at(last, second)) found.push(each);
  }
  return found;
}

export function TradeOff({ part, pointed, point }: TradeOffProps): JSX.Element {
  const names = useNames(useQuestion(part));
  const [chosen, choose] = useState<readonly [number, number]>([0, 1]);
  if (names.length < 2) return <p class="iv-faint">Add a use to see what one use gains and another one loses.</p>;
  const [first, second] = chosen.every((use) => use < names.length) ? chosen : ([0, 1] as const);
  const layouts = [...part.candidates, ...part.others];
  const present = part.present;
  const all = present === null ? layouts : [...layouts, present];
  const uses = names.map((name, use) => [String(use), `${use + 1} ${name}`] as const);
  return (
    <section class="iv-find-trade" aria-label="What is gained against what">
      <h4>What is gained against what</h4>
      <p class="iv-find-axes">
        <Choice
          label="Use across"
          testid="find-across"
          value={String(first)}
          choices={uses}
          choose={(use) => choose([Number(use), second])}
        />
        {" against "}
        <Choice
          label="Use upward"
          testid="find-upward"
          value={String(second)}
          choices={uses}
          choose={(use) => choose([first, Number(use)])}
        />
      </p>
      {all.length > 0 && (
        <Chart all={all} layouts={layouts} first={first} second={second} names={names} {...{ present, pointed, point }} />
      )}
      <p class="iv-faint">Numbers are ranks, the ring is the present layout. Nothing that was planned lies below the line.</p>
    </section>
  );
}

interface ChartProps {
  all: readonly ShownRankedLayout[];
  layouts: readonly ShownRankedLayout[];
  present: ShownRankedLayout | null;
  first: number;
  second: number;
  names: readonly string[];
  pointed: string | null;
  point: (layout: string | null) => void;
}

function Chart({ all, layouts, present, first, second, names, pointed, point }: ChartProps): JSX.Element {
  const x = axisOf(all, first, BOX.left + 12, BOX.right - 12);
  const y = axisOf(all, second, BOX.bottom - 12, BOX.top + 12);
  const place = (layout: ShownRankedLayout) => ({ x: x.place(layout.times[first] ?? 1), y: y.place(layout.times[second] ?? 1) });
  const points = grouped(layouts, place);
  const line = frontOf(all, first, second).map(place);
  const ring = present === null ? null : place(present);
  return (
    <svg
      class="iv-find-chart"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      data-testid="find-chart"
      aria-label={`Times of use ${first + 1} across and of use ${second + 1} upward; the table has the same`}
    >
      <rect class="iv-find-ground" x={BOX.left} y={BOX.top} width={BOX.right - BOX.left} height={BOX.bottom - BOX.top} />
      {ends(x).map((value, at) => (
        <text key={value} class="iv-curve-text" x={x.place(value)} y={BOX.bottom + 16} text-anchor={at === 0 ? "start" : "end"}>
          {formatSeconds(value)}
        </text>
      ))}
      {ends(y).map((value) => (
        <text key={value} class="iv-curve-text" x={BOX.left - 6} y={y.place(value) + 4} text-anchor="end">
          {formatSeconds(value)}
        </text>
      ))}
      <text class="iv-curve-text" x={(BOX.left + BOX.right) / 2} y={HEIGHT - 8} text-anchor="middle">
        use {first + 1}: {names[first]}
      </text>
      <text class="iv-curve-text" transform={`translate(14 ${(BOX.top + BOX.bottom) / 2}) rotate(-90)`} text-anchor="middle">
        use {second + 1}
      </text>
      {line.length > 1 && (
        <polyline class="iv-find-front" points={line.map((at) => `${at.x.toFixed(1)},${at.y.toFixed(1)}`).join(" ")} />
      )}
      {ring !== null && <circle class="iv-find-present" cx={ring.x} cy={ring.y} r={13} />}
      {points.map(({ at, members }) => {
        const ranks = members.map((each) => layouts.indexOf(each) + 1);
        const lead = members[0];
        const lit = members.some((each) => each.layout === pointed);
        return (
          <g
            key={lead?.layout}
            class={`iv-find-point${ranks.includes(1) ? " iv-find-best" : ""}${lit ? " iv-find-lit" : ""}`}
            onPointerEnter={() => point(lead?.layout ?? null)}
            onPointerLeave={() => point(null)}
          >
            <title>
              {members
                .map(
                  (each) =>
                    `${prettyLayout(each.layout)}: ${formatSeconds(each.times[first] ?? 0)}, ${formatSeconds(each.times[second] ?? 0)}`,
                )
                .join("\n")}
            </title>
            <circle cx={at.x} cy={at.y} r={9} />
            <text x={at.x} y={at.y + 4} text-anchor="middle">
              {ranks[0]}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

function axisOf(layouts: readonly ShownRankedLayout[], use: number, from: number, to: number): Axis {
  const times = layouts.map((each) => each.times[use] ?? 1).filter((seconds) => seconds > 0);
  const [low, high] = [Math.min(...times), Math.max(...times)];
  return low === high ? logAxis(low / 1.1, high * 1.1, from, to) : logAxis(low, high, from, to);
}

const ends = ({ low, high }: Axis): number[] => [low, high];

interface Placed {
  at: { x: number; y: number };
  members: ShownRankedLayout[];
}

/** The layouts by their places, the best in front of all others. */
function grouped(layouts: readonly ShownRankedLayout[], place: (layout: ShownRankedLayout) => Placed["at"]): Placed[] {
  const found: Placed[] = [];
  for (const each of layouts) {
    const at = place(each);
    const near = found.find((other) => Math.hypot(other.at.x - at.x, other.at.y - at.y) < NEAR);
    if (near === undefined) found.push({ at, members: [each] });
    else near.members.push(each);
  }
  return found.reverse();
}
