// The switch of a Data Vortex, to watch and to try: play, pause and step, follow a packet, and change what is offered.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { BoardView } from "#lib/board-view.tsx";
import { Button } from "#lib/button.tsx";
import { wantsStillness } from "#lib/hooks.ts";
import { useId } from "#lib/use-id.ts";
import { counted, formatCount } from "#model/units.ts";
import { KINDS, type Kind, packetsOf } from "#model/vortex/kinds.ts";
import { Play, type Way, wayWords } from "#model/vortex/play.ts";
import type { SwitchShape } from "#model/vortex/switch.ts";
import { Chart, useCurve } from "./curve.tsx";
import { SwitchStage } from "./stage.ts";
import "./switch.css";

/** Cycles in a second. */
const PACES = { "1 cycle a second": 1, "3 cycles a second": 3, "10 cycles a second": 10, "60 cycles a second": 60 } as const;
type Pace = keyof typeof PACES;
/** From this pace on packets do not glide: they would blur. */
const GLIDES_BELOW = 20;
/** Milliseconds between two looks at the figures. */
const TOLD_EVERY = 200;
/** Cycles from which on the means say something. */
const SETTLED = 40;
const MOST = { angles: 16, toggled: 8 } as const;

export function SwitchView({ given }: { given: SwitchShape }): JSX.Element {
  const [shape, setShape] = useState(given);
  const [kind, setKind] = useState<Kind>("uniform");
  const [load, setLoad] = useState(0.2);
  const [pace, setPace] = useState<Pace>("3 cycles a second");
  const [playing, setPlaying] = useState(() => !wantsStillness());
  const [run, begin] = useState(0);
  const [followed, follow] = useState<Way | null>(null);
  const [, look] = useState(0);
  const stage = useMemo(() => new SwitchStage(), []);
  const play = useMemo(() => new Play(shape, packetsOf(kind, shape, load, 1 + run)), [shape, kind, run]);
  const scene = useMemo(() => ({ shape }), [shape]);
  const now = useRef({ play, followed, phase: 1, next: false });
  useEffect(() => setShape(given), [given]);
  if (now.current.play !== play) {
    now.current = { play, followed: null, phase: 1, next: false };
    if (followed !== null) follow(null);
  }
  now.current.followed = followed;
  play.traffic.chances.load = load;
  const show = (): void => stage.mark({ play: now.current.play, phase: now.current.phase, followed: now.current.followed });
  const step = (): void => {
    const here = now.current;
    here.play.step();
    if (!here.next) return;
    const move = here.play.moves.find((each) => each.kind === "enters");
    if (move === undefined) return;
    here.next = false;
    here.followed = move.way;
    follow(move.way);
  };
  const stepOnce = (): void => {
    setPlaying(false);
    step();
    now.current.phase = 1;
    show();
    look((count) => count + 1);
  };
  const followNext = (): void => {
    now.current.next = true;
    follow(null);
    if (!playing) stepOnce();
  };
  useEffect(() => {
    if (!playing) return;
    const [still, rate] = [wantsStillness(), PACES[pace]];
    let [last, told, request] = [performance.now(), 0, 0];
    const frame = (time: number): void => {
      const here = now.current;
      here.phase += (Math.min(250, time - last) / 1000) * rate;
      last = time;
      while (here.phase >= 1) {
        step();
        here.phase -= 1;
      }
      const exact = here.phase;
      if (still || rate > GLIDES_BELOW) here.phase = 1;
      show();
      here.phase = exact;
      if (time - told > TOLD_EVERY) {
        told = time;
        look((count) => count + 1);
      }
      request = requestAnimationFrame(frame);
    };
    request = requestAnimationFrame(frame);
    return () => {
      cancelAnimationFrame(request);
      now.current.phase = 1;
      show();
    };
  }, [playing, pace, play]);
  useEffect(show, [play, followed]);

  const points = useCurve(shape, kind);
  const recent = play.recent();
  const { found } = play;
  const settled = play.passed.length >= SETTLED;
  const inside = found.entered - found.delivered;
  const waiting = found.offered - found.refused - found.entered;
  const idle = points[0]?.total ?? 10;
  const most = Math.min(1, Math.max(0.1, ...points.map(({ throughput }) => throughput)) * 1.25);
  const ports = shape.heights * shape.inputs.length;
  const told = `Cycle ${formatCount(found.cycle)}: ${counted(inside, "packet")} in the switch, ${formatCount(waiting)} waiting`;
  return (
    <div class="iv-switch" data-testid="switch" data-cycle={found.cycle} data-ports={ports}>
      <div class="iv-switch-bar">
        <Choice
          label="Traffic"
          testid="switch-traffic"
          value={kind}
          options={Object.keys(KINDS)}
          words={KINDS}
          choose={(name) => setKind(name as Kind)}
        />
        <Sizes shape={shape} setShape={setShape} />
        <Button label="Begin afresh" quiet testid="switch-afresh" onClick={() => begin(run + 1)} />
      </div>
      <div class="iv-switch-bar" data-toolbar>
        <Button
          label={playing ? "Pause" : "Play"}
          icon={playing ? "pause" : "run"}
          testid="switch-play"
          onClick={() => setPlaying(!playing)}
        />
        <Button label="Step" testid="switch-step" title="One cycle" onClick={stepOnce} />
        <Choice
          label="Pace"
          testid="switch-pace"
          value={pace}
          options={Object.keys(PACES)}
          choose={(name) => setPace(name as Pace)}
        />
        <Button
          label={followed === null ? "Follow a packet" : "Follow another"}
          testid="switch-follow"
          title="The next one that enters"
          onClick={followNext}
        />
        {followed !== null && <Button label="Let go" quiet testid="switch-let-go" onClick={() => follow(null)} />}
        <Load load={load} setLoad={setLoad} />
      </div>
      <BoardView
        board={stage}
        scene={scene}
        marks={stage.shown}
        subject={`${shape.heights} ${shape.angles}`}
        testid="switch-board"
        zooms="switch-zoom"
        class="iv-switch-board"
        label={`The cylinders of the switch, unrolled: ${shape.heights} heights at ${counted(shape.angles, "angle")}. Space plays, the right arrow steps, F follows a packet.`}
        status={playing ? "" : told}
        more={{ tabIndex: 0 }}
        press={(at) => ({
          end: (_, moved) => {
            const way = moved ? null : stage.packetAt(at);
            if (way !== null) follow(way);
          },
        })}
        point={() => undefined}
        keys={({ key, target }) => {
          if (target instanceof HTMLButtonElement) return false;
          if (key === " ") setPlaying(!playing);
          else if (key === "ArrowRight") stepOnce();
          else if (key === "f") followNext();
          else return false;
          return true;
        }}
      />
      <Legend />
      <p class="iv-switch-told" data-testid="switch-told">
        {told}. Over the last {formatCount(play.passed.length)} cycles: <b>{fixed(recent.throughput, 3)}</b> delivered per port
        and cycle, <b>{fixed(recent.latency, 1)}</b> cycles in the switch, <b>{fixed(recent.total, 1)}</b> with the wait at the
        input.
        {found.refused > 0 && ` ${formatCount(found.refused)} found their input full.`}
      </p>
      {followed !== null && (
        <p class="iv-switch-way" data-testid="switch-way">
          {wayWords(shape, followed)}
        </p>
      )}
      <div class="iv-switch-charts">
        <Chart
          title="Delivered per port and cycle"
          words="dotted, what is offered"
          points={points}
          lines={{ delivered: (point) => point.throughput }}
          most={most}
          now={{ load, value: settled ? recent.throughput : Number.NaN }}
          diagonal
        />
        <Chart
          title="Cycles of a packet"
          words="solid in the switch, dashed with its wait"
          points={points}
          lines={{ "in the switch": (point) => point.latency, "with the wait": (point) => point.total }}
          most={Math.ceil((4 * idle) / 10) * 10}
          now={{ load, value: settled ? recent.total : Number.NaN }}
        />
      </div>
    </div>
  );
}

const fixed = (value: number, places: number): string => (Number.isFinite(value) ? value.toFixed(places) : "–");

interface ChoiceProps {
  label: string;
  testid: string;
  value: string;
  options: readonly string[];
  words?: Readonly<Record<string, string>>;
  choose: (value: string) => void;
}

function Choice({ label, testid, value, options, words, choose }: ChoiceProps): JSX.Element {
  return (
    <label class="iv-switch-choice">
      {label}
      <select class="iv-input" data-testid={testid} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {words?.[option] ?? option}
          </option>
        ))}
      </select>
    </label>
  );
}

function Load({ load, setLoad }: { load: number; setLoad: (load: number) => void }): JSX.Element {
  const id = useId();
  return (
    <span class="iv-switch-load">
      <label for={id}>Offered load</label>
      <input
        id={id}
        type="range"
        min={0}
        max={1}
        step={0.01}
        value={load}
        data-testid="switch-load"
        aria-valuetext={`${load.toFixed(2)} packets per port and cycle`}
        onInput={(event) => setLoad(Number(event.currentTarget.value))}
      />
      <output for={id}>{load.toFixed(2)}</output>
      <Button label="Empty" quiet testid="switch-empty" onClick={() => setLoad(0)} />
      <Button label="Saturated" quiet testid="switch-saturated" onClick={() => setLoad(1)} />
    </span>
  );
}

/** Heights, angles, and the angles with ports. */
function Sizes({ shape, setShape }: { shape: SwitchShape; setShape: (shape: SwitchShape) => void }): JSX.Element {
  const { heights, angles, inputs } = shape;
  const withInputs = (chosen: readonly number[], more: Partial<SwitchShape> = {}): void =>
    setShape({ ...shape, ...more, inputs: chosen, outputs: chosen });
  const powers = Array.from({ length: 10 }, (_, power) => 2 ** (power + 1));
  const sizes = Array.from({ length: MOST.angles }, (_, place) => place + 1);
  const known = (values: number[], value: number): string[] => [...new Set([...values, value])].sort((a, b) => a - b).map(String);
  return (
    <>
      <Choice
        label="Heights"
        testid="switch-heights"
        value={String(heights)}
        options={known(powers, heights)}
        choose={(text) => setShape({ ...shape, heights: Number(text) })}
      />
      <Choice
        label="Angles"
        testid="switch-angles"
        value={String(angles)}
        options={known(sizes, angles)}
        choose={(text) => {
          const count = Number(text);
          const kept =
            inputs.length === angles
              ? Array.from({ length: count }, (_, angle) => angle)
              : inputs.filter((angle) => angle < count);
          withInputs(kept.length > 0 ? kept : [0], { angles: count });
        }}
      />
      {angles > 1 && angles <= MOST.toggled && (
        <span class="iv-switch-choice" role="group" aria-label="Angles at which packets enter and leave">
          Ports at
          {Array.from({ length: angles }, (_, angle) => {
            const on = inputs.includes(angle);
            const others = on ? inputs.filter((each) => each !== angle) : [...inputs, angle].sort((a, b) => a - b);
            return (
              <Button
                key={angle}
                label={String(angle)}
                title={`Angle ${angle}`}
                testid={`switch-input-${angle}`}
                pressed={on}
                disabled={on && inputs.length === 1}
                onClick={() => withInputs(others)}
              />
            );
          })}
        </span>
      )}
    </>
  );
}

function Legend(): JSX.Element {
  const mark = (className: string, path: string, words: string): JSX.Element => (
    <li>
      <svg viewBox="0 0 26 14" width="26" height="14" aria-hidden="true" class={className}>
        <path d={path} />
      </svg>
      {words}
    </li>
  );
  return (
    <ul class="iv-switch-legend">
      {mark("iv-switch-one", "M3 1H23V13H3z", "heights whose bit is 1")}
      {mark("iv-switch-inwards", "M10 2L20 7L10 12z", "inwards: its bit is right")}
      {mark("iv-switch-stays", "M13 3a4 4 0 1 1-.01 0z", "stays and changes its bit")}
      {mark("iv-switch-deflected", "M13 1L19 7L13 13L7 7z", "deflected: told to stay")}
      {mark("iv-switch-signal", "M2 7H19M19 2V12", "signal: “I take that node”")}
      {mark("iv-switch-circles", "M13 3a4 4 0 1 1-.01 0z", "circles to its angle")}
    </ul>
  );
}
