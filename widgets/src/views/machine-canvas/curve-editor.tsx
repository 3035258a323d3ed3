// The throughput function of a channel by its points, both axes logarithmic: drag them, or move them by keys.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import type { DrawnFunction } from "#model/types.ts";
import { formatBytes, formatRate } from "#model/units.ts";
import { Term } from "#views/controls/term.tsx";
import { useEditing } from "./edits.ts";
import { Refused } from "./field.tsx";

const WIDTH = 300;
const HEIGHT = 178;
const BOX = { left: 62, right: WIDTH - 10, top: 10, bottom: HEIGHT - 24 };
/** What an arrow key multiplies by, and with Shift. */
const COARSE = 2 ** 0.5;
const FINE = 1.02;

interface Range {
  low: number;
  high: number;
}

export interface CurvePointXY {
  run: number;
  rate: number;
}

/** Where a point may go: between its neighbours, for rates do not fall as runs grow. */
export function within(points: readonly CurvePointXY[], index: number, to: CurvePointXY): CurvePointXY {
  const [before, after] = [points[index - 1], points[index + 1]];
  const run = Math.max(
    before === undefined ? 1 : before.run * 1.01,
    Math.min(after === undefined ? 2 ** 50 : after.run / 1.01, to.run),
  );
  const rate = Math.max(before?.rate ?? 1, Math.min(after?.rate ?? 1e18, to.rate));
  return { run: Number(run.toPrecision(4)), rate: Number(rate.toPrecision(4)) };
}

/** The rate of a function at a run: straight between points in logarithms, of slope 1 below them, flat above. */
export function rateAt(points: readonly CurvePointXY[], run: number): number {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return 0;
  if (run <= first.run) return first.rate * (run / first.run);
  if (run >= last.run) return last.rate;
  const next = points.findIndex((point) => point.run > run);
  const [a, b] = [points[next - 1] as CurvePointXY, points[next] as CurvePointXY];
  return a.rate * (run / a.run) ** (Math.log(b.rate / a.rate) / Math.log(b.run / a.run));
}

interface CurveEditorProps {
  channel: string;
  shape: DrawnFunction;
  /** Where the plan works on it. */
  operating: CurvePointXY | null;
}

export function CurveEditor({ channel, shape, operating }: CurveEditorProps): JSX.Element {
  const editing = useEditing();
  const svg = useRef<SVGSVGElement>(null);
  const [drag, setDrag] = useState<{ index: number; at: CurvePointXY; over: DrawnFunction; number: number } | null>(null);
  const own = shape.points.map(([run = 1, rate = 1]) => ({ run, rate }));
  const measured = shape.measured.map(([run = 1, rate = 1]) => ({ run, rate })).filter(({ run, rate }) => run > 0 && rate > 0);
  // What was let go of stays where it is until the kernel says so too, or says why not.
  const held = drag !== null && drag.over === shape && (drag.number === Infinity || !editing.answered(drag.number)) ? drag : null;
  const points = held === null ? own : own.map((point, index) => (index === held.index ? held.at : point));
  const [first, last] = [own[0], own.at(-1)];
  if (first === undefined || last === undefined) return <p class="iv-faint">This function has no points.</p>;
  const runs: Range = {
    low: Math.max(1, Math.min(first.run / 8, operating?.run ?? Infinity, 512)),
    high: Math.max(last.run * 8, operating?.run ?? 0, 2 ** 24),
  };
  const all = [...own, ...measured, ...(operating === null ? [] : [operating])].map(({ rate }) => rate);
  const rates: Range = { low: Math.min(...all, rateAt(own, runs.low), Math.max(...all) / 30) / 1.5, high: Math.max(...all) * 3 };
  const place = (value: number, { low, high }: Range, from: number, to: number): number =>
    from + (Math.log(value / low) / Math.log(high / low)) * (to - from);
  const x = (run: number): number => place(run, runs, BOX.left, BOX.right);
  const y = (rate: number): number => place(Math.max(rate, rates.low), rates, BOX.bottom, BOX.top);
  const atPointer = (event: PointerEvent | MouseEvent): CurvePointXY | null => {
    const matrix = svg.current?.getScreenCTM();
    if (matrix === null || matrix === undefined) return null;
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const share = (value: number, from: number, to: number, { low, high }: Range): number =>
      low * (high / low) ** ((value - from) / (to - from));
    return { run: share(point.x, BOX.left, BOX.right, runs), rate: share(point.y, BOX.bottom, BOX.top, rates) };
  };
  const send = (index: number, at: CurvePointXY): void => {
    const number = editing.send("curve", { do: "set-point", channel, point: index, run: at.run, rate: at.rate });
    setDrag({ index, at, over: shape, number });
  };
  const add = (run: number, rate: number | null): void =>
    void editing.send("curve", { do: "add-point", channel, run: Math.round(run), rate });
  const widest = (): number => {
    // In the middle of the widest gap; with one point, above it.
    const gaps = own
      .slice(1)
      .map((point, index) => ({ ratio: point.run / (own[index]?.run ?? 1), run: Math.sqrt(point.run * (own[index]?.run ?? 1)) }));
    const best = gaps.sort((a, b) => b.ratio - a.ratio)[0];
    return best === undefined || best.ratio < 2 ? last.run * 8 : best.run;
  };
  const key = (event: KeyboardEvent, index: number): void => {
    const point = points[index];
    if (point === undefined) return;
    const by = event.shiftKey ? FINE : COARSE;
    const to = {
      ArrowUp: { run: point.run, rate: point.rate * by },
      ArrowDown: { run: point.run, rate: point.rate / by },
      ArrowRight: { run: point.run * by, rate: point.rate },
      ArrowLeft: { run: point.run / by, rate: point.rate },
    }[event.key];
    if (to !== undefined) send(index, within(own, index, to));
    else if (event.key === "Delete" || event.key === "Backspace")
      editing.send("curve", { do: "remove-point", channel, point: index });
    else if (event.key === "+" || event.key === "Insert")
      add(Math.sqrt(point.run * (own[index + 1]?.run ?? point.run * 64)), null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const steps = 72;
  const line = Array.from({ length: steps + 1 }, (_, step) => {
    const run = runs.low * (runs.high / runs.low) ** (step / steps);
    return {
      run,
      rate:
        shape.smooth && held === null && shape.latency !== null
          ? run / (shape.latency + run / shape.bandwidth)
          : rateAt(points, run),
    };
  });
  const marks = shape.smooth && held === null ? line : [...line, ...points].sort((a, b) => a.run - b.run);
  return (
    <div class="iv-mc-curve">
      <svg
        ref={svg}
        class="iv-curve"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="group"
        aria-label={`Throughput function of ${channel}, with ${own.length} points`}
        data-testid="curve-editor"
        onDblClick={(event) => {
          const at = shape.editable ? atPointer(event) : null;
          if (at !== null) add(at.run, null);
        }}
      >
        {decades(rates).map((rate) => (
          <g key={rate}>
            <line class="iv-curve-grid" x1={BOX.left} x2={BOX.right} y1={y(rate)} y2={y(rate)} />
            <text class="iv-curve-text" x={BOX.left - 6} y={y(rate) + 4} text-anchor="end">
              {formatRate(rate)}
            </text>
          </g>
        ))}
        <line class="iv-curve-axis" x1={BOX.left} x2={BOX.right} y1={BOX.bottom} y2={BOX.bottom} />
        {[runs.low, Math.sqrt(runs.low * runs.high), runs.high].map((run, index) => (
          <text
            key={index}
            class="iv-curve-text"
            x={x(run)}
            y={HEIGHT - 8}
            text-anchor={(["start", "middle", "end"] as const)[index] ?? "middle"}
          >
            {formatBytes(2 ** Math.round(Math.log2(run)))}
          </text>
        ))}
        <path
          class="iv-curve-line"
          d={`M${marks.map(({ run, rate }) => `${x(run).toFixed(1)} ${y(rate).toFixed(1)}`).join("L")}`}
        />
        {measured.map(({ run, rate }) => (
          <circle key={run} class="iv-curve-sample" cx={x(run)} cy={y(rate)} r={2.2} />
        ))}
        {operating !== null && (
          <>
            <line class="iv-curve-drop" x1={x(operating.run)} x2={x(operating.run)} y1={y(operating.rate)} y2={BOX.bottom} />
            <circle class="iv-mc-operating" cx={x(operating.run)} cy={y(operating.rate)} r={4} />
          </>
        )}
        {shape.editable &&
          points.map((point, index) => (
            <circle
              key={index}
              class="iv-mc-point"
              cx={x(point.run)}
              cy={y(point.rate)}
              r={6}
              tabindex={0}
              role="slider"
              data-testid={`curve-point-${index}`}
              aria-label={`Point ${index + 1} of ${points.length}`}
              aria-valuemin={1}
              aria-valuemax={Math.round(rates.high)}
              aria-valuenow={Math.round(point.rate)}
              aria-valuetext={`${formatRate(point.rate)} with runs of ${formatBytes(point.run)}`}
              onKeyDown={(event) => key(event, index)}
              onPointerDown={(event) => {
                event.stopPropagation();
                event.currentTarget.setPointerCapture(event.pointerId);
                setDrag({ index, at: point, over: shape, number: Infinity });
              }}
              onPointerMove={(event) => {
                const at = drag?.number === Infinity && drag.index === index ? atPointer(event) : null;
                if (at !== null) setDrag({ index, at: within(own, index, at), over: shape, number: Infinity });
              }}
              onPointerUp={() => {
                if (drag?.number !== Infinity || drag.index !== index) return;
                if (drag.at.run === own[index]?.run && drag.at.rate === own[index]?.rate) setDrag(null);
                else send(index, drag.at);
              }}
              onPointerCancel={() => setDrag(null)}
            >
              <title>{`${formatRate(point.rate)} with runs of ${formatBytes(point.run)}`}</title>
            </circle>
          ))}
      </svg>
      <div class="iv-mc-row">
        {shape.editable ? (
          <>
            <Button label="Add a point" icon="add" testid="add-point" onClick={() => add(widest(), null)} />
            <span class="iv-faint">Drag a point, or use its arrow keys; Delete removes it.</span>
          </>
        ) : (
          <span class="iv-faint">This function depends on more than the run: its points are only shown.</span>
        )}
      </div>
      <p class="iv-faint iv-mc-key">
        {operating !== null && (
          <>
            <i class="iv-mc-dot iv-mc-dot-operating" /> the plan: {formatRate(operating.rate)} with a <Term name="run">run</Term>{" "}
            of {formatBytes(operating.run)}{" "}
          </>
        )}
        {measured.length > 0 && (
          <>
            <i class="iv-mc-dot iv-mc-dot-measured" /> measured
          </>
        )}
      </p>
      <Refused name="curve" />
    </div>
  );
}

/** Whole powers of ten in a range, at most four. */
function decades({ low, high }: Range): number[] {
  const found: number[] = [];
  for (let power = Math.ceil(Math.log10(low)); 10 ** power <= high; power += 1) found.push(10 ** power);
  const every = Math.ceil(found.length / 4);
  return found.filter((_, place) => (found.length - 1 - place) % every === 0);
}
