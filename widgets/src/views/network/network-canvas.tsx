// The networks of the machine with the paths of the plan on them: pan, zoom, tracks, and how full the links are at a moment.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { THRESHOLD } from "#lib/dragging.ts";
import { useSelection } from "#model/selection.ts";
import { chunksAt } from "#model/trace/chunks-at.ts";
import { hopOfPlan } from "#model/trace/trace-data.ts";
import { useTrace } from "#model/trace/use-trace.ts";
import { hopOfTrack, type Load, loadsOf, selectedTrack, tracksOf } from "#model/tracks.ts";
import type { NetworkPart, PlanPart } from "#model/types.ts";
import { counted, formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { hopsOf } from "#model/words.ts";
import { neighbour } from "#views/machine-canvas/arrangement.ts";
import type { Point } from "#views/machine-canvas/geometry.ts";
import { Scrubber } from "#views/timeline/scrubber.tsx";
import { HEATS } from "./net-marks.ts";
import { describe, type NetScene, netScene, readingOf } from "./net-scene.ts";
import type { NetMarks } from "./net-sheet.ts";
import { NetStage } from "./net-stage.ts";
import { NetworkPanel } from "./network-panel.tsx";

type Shows = "tracks" | "loads";

const NOTHING_MOVES: NetMarks["beads"] = [];

interface CanvasProps {
  part: NetworkPart;
  alone: boolean;
  /** Chooses between this drawing and another one. */
  choice: ComponentChildren;
}

export function NetworkCanvas({ part, alone, choice }: CanvasProps): JSX.Element {
  const { connection, snapshot } = useView();
  const [selection, select] = useSelection();
  const [shows, show] = useState<Shows>("tracks");
  const [chosen, choose] = useState<string | null>(null);
  const [pointed, point] = useState<string | null>(null);
  const stage = useMemo(() => new NetStage(), []);
  const { settings } = connection;
  const stale = snapshot.faults.stale.includes("plan");
  const plan = alone || stale ? null : snapshot.panes.plan;
  const ends = alone
    ? { source: "", destination: "" }
    : { source: settings.source.memory, destination: settings.destination.memory };
  const tracks = useMemo(() => (plan === null ? [] : tracksOf(plan, part)), [plan, part]);
  const stops = tracks.flatMap(({ path }) => path.stops.map(({ memory }) => memory));
  const wanted = [...stops, ends.source, ends.destination].join(" ");
  const scene = useMemo(() => netScene(part, wanted.split(" ")), [part.networks, part.others, wanted]);
  const { trace: traced, told } = useTrace("simulated", !alone);
  const trace = plan === null || told?.fresh !== true ? null : traced;
  const { time } = selection;
  const moving = useMemo(() => {
    if (trace === null || time === null) return null;
    return chunksAt(trace, time).moving.flatMap(({ row, share }) => {
      const hop = hopOfPlan(trace, row);
      return hop === null ? [] : [{ hop, share }];
    });
  }, [trace, time]);
  const beads = useMemo(
    () =>
      moving === null
        ? NOTHING_MOVES
        : moving.map((each) => ({
            ...each,
            track: tracks.find(({ hops }) => hops.some(({ number }) => number === each.hop))?.number ?? 0,
          })),
    [moving, tracks],
  );
  const loads = useMemo(() => loadsAt(tracks, plan, moving), [tracks, plan, moving]);
  const selected = selectedTrack(tracks, selection);
  const marks: NetMarks = {
    tracks,
    selected: selected?.number ?? null,
    loads: shows === "loads" ? loads : null,
    ...ends,
    chosen,
    pointed,
    beads,
  };
  const full = loads.filter(({ share }) => share > 0.95).length;
  return (
    <div class="iv-net" data-testid="network-canvas" data-shows={shows}>
      <div class="iv-net-head">
        <div class="iv-mc-row">
          {choice}
          <div class="iv-mc-row" role="group" aria-label="What lines show">
            <Button label="Paths" testid="net-tracks" pressed={shows === "tracks"} onClick={() => show("tracks")} />
            <Button label="Load of links" testid="net-loads" pressed={shows === "loads"} onClick={() => show("loads")} />
          </div>
          {shows === "loads" && <HeatScale />}
          {shows === "loads" && (
            <span class="iv-faint" data-testid="net-moment">
              {moving === null ? "mean over the transfer" : `at ${formatSeconds(time ?? 0)}`}
              {full > 0 && `; ${counted(full, "link")} full`}
            </span>
          )}
        </div>
        <p class="iv-faint">{scene.networks.map(readingOf).filter(Boolean).join(" ")}</p>
      </div>
      <div class="iv-mc-main">
        <div class="iv-mc-view">
          <NetDrawing
            stage={stage}
            scene={scene}
            marks={marks}
            start={chosen ?? (ends.source || (scene.names[0] ?? ""))}
            choose={(memory) => {
              choose(memory);
              const stop = plan === null || memory === null ? -1 : stops.indexOf(memory);
              if (stop >= 0) select({ stop });
            }}
            point={point}
            takeTrack={(hop) => {
              choose(null);
              select({ hop });
            }}
          />
          {trace !== null && (
            <Scrubber
              whole={trace.seconds}
              span={{ from: 0, to: trace.seconds }}
              follow={() => undefined}
              told={beads.length === 0 ? "" : `${counted(beads.length, "chunk")} under way`}
            />
          )}
        </div>
        <NetworkPanel
          part={part}
          scene={scene}
          tracks={tracks}
          selected={selected}
          chosen={chosen}
          choose={choose}
          takeTrack={(track) => {
            choose(null);
            select(track === null ? { hop: null, stop: null } : { hop: hopOfTrack(track) });
          }}
          alone={alone}
        />
      </div>
    </div>
  );
}

/** How full the links are at the selected moment; without one, the mean over the transfer. */
function loadsAt(
  tracks: Parameters<typeof loadsOf>[0],
  plan: PlanPart | null,
  moving: readonly { hop: number }[] | null,
): readonly Load[] {
  const hops = plan === null ? [] : hopsOf(plan).map(({ hop }) => hop);
  const active = moving === null ? null : new Set(moving.map(({ hop }) => hop));
  return loadsOf(tracks, (number) => {
    const { rate = 0, busy = 0 } = hops[number] ?? {};
    return active === null ? rate * busy : active.has(number) ? rate : 0;
  });
}

function HeatScale(): JSX.Element {
  return (
    <span class="iv-net-scale" role="img" aria-label="Share of what a link can carry: from light, little, to strong, full">
      0 %
      {Array.from({ length: HEATS }, (_, step) => (
        <i key={step} style={{ background: `var(--iv-heat-${step + 1})` }} />
      ))}
      100 %
    </span>
  );
}

interface DrawingProps {
  stage: NetStage;
  scene: NetScene;
  marks: NetMarks;
  /** The memory at which the keyboard begins. */
  start: string;
  choose: (memory: string | null) => void;
  point: (memory: string | null) => void;
  takeTrack: (hop: number) => void;
}

function NetDrawing({ stage, scene, marks, start, choose, point, takeTrack }: DrawingProps): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  const rest = useRef<HTMLCanvasElement>(null);
  const live = useRef<HTMLCanvasElement>(null);
  const gesture = useRef<{ start: Point; last: Point; moved: boolean } | null>(null);
  const machine = useRef("");
  const [reached, reach] = useState<string | null>(null);
  useLayoutEffect(() => {
    if (root.current === null || rest.current === null || live.current === null) return undefined;
    stage.attach(root.current, rest.current, live.current);
    return () => stage.detach();
  }, [stage]);
  useLayoutEffect(() => {
    const key = scene.networks.map(({ network }) => `${network.name} ${network.words}`).join();
    stage.show(scene, machine.current !== key);
    machine.current = key;
  }, [stage, scene]);
  useLayoutEffect(() => stage.mark(marks));
  useEffect(() => {
    const element = root.current;
    const wheel = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey && element?.contains(document.activeElement) !== true) return;
      event.preventDefault();
      stage.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), stage.pointOf(event));
    };
    element?.addEventListener("wheel", wheel, { passive: false });
    return () => element?.removeEventListener("wheel", wheel);
  }, [stage]);
  const go = (key: string): void => {
    const from = reached ?? start;
    const next = reached === null ? from : nextMemory(scene, from, key);
    const place = next === null ? null : scene.placeOf(next);
    if (next === null || place === null) return;
    reach(next);
    point(next);
    stage.reveal(place);
  };
  return (
    <div
      ref={root}
      class="iv-mc-stage iv-net-stage"
      data-testid="network-stage"
      tabIndex={0}
      role="group"
      aria-label={`Drawing of the networks, ${counted(marks.tracks.length, "path")}: arrow keys go from memory to memory, Enter chooses, plus and minus zoom, 0 shows all`}
      onPointerDown={(event) => {
        if (event.button !== 0 || (event.target instanceof Element && event.target.closest("button") !== null)) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        const at = stage.pointOf(event);
        gesture.current = { start: at, last: at, moved: false };
      }}
      onPointerMove={(event) => {
        const at = stage.pointOf(event);
        const now = gesture.current;
        if (now === null) {
          point(stage.memoryAt(at));
          return;
        }
        if (!now.moved && Math.hypot(at.x - now.start.x, at.y - now.start.y) < THRESHOLD) return;
        now.moved = true;
        stage.pan(at.x - now.last.x, at.y - now.last.y);
        now.last = at;
      }}
      onPointerUp={(event) => {
        const now = gesture.current;
        gesture.current = null;
        if (now === null || now.moved) return;
        const at = stage.pointOf(event);
        const track = stage.trackAt(at);
        const memory = stage.memoryAt(at);
        if (memory !== null && (track === null || marks.tracks.length === 0 || isStop(marks, memory))) {
          reach(memory);
          choose(memory);
        } else if (track !== null) takeTrack(track.hop);
        else choose(memory);
      }}
      onPointerCancel={() => (gesture.current = null)}
      onPointerLeave={() => point(null)}
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || event.target !== event.currentTarget) return;
        const { key } = event;
        if (key.startsWith("Arrow")) go(key);
        else if ((key === "Enter" || key === " ") && reached !== null) choose(reached);
        else if (key === "Escape" && reached !== null) {
          reach(null);
          point(null);
          choose(null);
        } else if (key === "+" || key === "=") stage.zoom(1.25);
        else if (key === "-") stage.zoom(0.8);
        else if (key === "0") stage.fit();
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
      onBlur={() => point(null)}
    >
      <canvas ref={rest} class="iv-net-sheet" aria-hidden="true" />
      <canvas ref={live} class="iv-net-sheet" aria-hidden="true" />
      <div class="iv-mc-overlay iv-mc-zoom">
        <Button label="Zoom in" icon="add" iconOnly testid="net-in" onClick={() => stage.zoom(1.25)} />
        <Button label="Zoom out" icon="minus" iconOnly testid="net-out" onClick={() => stage.zoom(0.8)} />
        <Button label="Show all of it" icon="fit" iconOnly testid="net-fit" onClick={() => stage.fit()} />
      </div>
      <span class="iv-hidden" role="status">
        {reached === null ? "" : describe(scene, reached)}
      </span>
    </div>
  );
}

const isStop = (marks: NetMarks, memory: string): boolean =>
  memory === marks.source || memory === marks.destination || marks.tracks.some(({ proxies }) => proxies.includes(memory));

/** The memory next to another one in a direction of the keyboard: the neighbour in the grid, else the nearest one. */
function nextMemory(scene: NetScene, from: string, key: string): string | null {
  const places = new Map<string, Point>();
  const here = scene.placeOf(from);
  if (here === null) return null;
  // Neighbours are near: a window around is enough, where it has some.
  for (const radius of [60, 400, Infinity]) {
    for (const name of scene.names) {
      const place = scene.placeOf(name);
      if (place !== null && Math.abs(place.x - here.x) < radius && Math.abs(place.y - here.y) < radius) places.set(name, place);
    }
    const next = neighbour(places, from, key);
    if (next !== null) return next;
  }
  return null;
}
