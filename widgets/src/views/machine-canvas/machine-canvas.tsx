// The machine as a drawing to be edited: toolbar, drawing, and the editor of what is selected.
import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button } from "#lib/button.tsx";
import { Folded } from "#lib/card.tsx";
import type { Point } from "#lib/geometry.ts";
import { isGiven } from "#model/fixed.ts";
import { useHighlightedPath, useSelection } from "#model/selection.ts";
import { chunksAt } from "#model/trace/chunks-at.ts";
import { toneOf } from "#model/trace/tones.ts";
import { hopOfPlan, type TraceData } from "#model/trace/trace-data.ts";
import { useTrace } from "#model/trace/use-trace.ts";
import type { CanvasPart, MachinePart, Named, PlanPart } from "#model/types.ts";
import { counted, formatRate } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { hopsOf } from "#model/words.ts";
import { Term } from "#views/controls/term.tsx";
import { Scrubber } from "#views/timeline/scrubber.tsx";
import { BoxEditor, BundleEditor } from "./box-editor.tsx";
import { chainOf } from "./boxes.ts";
import { ChannelEditor } from "./channel-editor.tsx";
import { Drawing } from "./drawing.tsx";
import { type Chosen, type Editing, EditingContext, MACHINE, useCommands, useEditing } from "./edits.ts";
import { GivenContext, Refused } from "./field.tsx";
import type { Bead } from "./marks.ts";
import { MemoryEditor } from "./memory-editor.tsx";
import { MachineOverview, NodeEditor, ResourceEditor } from "./node-editor.tsx";
import { NO_ROUTE, routeOf, type Scene, sceneOf, widthOf } from "./scene.ts";
import { Stage } from "./stage.ts";
import { Toolbar } from "./toolbar.tsx";

const NO_BEADS: readonly Bead[] = [];
/** Chunks that pass by while the time is played for ten seconds at speed 1. */
const CHUNKS_PLAYED = 24;
const NO_PATH: readonly string[] = [];

/** `alone`: there is no transfer around it. */
export function MachineCanvas({ alone = false }: { alone?: boolean }): JSX.Element {
  const { connection, snapshot } = useView();
  const { machine } = snapshot.panes;
  if (machine === null || (machine.canvas === null && !connection.offline)) {
    return (
      <p class="iv-faint" data-testid="machine-card">
        The machine is being made…
      </p>
    );
  }
  if (machine.canvas === null) return <InWords machine={machine} />;
  return <Canvas machine={machine} part={machine.canvas} alone={alone} />;
}

function Canvas({ machine, part, alone }: { machine: MachinePart; part: CanvasPart; alone: boolean }): JSX.Element {
  const { connection, snapshot } = useView();
  const [selection, select] = useSelection();
  const [candidate] = useHighlightedPath();
  const commands = useCommands();
  const [chosen, choose] = useState<Chosen>(MACHINE);
  const [told, say] = useState("");
  const stage = useMemo(() => new Stage(), []);
  const expected = useRef<{ kind: "memory" | "channel" | "resource"; before: Set<string> } | null>(null);
  const counts = useRef(countsOf(part));
  const [dropped, drop] = useState<{ places: Map<string, Point>; number: number; over: CanvasPart } | null>(null);

  const { settings } = connection;
  const plan = alone || snapshot.faults.stale.includes("plan") ? null : snapshot.panes.plan;
  const route = useMemo(() => (plan === null ? NO_ROUTE : routeOf(plan)), [plan]);
  // What was dropped stays where it was dropped until the kernel says so too.
  const held =
    dropped !== null && dropped.over === part && !commandRefused(commands.answered(dropped.number), commands.problem("canvas"))
      ? dropped
      : null;
  const [wanted, want] = useState(false);
  const partial = wanted && route.stops.size > 0;
  const scene = useMemo(() => sceneOf(part, held?.places, partial ? route : null), [part, held, partial && route]);
  const { trace: found, told: known } = useTrace("simulated", !alone);
  const trace = plan === null || known?.fresh !== true ? null : found;
  const beads = useMemo(
    () => (trace === null || selection.time === null ? NO_BEADS : beadsAt(trace, selection.time, plan)),
    [trace, selection.time, plan],
  );
  const machineKey = useMachineKey(part);

  const namesOf = (kind: "memory" | "channel" | "resource"): string[] =>
    (kind === "memory" ? part.memories : kind === "channel" ? part.channels : part.resources).map(({ name }) => name);
  useEffect(() => {
    const before = counts.current;
    counts.current = countsOf(part);
    const wanted = expected.current;
    if (wanted !== null) {
      const names = namesOf(wanted.kind);
      const place = names.findIndex((name) => !wanted.before.has(name));
      if (place >= 0) {
        expected.current = null;
        choose({ kind: wanted.kind, name: names[place] as string, place });
        if (wanted.kind === "memory") stage.present(stage.around(names[place] as string));
        return;
      }
    }
    choose((now) => stillThere(now, part, before));
  }, [part]);

  const editing: Editing = {
    ...commands,
    chosen,
    choose: (next) => {
      choose(next);
      say("");
      const stop = next.kind === "memory" ? route.stops.get(next.name) : undefined;
      if (stop !== undefined) select({ stop });
    },
    expect: (kind) => {
      expected.current = { kind, before: new Set(namesOf(kind)) };
    },
    part,
  };
  const place = useCallback(
    (moved: Map<string, Point>, goesOn: boolean): void => {
      // The first memory that is moved gives all of them a position: the others stay where they are.
      const all = part.memories.every((memory) => memory.place !== null) ? moved : new Map([...scene.places, ...moved]);
      const number = commands.send("canvas", { do: "place", positions: written(all), goesOn });
      drop({ places: new Map([...(held?.places ?? []), ...all]), number, over: part });
    },
    [commands, part, scene, held],
  );
  const add = (kind: string, at: { clientX: number; clientY: number } | null): void => {
    const point = at === null ? null : stage.pointOf(at);
    if (point !== null && !stage.holds(point)) return; // dropped beside the drawing
    const over = (point === null ? null : stage.boxAt(point)) ?? (chosen.kind === "box" ? scene.boxes.get(chosen.key) : null);
    const first = part.memories[0]?.node ?? 0;
    const node =
      over?.node ??
      (chosen.kind === "node" ? chosen.node : chosen.kind === "memory" ? (part.memories[chosen.place]?.node ?? first) : first);
    const within = over?.within ?? [];
    // Boxes make room for it where nothing has been arranged by hand.
    const fitted = partial || (within.length > 0 && part.memories.every((memory) => memory.place === null));
    const world = point === null || fitted ? null : stage.toWorld(point);
    editing.expect("memory");
    want(false);
    commands.send("add", {
      do: "add-memory",
      memoryKind: kind,
      node,
      within: [...within],
      place: world === null ? null : [Math.round(world.x), Math.round(world.y)],
      positions: world === null ? [] : written(scene.places),
    });
  };
  const go = (next: Chosen): void => {
    editing.choose(next);
    if (next.kind === "memory") stage.centre([next.name]);
    const channel = next.kind === "channel" ? scene.edges[next.place] : undefined;
    if (channel !== undefined) stage.centre([channel.source, channel.destination]);
  };
  return (
    <EditingContext.Provider value={editing}>
      <div class="iv-mc" data-testid="machine-card">
        {!connection.offline && <Toolbar add={add} go={go} />}
        <div class="iv-mc-main">
          <div class="iv-mc-view">
            <Drawing
              stage={stage}
              scene={scene}
              route={route}
              machine={`${machineKey} ${partial}`}
              partial={partial}
              candidate={candidate ?? NO_PATH}
              beads={beads}
              ends={
                alone
                  ? { source: "", destination: "" }
                  : { source: settings.source.memory, destination: settings.destination.memory }
              }
              selectedHop={selection.hop}
              selectHop={(hop) => select({ hop })}
              place={place}
              say={say}
            >
              <Legend />
            </Drawing>
            <div class="iv-mc-below">
              <div class="iv-mc-row">
                <Runs />
                {route.stops.size > 0 && part.memories.length > route.stops.size && (
                  <>
                    <span class="iv-mc-spread" />
                    <Button label="Only what the plan uses" testid="only-used" pressed={partial} onClick={() => want(!wanted)} />
                  </>
                )}
              </div>
              <p class="iv-faint" role="status" data-testid="canvas-status">
                {told}
              </p>
              <Refused name="canvas" />
              {trace !== null && (
                <Scrubber
                  whole={trace.seconds}
                  span={{ from: 0, to: playedAtOnce(trace, plan) }}
                  follow={() => undefined}
                  told={beads.length === 0 ? "" : `${counted(beads.length, "chunk")} under way`}
                />
              )}
            </div>
          </div>
          <div inert={connection.offline}>
            <Editor machine={machine} scene={scene} alone={alone} />
          </div>
        </div>
        <Folded title="The machine in words" testid="machine-words">
          <InWords machine={machine} />
        </Folded>
      </div>
    </EditingContext.Provider>
  );
}

/** The chunks that are under way at a time, each on the line of its channel. */
function beadsAt(trace: TraceData, time: number, plan: PlanPart | null): readonly Bead[] {
  const hops = plan === null ? [] : hopsOf(plan);
  return chunksAt(trace, time).moving.flatMap(({ row, transfer, chunk, share }): Bead[] => {
    const number = hopOfPlan(trace, row);
    const channel = number === null ? undefined : hops[number]?.hop.channel;
    return channel === undefined ? [] : [{ channel, share, colour: toneOf(trace, transfer, chunk) }];
  });
}

function playedAtOnce(trace: TraceData, plan: PlanPart | null): number {
  const chunks = Math.max(1, ...(plan?.paths ?? []).map((path) => path.chunks));
  return trace.seconds * Math.min(1, CHUNKS_PLAYED / chunks);
}

function InWords({ machine }: { machine: MachinePart }): JSX.Element {
  return (
    <pre
      class="iv-drawing"
      tabIndex={0}
      role="region"
      aria-label={`Drawing of the machine ${machine.name} in words`}
      data-testid="machine-drawing"
    >
      {machine.drawing}
    </pre>
  );
}

/** Places as the kernel takes them. */
const written = (places: ReadonlyMap<string, Point>): Named<number[]> => [...places].map(([name, { x, y }]) => [name, [x, y]]);

const commandRefused = (answered: boolean, problem: string): boolean => answered && problem !== "";

/** A text that changes when another machine is shown: when more than one memory came or went at a time. */
function useMachineKey(part: CanvasPart): string {
  const last = useRef<{ part: CanvasPart; names: Set<string>; key: number } | null>(null);
  if (last.current?.part !== part) {
    const names = new Set(part.memories.map(({ name }) => name));
    const before = last.current;
    const changes =
      before === null
        ? Infinity
        : [...names].filter((name) => !before.names.has(name)).length +
          [...before.names].filter((name) => !names.has(name)).length;
    // A memory that is renamed goes and comes.
    last.current = { part, names, key: (before?.key ?? 0) + (changes > 2 ? 1 : 0) };
  }
  return String(last.current?.key ?? 0);
}

type Counts = Record<"memory" | "channel" | "resource", number>;

const countsOf = (part: CanvasPart): Counts => ({
  memory: part.memories.length,
  channel: part.channels.length,
  resource: part.resources.length,
});

/** What is selected in the next state: a part that was renamed keeps its place; what is gone leaves the machine. */
function stillThere(chosen: Chosen, part: CanvasPart, counts: Counts): Chosen {
  if (chosen.kind === "machine") return chosen;
  if (chosen.kind === "bundle") return chosen;
  if (chosen.kind === "node") return part.memories.some(({ node }) => node === chosen.node) ? chosen : MACHINE;
  if (chosen.kind === "box") {
    const parts = [...part.memories, ...part.resources];
    const there = parts.some(({ node, within }) => node !== null && chainOf({ node, within }).includes(chosen.key));
    return there ? chosen : MACHINE;
  }
  const all: readonly { name: string }[] =
    chosen.kind === "memory" ? part.memories : chosen.kind === "channel" ? part.channels : part.resources;
  const before = counts[chosen.kind];
  const place = all.findIndex(({ name }) => name === chosen.name);
  if (place >= 0) return place === chosen.place ? chosen : { ...chosen, place };
  const there = all.length === before ? all[chosen.place] : undefined;
  return there === undefined ? MACHINE : { ...chosen, name: there.name };
}

function Editor({ machine, scene, alone }: { machine: MachinePart; scene: Scene; alone: boolean }): JSX.Element {
  const { snapshot } = useView();
  const { chosen, part } = useEditing();
  const given = "name" in chosen && isGiven(snapshot, chosen.kind, chosen.name);
  const memory = chosen.kind === "memory" ? part.memories[chosen.place] : undefined;
  const channel = chosen.kind === "channel" ? part.channels[chosen.place] : undefined;
  const resource = chosen.kind === "resource" ? part.resources[chosen.place] : undefined;
  const box = chosen.kind === "box" ? scene.boxes.get(chosen.key) : undefined;
  const bundle = chosen.kind === "bundle" ? scene.bundles.find(({ key }) => key === chosen.key) : undefined;
  const { plan } = snapshot.panes;
  const hop =
    alone || plan === null || channel === undefined
      ? undefined
      : hopsOf(plan).find((each) => each.hop.channel === channel.name)?.hop;
  return (
    <aside class="iv-mc-editor" data-testid="machine-editor" aria-label="What is selected of the machine">
      <GivenContext.Provider value={given}>
        {memory !== undefined ? (
          <MemoryEditor key={chosen.kind === "memory" ? chosen.place : 0} memory={memory} alone={alone} />
        ) : channel !== undefined ? (
          <ChannelEditor
            key={chosen.kind === "channel" ? chosen.place : 0}
            channel={channel}
            operating={hop === undefined ? null : { run: hop.run, rate: hop.rate }}
          />
        ) : resource !== undefined && chosen.kind === "resource" ? (
          <ResourceEditor key={chosen.place} resource={resource} place={chosen.place} />
        ) : box !== undefined ? (
          <BoxEditor box={box} />
        ) : bundle !== undefined ? (
          <BundleEditor bundle={bundle} />
        ) : chosen.kind === "node" ? (
          <NodeEditor key={chosen.node} node={chosen.node} />
        ) : (
          <MachineOverview machine={machine} />
        )}
      </GivenContext.Provider>
    </aside>
  );
}

/** Where the machine runs, and what makes it run here. */
function Runs(): JSX.Element {
  const { connection, snapshot } = useView();
  const { part, send } = useEditing();
  const preset = connection.settings.machine.kind === "preset";
  const runs = preset && part.runs !== "ranks" ? "simulated" : part.runs;
  const emulable = part.emulable.filter((name) => !isGiven(snapshot, "memory", name));
  const lacking =
    part.absent.length > 2 ? `${part.absent.length} of its ${part.memories.length} memories` : part.absent.join(" and ");
  return (
    <div class="iv-mc-row" data-testid="machine-runs" data-runs={runs}>
      <span class={`iv-tag iv-mc-runs iv-mc-runs-${runs}`}>
        {runs === "here" ? (
          "runs here"
        ) : runs === "emulated" ? (
          <>
            runs here, <Term name="emulated">emulated</Term>
          </>
        ) : runs === "ranks" ? (
          <>
            runs in {part.ranks} <Term name="MPI rank">MPI ranks</Term> on this computer
          </>
        ) : (
          <>
            <Term name="simulated">simulated</Term> only
          </>
        )}
      </span>
      {runs === "ranks" ? null : part.absent.length > 0 ? (
        <span class="iv-faint" title={part.absent.join(", ")}>
          This computer lacks {lacking}.
        </span>
      ) : (
        preset && <span class="iv-faint">A preset is another computer.</span>
      )}
      {emulable.length > 0 && !(preset && runs === "ranks") && !connection.offline && (
        <Button
          label={emulable.length === 1 ? "Emulate it" : "Emulate these memories"}
          testid="emulate"
          onClick={() => send("emulate", { do: "emulate", memories: emulable, on: true })}
        />
      )}
      <Refused name="emulate" />
    </div>
  );
}

/** What the widths of lines mean. */
function Legend(): JSX.Element {
  return (
    <div class="iv-board-overlay iv-mc-legend" aria-hidden="true">
      {[1e8, 1e9, 1e10, 1e11].map((rate) => (
        <span key={rate}>
          <i style={{ height: `${widthOf(rate)}px` }} />
          {formatRate(rate)}
        </span>
      ))}
    </div>
  );
}
