// One chunk in motion: it leaves in the runs of a hop, lies in the next memory as its layout says, and goes on in the runs of the next
// hop. Everything is computed from the layouts and the plan.

import type { JSX, RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { fitCanvas, useDark, useRatio, useSize, wantsStillness } from "#lib/hooks.ts";
import { drawable } from "#lib/recorder.ts";
import { WholeWindow } from "#lib/whole-window.tsx";
import { byName } from "#model/by-name.ts";
import { spacesOf } from "#model/ends.ts";
import { type Linearization, linearize } from "#model/layouts/linearization.ts";
import type { PartOfInstance } from "#model/layouts/requests.ts";
import { measuredOf } from "#model/measured.ts";
import { isEverything } from "#model/part.ts";
import { useSelection } from "#model/selection.ts";
import { selectedTrack, type Track, trackColour, tracksOf } from "#model/tracks.ts";
import { counted, formatBytes, formatCount, formatSeconds, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { shortLayout, within } from "#model/words.ts";
import { SavePicture } from "#views/controls/save-picture.tsx";
import { drawMotion, type MotionInk, nextArrival, stageOf } from "./draw.ts";
import { advanced } from "./moment.ts";
import { type MotionPicture, motionPicture } from "./picture.ts";

/** Seconds on the screen that a hop takes on average. */
const PACES = { slow: 8, medium: 3, fast: 1 } as const;
type Pace = keyof typeof PACES;

/** How the seconds are shared between hops: evenly, or as the chunk takes them by the plan or in the last run. */
type Clock = "even" | "planned" | "measured";

/** A chunk that can be followed: the track of its path, and its number on that path. */
interface Followed {
  readonly track: Track;
  readonly picture: MotionPicture;
  readonly chunk: number;
}

/** The selected chunk, on the selected path of the plan or else on the first one; a sentence where none can be followed. */
export function useMotion(): Followed | string {
  const { connection, snapshot } = useView();
  const { plan } = snapshot.panes;
  const [selection] = useSelection();
  const tracks = plan === null ? [] : tracksOf(plan, null);
  const track = selectedTrack(tracks, selection) ?? tracks[0];
  const path = track?.path;
  const { dims, fields } = spacesOf(connection.settings, snapshot);
  const spaces = JSON.stringify([dims, fields]);
  const chunk = path === undefined ? 0 : Math.min(selection.chunk ?? 0, path.chunks - 1);
  const stale = snapshot.faults.stale.includes("plan");
  return useMemo(() => {
    if (track === undefined || path === undefined) return "There is no plan yet.";
    if (stale) return "The plan is being made anew.";
    if (!isEverything(connection.settings.part)) return "A chunk can be followed where the whole array moves.";
    const { box } = path;
    const shape = byName(box?.shape ?? []);
    const origin = byName(box?.origin ?? []);
    const own = dims.map(({ name, size }) => ({ name, size: shape.get(name) ?? size }));
    const layouts = path.stops.map((stop) => stop.layout);
    const linears = (box === null ? layouts : [box.source, ...layouts.slice(1, -1), box.destination]).map(
      (layout) => linearize(layout, own, fields).linear,
    );
    const ends = [layouts[0], layouts.at(-1)].map((layout = ""): PartOfInstance | null => {
      const { linear } = linearize(layout, dims, fields);
      const first = dims.map(({ name }) => origin.get(name) ?? 0);
      return linear === null ? null : { linear, first, sizes: own.map(({ size }) => size) };
    });
    if ([...linears, ...ends].includes(null)) return "This array is too large to be drawn.";
    const inside = box === null ? null : (ends as [PartOfInstance, PartOfInstance]);
    const picture = motionPicture(path, linears as Linearization[], chunk, inside);
    return picture === null ? "This chunk is too large to be drawn." : { track, picture, chunk };
  }, [path, plan, stale, connection.settings.part, spaces, chunk]);
}

/** The card of the chunk in motion. */
export function Motion({ close }: { close: () => void }): JSX.Element {
  const found = useMotion();
  return (
    <WholeWindow name="One chunk in motion" testid="motion" class="iv-motion iv-card">
      {(tool) =>
        typeof found === "string" ? (
          <header class="iv-card-head">
            <h2>One chunk in motion</h2>
            <p class="iv-faint">{found}</p>
            <Button label="Close" icon="remove" iconOnly testid="motion-close" onClick={close} />
          </header>
        ) : (
          <Moving
            key={`${found.track.number} ${found.chunk} ${found.picture.hops.length}`}
            {...found}
            tool={tool}
            close={close}
          />
        )
      }
    </WholeWindow>
  );
}

interface MovingProps extends Followed {
  tool: JSX.Element;
  close: () => void;
}

function Moving({ track, picture, chunk, tool, close }: MovingProps): JSX.Element {
  const { snapshot } = useView();
  const { path, firstHop } = track;
  const several = (snapshot.panes.plan?.paths.length ?? 0) > 1;
  const measured = measuredOf(snapshot);
  const hops = picture.hops.length;
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(hops);
  const [playing, setPlaying] = useState(() => !wantsStillness());
  const [pace, setPace] = useState<Pace>("medium");
  const [wanted, setClock] = useState<Clock>("even");
  const clock = wanted === "measured" && measured === null ? "planned" : wanted;
  const seconds = useMemo(
    () =>
      path.hops.map(
        ({ rate }, hop) => picture.bytes / ((clock === "measured" ? measured?.rates[firstHop + hop] : undefined) ?? rate),
      ),
    [path, firstHop, picture, clock, measured?.run],
  );
  const total = seconds.reduce((sum, each) => sum + each, 0);
  const lasting = seconds.map((each) => PACES[pace] * (clock === "even" ? 1 : (hops * each) / total));
  const moment = useRef({ at, lasting });
  moment.current = { at, lasting };
  useEffect(() => {
    if (!playing) return;
    if (moment.current.at >= hops) setAt((moment.current.at = 0));
    let [last, request] = [performance.now(), 0];
    const frame = (now: number): void => {
      const next = advanced(moment.current.at, (now - last) / 1000, moment.current.lasting);
      last = now;
      moment.current.at = next;
      setAt(next);
      if (next >= hops) setPlaying(false);
      else if (wantsStillness()) request = setTimeout(() => frame(performance.now()), 500) as unknown as number;
      else request = requestAnimationFrame(frame);
    };
    request = requestAnimationFrame(frame);
    return () => {
      cancelAnimationFrame(request);
      clearTimeout(request);
    };
  }, [playing, hops]);
  const go = (to: number): void => {
    setPlaying(false);
    setAt(Math.max(0, Math.min(hops, to)));
  };
  const step = (): void => {
    const from = at >= hops ? 0 : at;
    const hop = Math.floor(from);
    go(hop + nextArrival(picture.hops[hop]?.groups.length ?? 1, from - hop));
  };
  const now = Math.min(hops - 1, Math.floor(at));
  const share = at - now;
  const spent = seconds.slice(0, now).reduce((sum, each) => sum + each, 0) + share * (seconds[now] ?? 0);
  const done = (hop: number): number =>
    Math.floor((picture.hops[hop]?.requests ?? 0) * Math.max(0, Math.min(1, at - hop)) + 1e-9);
  const told = `Hop ${firstHop + now}, ${path.hops[now]?.words}: ${formatCount(done(now))} of ${counted(picture.hops[now]?.requests ?? 0, "request")}`;
  return (
    <>
      <header class="iv-card-head iv-motion-head" data-toolbar>
        <h2>One chunk in motion</h2>
        <p class="iv-faint" data-testid="motion-chunk">
          {several && (
            <>
              <i class="iv-track-key" style={{ background: `var(${trackColour(track.number)})` }} /> path {track.number} with{" "}
              {formatShare(path.share)} of the data,{" "}
            </>
          )}
          chunk {formatCount(chunk)} of {formatCount(path.chunks)}, {formatBytes(picture.bytes)}; a square stands for about{" "}
          {counted(Math.max(1, Math.round(picture.elements / picture.pieces.length)), "element")}
        </p>
        <div class="iv-motion-tools">
          <Button
            label={playing ? "Pause" : "Play"}
            icon={playing ? "pause" : "run"}
            testid="motion-play"
            onClick={() => setPlaying(!playing)}
          />
          <Button label="Step" testid="motion-step" title="On to the arrival of the next request that is drawn" onClick={step} />
          <input
            type="range"
            min={0}
            max={hops}
            step={hops / 600}
            value={at}
            aria-label="Way of the chunk"
            aria-valuetext={told}
            data-testid="motion-scrub"
            onInput={(event) => go(Number(event.currentTarget.value))}
          />
          <select
            class="iv-input"
            aria-label="Pace"
            data-testid="motion-pace"
            value={pace}
            onChange={(event) => setPace(event.currentTarget.value as Pace)}
          >
            {Object.keys(PACES).map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
          <select
            class="iv-input"
            aria-label="Time of the hops"
            data-testid="motion-clock"
            value={clock}
            onChange={(event) => setClock(event.currentTarget.value as Clock)}
          >
            <option value="even">every hop alike</option>
            <option value="planned">simulated time</option>
            {measured !== null && (
              <option value="measured">
                measured time{measured.emulated ? ", emulated" : ""} (run {measured.run})
              </option>
            )}
          </select>
          <SavePicture name="One chunk in motion" of={() => box.current} />
          {tool}
          <Button label="Close" icon="remove" iconOnly testid="motion-close" onClick={close} />
        </div>
      </header>
      <Film track={track} picture={picture} at={at} done={done} seconds={seconds} box={box} />
      <p class="iv-motion-told" data-testid="motion-told">
        {told} · {formatSeconds(spent)} of {formatSeconds(total)}
      </p>
    </>
  );
}

interface FilmProps {
  track: Track;
  picture: MotionPicture;
  at: number;
  /** How many requests of a hop have arrived. */
  done: (hop: number) => number;
  seconds: readonly number[];
  box: RefObject<HTMLDivElement | null>;
}

/** The picture of a moment, with what stands above and below stops and hops. */
function Film({ track: { path, firstHop }, picture, at, done, seconds, box }: FilmProps): JSX.Element {
  const room = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, wide] = [useSize(room), useSize(box)];
  const ratio = useRatio();
  const dark = useDark();
  const stage = useMemo(() => stageOf(picture, wide.width, size.height), [picture, wide.width, size.height]);
  const ink = useRef<MotionInk | null>(null);
  useLayoutEffect(() => void (ink.current = null), [dark]);
  const converting = path.hops.findIndex(({ order }) => order === "converts");
  const draw = (): void => {
    const context = canvas.current === null ? null : fitCanvas(canvas.current, stage, ratio);
    if (!context || canvas.current === null || wide.width < 20) return;
    ink.current ??= inkOf(canvas.current);
    drawMotion(context, picture, stage, at, converting, ink.current, ratio, dark);
    canvas.current.dataset.at = at.toFixed(3);
  };
  const newest = useRef(draw);
  newest.current = draw;
  useLayoutEffect(() => drawable(() => newest.current()), []);
  useLayoutEffect(draw, [picture, stage, at, converting, ratio, dark]); // at once: each frame has a moment of its own
  const hops = picture.hops.length;
  const now = at >= hops ? -1 : Math.floor(at);
  const columns = path.stops.map(() => `${stage.stop}px`).join(` ${stage.hop}px `);
  return (
    <div class="iv-film" ref={box}>
      <div class="iv-film-strip" style={{ gridTemplateColumns: columns }}>
        {path.hops.map((hop, place) => (
          <div
            key={hop.index}
            class={`iv-film-hop${hop.order === "converts" ? " iv-film-turn" : ""}${place === now ? " iv-film-now" : ""}`}
            style={{ gridColumn: 2 * place + 2 }}
            data-testid={`motion-hop-${firstHop + place}`}
            data-requests={picture.hops[place]?.requests}
          >
            <span>{hop.words}</span>
            <b class="iv-film-order">{hop.order}</b>
            <b>{formatCount(done(place))}</b>
            <span>of {counted(picture.hops[place]?.requests ?? 0, "request")}</span>
            <span>{formatBytes(picture.hops[place]?.requestBytes ?? 0)} each</span>
            <span>{formatSeconds(seconds[place] ?? 0)}</span>
          </div>
        ))}
        <div class="iv-film-room" ref={room}>
          <canvas
            ref={canvas}
            style={{ width: `${stage.width}px`, height: `${stage.height}px` }}
            role="img"
            aria-label="The memories on the path, with the pieces of the chunk where they lie"
            data-testid="motion-canvas"
          />
        </div>
        {path.stops.map((stop, place) => (
          <div
            key={stop.memory + String(place)}
            class={`iv-film-stop${place === 0 ? " iv-film-first" : place === hops ? " iv-film-last" : ""}`}
            style={{ gridColumn: 2 * place + 1 }}
          >
            <b>{stop.words}</b>
            <span class="iv-faint">
              node {stop.node} · {within(stop.where)}
            </span>
            <code>{shortLayout(stop.layout)}</code>
          </div>
        ))}
      </div>
    </div>
  );
}

function inkOf(element: HTMLElement): MotionInk {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(`--iv-${name}`).trim();
  return { ground: colour("ground"), line: colour("strong-line"), muted: colour("muted"), turn: colour("turn") };
}
