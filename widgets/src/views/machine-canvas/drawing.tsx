// The drawing with its gestures: drag memories and nodes, pull a channel from a handle, pan, zoom, and all of it by keys.

import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { neighbour } from "#lib/board.ts";
import { BoardView, type Gesture } from "#lib/board-view.tsx";
import { centreOf, type Point } from "#lib/geometry.ts";
import { isGiven } from "#model/fixed.ts";
import type { DrawnMemory } from "#model/types.ts";
import { counted, formatRate } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { BOX } from "./arrangement.ts";
import { BoxFrame, BoxHead } from "./box-shape.tsx";
import { chainOf } from "./boxes.ts";
import { MACHINE, useEditing } from "./edits.ts";
import type { Bead, Marks } from "./marks.ts";
import type { Line } from "./pointing.ts";
import { frameOf, placeOf, type Route, type Scene } from "./scene.ts";
import { Shape } from "./shape.tsx";
import type { Stage } from "./stage.ts";

const STEP = 10;

interface DrawingProps {
  stage: Stage;
  scene: Scene;
  route: Route;
  /** Changes when another machine is shown, which is then seen as a whole. */
  machine: string;
  candidate: readonly string[];
  beads: readonly Bead[];
  ends: { source: string; destination: string };
  /** Only what the plan uses is shown, where it is drawn best: nothing of it can be moved. */
  partial: boolean;
  selectedHop: number | null;
  selectHop: (hop: number) => void;
  /** Places of memories that are on their way to the kernel. */
  place: (places: Map<string, Point>, goesOn: boolean) => void;
  say: (text: string) => void;
  children?: ComponentChildren;
}

export function Drawing(props: DrawingProps): JSX.Element {
  const { stage, scene, route, ends } = props;
  const editing = useEditing();
  const { snapshot } = useView();
  const { chosen, part } = editing;
  const [pointed, setPointed] = useState<Line | null>(null);
  const [renaming, setRenaming] = useState<string | null>(null);
  const [pulling, setPulling] = useState<string | null>(null);
  const [reached, setReached] = useState<string | null>(null);
  const [grouped, setGrouped] = useState(false);
  stage.whenGrouped = setGrouped;

  const marks = useMemo((): Marks => {
    const path = new Map(
      [...route.hops].map(
        ([name, { slowest, converts }]) => [name, slowest ? "--iv-slow" : converts ? "--iv-turn" : "--iv-accent"] as const,
      ),
    );
    const hop = [...route.hops].find(([, { number }]) => number === props.selectedHop)?.[0] ?? null;
    return {
      path,
      candidate: props.candidate,
      selected: chosen.kind === "channel" ? chosen.name : hop,
      pointed: pointed?.edge?.name ?? null,
      pointedBundle: pointed?.bundle?.key ?? null,
      opened: chosen.kind === "bundle" ? chosen.key : null,
      beads: props.beads,
      around: chosen.kind === "memory" ? chosen.name : null,
      said: (edge) =>
        edge.beside.length > 1 && !path.has(edge.name) && edge.name !== (chosen.kind === "channel" ? chosen.name : "")
          ? `${counted(edge.beside.length, "channel")}, up to ${formatRate(Math.max(...edge.beside.map(({ rate }) => rate)))}`
          : `${edge.kind} ${formatRate(edge.rate)}`,
    };
  }, [scene, route, props.candidate, props.beads, props.selectedHop, chosen, pointed]);

  const names = scene.memories.map(({ name }) => name);
  const first = reached !== null && names.includes(reached) ? reached : (names[0] ?? "");
  const kinds = new Map(part.memoryKinds.map((kind) => [kind.name, kind.words]));
  /** A kind in words, as many as its box has room for. */
  const wordsOf = (kind: string): string => {
    const words = kinds.get(kind) ?? kind;
    return scene.boxed && words.length > 14 ? words.replace(/ memory$/, "") : words;
  };
  const used = useMemo(
    () => new Set(part.channels.flatMap(({ name, uses }) => (route.hops.has(name) ? uses.map(([place = -1]) => place) : []))),
    [part, route],
  );
  const fitting = pulling === null ? null : fittingFrom(editing.part, pulling);
  const focus = (name: string): void => {
    setReached(name);
    stage.reveal(stage.around(name));
    stage.root?.querySelector<HTMLElement>(`[data-memory="${CSS.escape(name)}"] .iv-mc-body`)?.focus({ preventScroll: true });
  };
  const choose = (name: string): void =>
    editing.choose({ kind: "memory", name, place: part.memories.findIndex((each) => each.name === name) });
  const chooseBox = (key: string): void =>
    editing.choose(key.includes("/") ? { kind: "box", key } : { kind: "node", node: Number(key) });
  const connect = (source: string, destination: string): void => {
    setPulling(null);
    stage.stretch(null);
    editing.expect("channel");
    editing.send("canvas", { do: "connect", source, destination, channelKind: "" });
  };
  const startPulling = (name: string): void => {
    setPulling(name);
    setReached(name);
    props.say(`A channel from ${name}: go to the other memory and press Enter, or click it. Escape ends this.`);
  };
  const stopPulling = (): void => {
    setPulling(null);
    stage.stretch(null);
    props.say("");
  };
  const activate = (name: string): void => {
    setReached(name);
    if (pulling !== null) connect(pulling, name);
    else choose(name);
  };

  const press = (start: Point, event: PointerEvent): Gesture => {
    const on = (selector: string): HTMLElement | null =>
      event.target instanceof Element ? event.target.closest<HTMLElement>(selector) : null;
    const memory = on("[data-memory]")?.dataset.memory;
    const title = on(".iv-mc-title, .iv-mc-node-open");
    const tag = on("[data-resource]");
    if (memory !== undefined && on(".iv-mc-handle") !== null) return pull(memory);
    if (memory !== undefined) return move([memory], start, () => activate(memory), memory);
    if (tag !== null) {
      const place = Number(tag.dataset.resource);
      return move([], start, () => editing.choose({ kind: "resource", name: part.resources[place]?.name ?? "", place }));
    }
    if (title === null) return { end: (at, moved) => !moved && beside(at), cancel: stopPulling };
    const key = title.dataset.of ?? "";
    const members = (scene.boxes.get(key)?.all ?? []).map(({ name }) => name);
    return move(members, start, () => {
      if (title.classList.contains("iv-mc-node-open")) stage.fitBox(key);
      chooseBox(key);
    });
  };
  /** Moves memories; where they have not gone anywhere, it was a click. */
  const move = (moving: string[], start: Point, click: () => void, memory: string | null = null): Gesture => {
    const names = props.partial ? [] : moving;
    const from = new Map(names.map((name) => [name, placeOf(scene.places, name)]));
    const shifted = (at: Point): Map<string, Point> => {
      const [dx, dy] = [(at.x - start.x) / stage.at.scale, (at.y - start.y) / stage.at.scale];
      return new Map([...from].map(([name, { x, y }]) => [name, { x: Math.round(x + dx), y: Math.round(y + dy) }]));
    };
    let held = false;
    return {
      move: (at) => {
        if (!held) stage.hold(names);
        held = true;
        stage.carry(shifted(at));
      },
      end: (at, moved) => {
        stage.hold([]);
        if (moved && names.length > 0) props.place(shifted(at), false);
        else click();
        if (memory !== null) focus(memory);
      },
      cancel: () => {
        if (held) stage.carry(from);
        stage.hold([]);
        stopPulling();
      },
    };
  };
  /** Pulls a line from the handle of a memory. */
  const pull = (from: string): Gesture => {
    setPulling(from);
    return {
      move: (at) => stage.stretch({ from, to: stage.toWorld(at) }),
      end: (_at, moved, event) => {
        const under = document
          .elementsFromPoint(event.clientX, event.clientY)
          .find((element) => stage.root?.contains(element) === true && element.closest("[data-memory]") !== null);
        const target = under?.closest<HTMLElement>("[data-memory]")?.dataset.memory;
        if (!moved) startPulling(from);
        else if (target !== undefined) connect(from, target);
        else stopPulling();
      },
      cancel: stopPulling,
    };
  };
  const point = (at: Point | null, event: PointerEvent): void => {
    if (at !== null && pulling !== null) stage.stretch({ from: pulling, to: stage.toWorld(at) });
    const over =
      event.target instanceof Element &&
      event.target.closest("[data-memory], [data-resource], .iv-mc-title, .iv-board-overlay") !== null;
    const line = at === null || over ? null : stage.lineAt(at);
    if (line?.edge !== pointed?.edge || line?.bundle !== pointed?.bundle) setPointed(line);
  };
  /** A click beside all memories and titles. */
  const beside = (at: Point): void => {
    const line = stage.lineAt(at);
    const box = line === null ? stage.boxAt(at) : null;
    if (pulling !== null) stopPulling();
    else if (line !== null) chooseLine(line);
    else if (box !== null && (stage.grouped || box.within.length > 0)) chooseBox(box.key);
    else editing.choose(MACHINE);
  };
  const chooseLine = ({ edge, bundle }: Line): void => {
    if (edge === null) {
      editing.choose({ kind: "bundle", key: bundle.key });
      return;
    }
    editing.choose({ kind: "channel", name: edge.name, place: edge.index });
    const hop = route.hops.get(edge.name);
    if (hop !== undefined) props.selectHop(hop.number);
  };
  const keys = (event: KeyboardEvent): boolean => {
    const { key, target } = event;
    const at = target instanceof Element ? target.closest<HTMLElement>("[data-memory]")?.dataset.memory : undefined;
    const node = target instanceof Element ? target.closest<HTMLElement>(".iv-mc-title")?.dataset.of : undefined;
    if (at !== undefined ? memoryKey(event, at) : node !== undefined && nodeKey(key, node)) return true;
    if ((key !== "Delete" && key !== "Backspace") || chosen.kind !== "channel") return false;
    editing.send("canvas", { do: "delete", memories: [], channels: [chosen.name], resources: [] });
    return true;
  };
  const memoryKey = (event: KeyboardEvent, at: string): boolean => {
    const { key } = event;
    if (key.startsWith("Arrow") && event.shiftKey) {
      if (props.partial) return true;
      const { x, y } = placeOf(scene.places, at);
      const by = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[key] ?? [0, 0];
      const next = new Map([[at, { x: x + (by[0] ?? 0), y: y + (by[1] ?? 0) }]]);
      stage.hold([at]);
      stage.carry(next);
      stage.hold([]);
      props.place(next, true);
      return true;
    }
    if (key.startsWith("Arrow")) {
      const next = neighbour(scene.places, at, key);
      if (next !== null) focus(next);
      if (next !== null && pulling !== null) stage.stretch({ from: pulling, to: placeOf(scene.places, next) });
      return true;
    }
    if (key === "Enter" || key === " ") activate(at);
    else if (key === "c" || key === "C") startPulling(at);
    else if (key === "F2" && !isGiven(snapshot, "memory", at)) setRenaming(at);
    else if (key === "n" || key === "N") chooseBox(String(scene.nodeOf.get(at) ?? 0));
    else if (key === "b" || key === "B") chooseBox(nextBox(at));
    else if (key === "Escape" && pulling !== null) stopPulling();
    else if (key === "Delete" || key === "Backspace") {
      const next = names[names.indexOf(at) + 1] ?? names[names.indexOf(at) - 1];
      editing.send("canvas", { do: "delete", memories: [at], channels: [], resources: [] });
      if (next !== undefined) focus(next);
    } else return false;
    return true;
  };
  /** The box around a memory; around the one that is selected, the next. */
  const nextBox = (name: string): string => {
    const memory = scene.memories.find((each) => each.name === name);
    const chain = memory === undefined ? [] : chainOf(memory);
    const at = chosen.kind === "box" ? chain.indexOf(chosen.key) : -1;
    return chain[(at > 0 ? at : chain.length) - 1] ?? "";
  };
  const nodeKey = (key: string, at: string): boolean => {
    if (key === "Enter" || key === " ") {
      if (stage.grouped) stage.fitBox(at);
      chooseBox(at);
      return true;
    }
    const frames = new Map(scene.nodes.map((each) => [each.key, centreOf(frameOf(scene, each.key))]));
    const next = neighbour(frames, at, key);
    if (next !== null) stage.root?.querySelector<HTMLElement>(`.iv-mc-title[data-of="${next}"]`)?.focus({ preventScroll: true });
    return next !== null;
  };
  const boxes = [...scene.boxes.values()];
  const isChosen = (key: string): boolean =>
    chosen.kind === "box" ? chosen.key === key : chosen.kind === "node" && String(chosen.node) === key;
  return (
    <BoardView
      board={stage}
      scene={scene}
      marks={marks}
      subject={props.machine}
      testid="machine-stage"
      zooms="zoom"
      class={`iv-mc-stage${scene.measure.width < BOX.width ? " iv-mc-tall" : ""}${pulling === null ? "" : " iv-mc-pulling"}${pointed === null ? "" : " iv-mc-pointing"}`}
      label={`Drawing of the machine: ${scene.memories.length} memories, ${scene.edges.length} channels`}
      press={press}
      point={point}
      keys={keys}
      more={{
        onClick: (event) => {
          // A click without a pointer: by a screen reader, or by a script.
          const name =
            event.detail === 0 && event.target instanceof Element
              ? event.target.closest(".iv-mc-body")?.closest<HTMLElement>("[data-memory]")?.dataset.memory
              : undefined;
          if (name !== undefined) activate(name);
        },
        onDblClick: (event) => {
          const name =
            event.target instanceof Element ? event.target.closest<HTMLElement>("[data-memory]")?.dataset.memory : undefined;
          if (
            name !== undefined &&
            event.target instanceof Element &&
            event.target.closest(".iv-mc-handle") === null &&
            !isGiven(snapshot, "memory", name)
          )
            setRenaming(name);
        },
      }}
      below={
        <div class="iv-board-layer">
          {boxes.map((box) => (
            <BoxFrame
              key={box.key}
              box={box}
              chosen={isChosen(box.key)}
              used={used}
              reached={grouped && box === scene.nodes[0]}
            />
          ))}
        </div>
      }
    >
      <div class="iv-board-layer">
        {boxes
          .filter(({ within }) => within.length > 0)
          .map((box) => (
            <BoxHead key={box.key} box={box} chosen={isChosen(box.key)} used={used} />
          ))}
        {scene.memories.map((memory) => (
          <Shape
            key={memory.name}
            memory={memory}
            words={wordsOf(memory.kind)}
            far={farName(scene, memory, wordsOf(memory.kind))}
            reached={memory.name === first}
            chosen={chosen.kind === "memory" && chosen.name === memory.name}
            role={
              memory.name === ends.source
                ? "source"
                : memory.name === ends.destination
                  ? "destination"
                  : route.stops.has(memory.name)
                    ? "on the path"
                    : ""
            }
            fits={fitting === null || memory.name === pulling ? null : fitting.has(memory.name)}
            renaming={renaming === memory.name}
            renamed={() => setRenaming(null)}
          />
        ))}
      </div>
      {props.children}
    </BoardView>
  );
}

/** What a memory is from afar: its kind, with its number where its node has several; in a box, which says more, its name. */
function farName(scene: Scene, { kind, node, short, within }: DrawnMemory, words: string): string {
  if (within.length > 0) return short;
  const several = (scene.boxes.get(String(node))?.all ?? []).filter((each) => each.kind === kind).length > 1;
  return several ? `${words} ${/\d+$/.exec(short)?.[0] ?? ""}`.trim() : words;
}

/** The memories that a channel of some kind may lead to from a memory. */
export function fittingFrom(
  part: {
    memories: readonly { name: string; kind: string; node: number }[];
    channelKinds: readonly { sources: readonly string[]; destinations: readonly string[]; crosses: boolean }[];
  },
  from: string,
): Set<string> {
  const source = part.memories.find(({ name }) => name === from);
  if (source === undefined) return new Set();
  const kinds = part.channelKinds.filter(({ sources }) => sources.includes(source.kind));
  return new Set(
    part.memories
      .filter(({ kind, node }) =>
        kinds.some((each) => each.destinations.includes(kind) && each.crosses === (node !== source.node)),
      )
      .map(({ name }) => name),
  );
}
