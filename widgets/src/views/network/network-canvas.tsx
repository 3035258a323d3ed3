// The networks of the machine with the paths of the plan on them: pan, zoom, tracks, and how full the links are at a moment.
import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { neighbour } from "#lib/board.ts";
import { BoardView } from "#lib/board-view.tsx";
import { Button } from "#lib/button.tsx";
import { grown, type Point } from "#lib/geometry.ts";
import { useSelection } from "#model/selection.ts";
import { chunksAt } from "#model/trace/chunks-at.ts";
import { hopOfPlan } from "#model/trace/trace-data.ts";
import { useTrace } from "#model/trace/use-trace.ts";
import { hopOfTrack, type Load, loadsOf, selectedTrack, tracksOf } from "#model/tracks.ts";
import type { NetworkPart, PlanPart } from "#model/types.ts";
import { counted, formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { hopsOf } from "#model/words.ts";
import { Scrubber } from "#views/timeline/scrubber.tsx";
import type { NetMarks } from "./marks.ts";
import { HEATS } from "./net-marks.ts";
import { describe, type NetScene, netScene } from "./net-scene.ts";
import { NetStage } from "./net-stage.ts";
import { NetworkPanel } from "./network-panel.tsx";

type Shows = "tracks" | "loads";

const NOTHING_MOVES: NetMarks["beads"] = [];
/** Room around a memory that is brought into the window. */
const AROUND = 12;

interface CanvasProps {
  part: NetworkPart;
  alone: boolean;
  /** Chooses between this drawing and another one. */
  choice: ComponentChildren;
  /** Shows the switch of a Data Vortex at work. */
  watch?: (() => void) | undefined;
}

export function NetworkCanvas({ part, alone, choice, watch }: CanvasProps): JSX.Element {
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
        <p class="iv-faint">
          {part.networks
            .map(({ reading }) => reading)
            .filter(Boolean)
            .join(" ")}
        </p>
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
          {...(watch && { watch })}
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
  const [reached, reach] = useState<string | null>(null);
  const go = (key: string): void => {
    const next = reached === null ? start : nextMemory(scene, reached, key);
    const place = next === null ? null : scene.placeOf(next);
    if (next === null || place === null) return;
    reach(next);
    point(next);
    stage.reveal(grown({ ...place, width: 0, height: 0 }, AROUND));
  };
  const take = (at: Point): void => {
    const track = stage.trackAt(at);
    const memory = stage.memoryAt(at);
    if (memory !== null && (track === null || marks.tracks.length === 0 || isStop(marks, memory))) {
      reach(memory);
      choose(memory);
    } else if (track !== null) takeTrack(track.hop);
    else choose(memory);
  };
  const keys = ({ key, target, currentTarget }: KeyboardEvent): boolean => {
    if (target !== currentTarget) return false;
    if (key.startsWith("Arrow")) go(key);
    else if ((key === "Enter" || key === " ") && reached !== null) choose(reached);
    else if (key === "Escape" && reached !== null) {
      reach(null);
      point(null);
      choose(null);
    } else return false;
    return true;
  };
  return (
    <BoardView
      board={stage}
      scene={scene}
      marks={marks}
      subject={scene.networks.map(({ network }) => `${network.name} ${network.words}`).join()}
      testid="network-stage"
      zooms="net"
      label={`Drawing of the networks, ${counted(marks.tracks.length, "path")}: arrow keys go from memory to memory, Enter chooses, plus and minus zoom, 0 shows all`}
      status={reached === null ? "" : describe(scene, reached)}
      press={() => ({ end: (at, moved) => !moved && take(at) })}
      point={(at) => point(at === null ? null : stage.memoryAt(at))}
      keys={keys}
      more={{ tabIndex: 0, onBlur: () => point(null) }}
    />
  );
}

const isStop = (marks: NetMarks, memory: string): boolean =>
  memory === marks.source || memory === marks.destination || marks.tracks.some(({ proxies }) => proxies.includes(memory));

/** The memory next to another one in a direction of the keyboard. */
function nextMemory(scene: NetScene, from: string, key: string): string | null {
  const places = new Map<string, Point>();
  for (const name of scene.names) {
    const place = scene.placeOf(name);
    if (place !== null) places.set(name, place);
  }
  return neighbour(places, from, key);
}
