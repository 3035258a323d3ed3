// The block sizes that sustain the throughput, as a region in the plane of the two sizes; by hand, its point can be moved.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type { ShownRegion } from "#model/types.ts";
import { formatCount, formatRate } from "#model/units.ts";
import { Term } from "#views/controls/term.tsx";
import { logAxis, powers } from "./chart.ts";

const WIDTH = 232;
const HEIGHT = 176;
const BOX = { left: 58, right: WIDTH - 8, top: 8, bottom: HEIGHT - 38 };

/** Moves the point of a region to other block sizes; `moving` while the pointer holds it. */
export type MoveBlocks = (x: number, y: number, moving: boolean) => void;

const STEPS: Record<string, [number, number]> = { ArrowRight: [2, 1], ArrowLeft: [0.5, 1], ArrowUp: [1, 2], ArrowDown: [1, 0.5] };

/** Pixels of the ring around a region that is too small to be seen. */
const RING = 12;

/** The middle of a region that is smaller than its ring; null where it is seen without. */
export function smallRegion(corners: readonly { x: number; y: number }[]): { x: number; y: number } | null {
  if (corners.length === 0) return null;
  const [xs, ys] = [corners.map((corner) => corner.x), corners.map((corner) => corner.y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  return Math.max(right - left, bottom - top) >= RING ? null : { x: (left + right) / 2, y: (top + bottom) / 2 };
}

export function Region({ region, move }: { region: ShownRegion; move: MoveBlocks | null }): JSX.Element {
  const picture = useRef<SVGSVGElement>(null);
  const held = useRef(false);
  const [mostX = 2, mostY = 2] = region.most;
  const [chosenX = 1, chosenY = 1] = region.chosen;
  const x = logAxis(1, Math.max(2, mostX), BOX.left, BOX.right);
  const y = logAxis(1, Math.max(2, mostY), BOX.bottom, BOX.top);
  const place = ([a = 1, b = 1]: readonly number[]): string => `${x.place(a).toFixed(1)},${y.place(b).toFixed(1)}`;
  const ring = smallRegion(region.corners.map(([a = 1, b = 1]) => ({ x: x.place(a), y: y.place(b) })));
  const whole = (value: number, most: number): number => Math.round(Math.min(most, Math.max(1, value)));
  const at = (event: PointerEvent): [number, number] => {
    const box = picture.current?.getBoundingClientRect();
    if (box === undefined) return [chosenX, chosenY];
    const [left, top] = [((event.clientX - box.left) / box.width) * WIDTH, ((event.clientY - box.top) / box.height) * HEIGHT];
    return [whole(x.value(left), mostX), whole(y.value(top), mostY)];
  };
  const said = `${region.x} = ${formatCount(chosenX)}, ${region.y} = ${formatCount(chosenY)}`;
  return (
    <section class="iv-why-part" data-testid="region" aria-label="Block sizes">
      <header class="iv-why-head">
        <h3>
          <Term name="block">Block sizes</Term> that sustain {formatRate(region.throughput)}
        </h3>
        <span class="iv-faint">{said}</span>
      </header>
      {region.corners.length === 0 && <p class="iv-lacks">No block sizes sustain it.</p>}
      <svg
        ref={picture}
        class="iv-why-chart iv-region-chart"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="group"
        aria-label={`Block sizes that sustain ${formatRate(region.throughput)}; ${said}`}
      >
        <rect class="iv-region-ground" x={BOX.left} y={BOX.top} width={BOX.right - BOX.left} height={BOX.bottom - BOX.top} />
        {powers(x, 2, 4).map((value) => (
          <g key={value}>
            <line class="iv-curve-grid" x1={x.place(value)} x2={x.place(value)} y1={BOX.top} y2={BOX.bottom} />
            <text
              class="iv-curve-text"
              x={x.place(value)}
              y={BOX.bottom + 15}
              text-anchor={x.place(value) > BOX.right - 15 ? "end" : "middle"}
            >
              {formatCount(value)}
            </text>
          </g>
        ))}
        {powers(y, 2, 5).map((value) => (
          <g key={value}>
            <line class="iv-curve-grid" x1={BOX.left} x2={BOX.right} y1={y.place(value)} y2={y.place(value)} />
            <text class="iv-curve-text" x={BOX.left - 5} y={y.place(value) + 4} text-anchor="end">
              {formatCount(value)}
            </text>
          </g>
        ))}
        {region.corners.length > 0 && <polygon class="iv-region" points={region.corners.map(place).join(" ")} />}
        {ring !== null && <circle class="iv-region-ring" cx={ring.x} cy={ring.y} r={RING} />}
        <text class="iv-curve-text" x={(BOX.left + BOX.right) / 2} y={HEIGHT - 8} text-anchor="middle">
          {region.x}
        </text>
        <text class="iv-curve-text" transform={`translate(12 ${(BOX.top + BOX.bottom) / 2}) rotate(-90)`} text-anchor="middle">
          {region.y}
        </text>
        <circle
          class={`iv-region-point${move === null ? "" : " iv-region-handle"}`}
          data-testid="region-point"
          cx={x.place(whole(chosenX, mostX))}
          cy={y.place(whole(chosenY, mostY))}
          r={move === null ? 5 : 8}
          role={move === null ? undefined : "slider"}
          tabIndex={move === null ? undefined : 0}
          aria-label={move === null ? undefined : "Block sizes; arrow keys double and halve them"}
          aria-valuenow={move === null ? undefined : chosenX}
          aria-valuetext={move === null ? undefined : said}
          onPointerDown={(event) => {
            if (move === null) return;
            held.current = true;
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerMove={(event) => held.current && move?.(...at(event), true)}
          onPointerUp={(event) => {
            if (held.current) move?.(...at(event), false);
            held.current = false;
          }}
          onPointerCancel={() => (held.current = false)}
          onKeyDown={(event) => {
            const step = STEPS[event.key];
            if (step === undefined || move === null) return;
            event.preventDefault();
            move(whole(chosenX * step[0], mostX), whole(chosenY * step[1], mostY), false);
          }}
        />
      </svg>
    </section>
  );
}
