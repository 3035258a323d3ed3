// The switch of a Data Vortex on its board: its cylinders unrolled, angle by height, the outermost on the left. What moves inwards
// keeps its height, so it goes straight to the right; what stays changes the bit of its cylinder, and jumps.
import { Board, type Limits, onScreen, paintText, type Sheet, SMALL, textBox } from "#lib/board.ts";
import type { Point, Rect } from "#lib/geometry.ts";
import { formatShare } from "#model/units.ts";
import { BACKLOG, type Move, type MoveKind, type Play, SPAN, type Way } from "#model/vortex/play.ts";
import type { SwitchShape } from "#model/vortex/switch.ts";

/** Room around the cylinders: for ports and their queues, titles, and loads; and the least room of a cylinder. */
const ROOM = { left: 84, right: 64, top: 46, loads: 58 } as const;
const LEAST = { pitch: 46, height: 150 } as const;
/** Pixels between nodes from which on each is drawn, packets have shapes, and they leave lines. */
const NODES_FROM = 7;
const SHAPES_FROM = 3;
const LINES_FROM = 4.5;
const TURN = 2 * Math.PI;
const DIAMOND = [1.25, 0, 0, 1.25, -1.25, 0, 0, -1.25];
const TRIANGLE = [1.2, 0, -0.8, 1, -0.8, -1];
const COLOURS: Record<MoveKind, string> = {
  enters: "--iv-ink",
  inwards: "--iv-accent",
  stays: "--iv-muted",
  deflected: "--iv-slow",
  circles: "--iv-good",
  leaves: "--iv-ink",
};

export interface SwitchScene {
  readonly shape: SwitchShape;
}

export interface SwitchMarks {
  readonly play: Play;
  /** The share of the last cycle that is over, as it is seen. */
  readonly phase: number;
  readonly followed: Way | null;
}

export class SwitchStage extends Board<SwitchScene, SwitchMarks | null> {
  protected readonly limits: Limits = { least: 0.2, most: 60, whole: 1, margin: 0, below: 0, follows: true };
  protected marks: SwitchMarks | null = null;

  /** What it shows now: it changes with every frame, without the page being drawn again. */
  get shown(): SwitchMarks | null {
    return this.marks;
  }

  /** As large as the board, where that is large enough. */
  protected bounds({ shape }: SwitchScene): Rect {
    const wide = ROOM.left + ROOM.right + LEAST.pitch * (Math.log2(shape.heights) + 1);
    return { x: 0, y: 0, width: Math.max(wide, this.size.width), height: Math.max(LEAST.height, this.size.height) };
  }

  protected detail(scene: SwitchScene): string {
    return this.at.scale * new Places(scene.shape, this.bounds(scene)).up < SHAPES_FROM ? "many" : "each";
  }

  protected paintRest(sheet: Sheet, scene: SwitchScene): void {
    const places = new Places(scene.shape, this.bounds(scene));
    paintCylinders(sheet, scene.shape, places);
  }

  protected paintLive(sheet: Sheet, scene: SwitchScene, marks: SwitchMarks | null): void {
    if (marks?.play.shape !== scene.shape) return;
    const places = new Places(scene.shape, this.bounds(scene));
    paintQueues(sheet, places, marks.play);
    paintLoads(sheet, places, marks.play);
    paintMoves(sheet, places, marks);
    if (marks.followed !== null) paintWay(sheet, places, marks, marks.followed);
  }

  /** The packet at a place of the board, as it is now; null where there is none near. */
  packetAt(point: Point): Way | null {
    const { scene, marks, at } = this;
    if (scene === null || marks === null) return null;
    const places = new Places(scene.shape, this.bounds(scene));
    let [best, least]: [Way | null, number] = [null, 14];
    for (const move of marks.play.moves) {
      const { x, y } = onScreen(places.of(move, marks.phase), at);
      const far = Math.hypot(x - point.x, y - point.y);
      if (far < least && !move.way.left) [best, least] = [move.way, far];
    }
    return best;
  }
}

/** Where the nodes of a switch lie in its drawing. */
class Places {
  readonly cylinders: number;
  readonly pitch: number;
  /** The width and height of a cylinder, and from node to node. */
  readonly wide: number;
  readonly high: number;
  readonly across: number;
  readonly up: number;

  constructor(
    readonly shape: SwitchShape,
    readonly all: Rect,
  ) {
    this.cylinders = Math.log2(shape.heights) + 1;
    this.pitch = (all.width - ROOM.left - ROOM.right) / this.cylinders;
    this.wide = this.pitch - Math.max(12, 0.22 * this.pitch);
    this.high = all.height - ROOM.top - ROOM.loads;
    this.across = this.wide / shape.angles;
    this.up = this.high / shape.heights;
  }

  left(cylinder: number): number {
    return ROOM.left + cylinder * this.pitch;
  }

  /** A node, by its place (cylinder · heights + height) and angle, which may lie between two. Height 0 is at the bottom. */
  node(place: number, angle: number): Point {
    const [cylinder, height] = [Math.floor(place / this.shape.heights), place % this.shape.heights];
    return { x: this.left(cylinder) + (angle + 0.5) * this.across, y: ROOM.top + this.high - (height + 0.5) * this.up };
  }

  /** Where a packet is on its move. Beyond the last angle of a cylinder comes the first one. */
  of({ kind, from, to, angle }: Move, phase: number): Point {
    if (kind === "leaves") {
      const { x, y } = this.node(from, angle);
      return { x: mixed(x, this.all.width - 52, phase), y };
    }
    const end = this.node(to, angle);
    if (kind === "enters") return { x: mixed(ROOM.left - 14, end.x, phase), y: end.y };
    const beyond = angle === 0 && (kind === "inwards" || phase < 0.5) ? this.shape.angles : 0;
    const start = this.node(from, angle - 1 + beyond);
    const goal = kind === "inwards" ? end : this.node(to, angle + beyond);
    return { x: mixed(start.x, goal.x, phase), y: mixed(start.y, goal.y, phase) };
  }
}

/** Whether a packet passes the last angle of its cylinder. */
const wraps = ({ kind, angle }: Move): boolean => angle === 0 && (kind === "stays" || kind === "deflected" || kind === "circles");

const mixed = (from: number, to: number, share: number): number => from + (to - from) * share;

function paintCylinders({ context, at, colour }: Sheet, shape: SwitchShape, places: Places): void {
  const { cylinders, across, up, wide, high } = places;
  const { scale } = at;
  context.textBaseline = "middle";
  for (let cylinder = 0; cylinder < cylinders; cylinder++) {
    const corner = onScreen({ x: places.left(cylinder), y: ROOM.top }, at);
    const inner = cylinder === cylinders - 1;
    context.fillStyle = colour("--iv-ground");
    context.fillRect(corner.x, corner.y, scale * wide, scale * high);
    // Heights whose bit of this cylinder is 1.
    const band = (scale * high) / 2 ** (cylinder + 1);
    context.fillStyle = colour("--iv-line");
    for (let number = 0; !inner && band >= 2 && number < 2 ** (cylinder + 1); number += 2)
      context.fillRect(corner.x, corner.y + number * band, scale * wide, band);
    if (scale * Math.min(across, up) >= NODES_FROM) {
      context.fillStyle = colour("--iv-strong-line");
      for (let angle = 0; angle < shape.angles; angle++)
        for (let height = 0; height < shape.heights; height++) {
          const { x, y } = onScreen(places.node(cylinder * shape.heights + height, angle), at);
          context.fillRect(x - 1, y - 1, 2, 2);
        }
    }
    const middle = corner.x + (scale * wide) / 2;
    context.textAlign = "center";
    context.fillStyle = colour("--iv-ink");
    context.font = SMALL;
    const [name, bit] = scale * places.pitch > 92 ? ["cylinder ", "bit worth "] : ["", ""];
    context.fillText(name + cylinder, middle, corner.y - 32);
    context.fillStyle = colour("--iv-muted");
    context.fillText(inner ? "to angle" : `${bit}${shape.heights >> (cylinder + 1)}`, middle, corner.y - 18);
    context.fillStyle = colour("--iv-ink");
    const mark = (sign: string, at: readonly number[]): void => {
      for (const angle of at) context.fillText(sign, corner.x + scale * (angle + 0.5) * across, corner.y - 6);
    };
    if (cylinder === 0) mark("▼", shape.inputs);
    if (inner) mark("○", shape.outputs);
  }
  const [top, bottom] = [ROOM.top - 18, places.all.height - 28].map((y) => onScreen({ x: ROOM.left - 10, y }, at));
  context.textAlign = "right";
  context.fillStyle = colour("--iv-muted");
  context.fillText("waiting", top!.x, top!.y);
  context.fillText("load, last", bottom!.x, bottom!.y);
  context.fillText(`${SPAN} cycles`, bottom!.x, bottom!.y + 13);
}

/** How many packets wait at the inputs of every height. */
function paintQueues({ context, at, colour }: Sheet, places: Places, { found, shape }: Play): void {
  const right = onScreen({ x: ROOM.left - 16, y: 0 }, at).x;
  const thick = Math.max(1, at.scale * places.up * 0.7);
  context.fillStyle = colour("--iv-predicted");
  for (let height = 0; height < shape.heights; height++) {
    let waiting = 0;
    for (let port = height; port < shape.heights * shape.inputs.length; port += shape.heights) waiting += found.waiting(port);
    const long = ((ROOM.left - 24) * at.scale * waiting) / BACKLOG / shape.inputs.length;
    if (waiting > 0) context.fillRect(right - long, onScreen(places.node(height, 0), at).y - thick / 2, long, thick);
  }
}

/** The share of every cylinder's nodes that were taken, over the last cycles. */
function paintLoads({ context, at, colour }: Sheet, places: Places, { passed }: Play): void {
  const { scale } = at;
  const high = 30 * scale;
  for (let cylinder = 0; cylinder < places.cylinders; cylinder++) {
    const corner = onScreen({ x: places.left(cylinder), y: places.all.height - 36 }, at);
    const wide = scale * places.wide;
    context.fillStyle = colour("--iv-ground");
    context.fillRect(corner.x, corner.y, wide, high);
    if (passed.length === 0) continue;
    context.beginPath();
    passed.forEach(({ loads }, cycle) => {
      const x = corner.x + (wide * (cycle + SPAN - passed.length)) / (SPAN - 1);
      if (cycle === 0) context.moveTo(x, corner.y + high);
      context.lineTo(x, corner.y + high * (1 - loads[cylinder]!));
    });
    context.lineTo(corner.x + wide, corner.y + high);
    context.closePath();
    context.fillStyle = colour("--iv-measured");
    context.globalAlpha = 0.55;
    context.fill();
    context.globalAlpha = 1;
    const last = passed.slice(-20);
    const mean = last.reduce((sum, { loads }) => sum + loads[cylinder]!, 0) / last.length;
    context.fillStyle = colour("--iv-ink");
    context.font = SMALL;
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(formatShare(mean), corner.x + wide / 2, corner.y - 1);
  }
}

function paintMoves(sheet: Sheet, places: Places, { play, phase, followed }: SwitchMarks): void {
  const { context, at, colour } = sheet;
  const size = Math.max(1.1, Math.min(6.5, 0.36 * at.scale * Math.min(places.up, Math.max(places.across, 8))));
  const close = at.scale * places.up;
  const [lines, signals] = [new Map<MoveKind, Path2D>(), new Path2D()];
  const shapes = new Map<MoveKind, Path2D>();
  for (const move of play.moves) {
    const { kind, way, signal, angle } = move;
    if (kind === "leaves" && phase >= 1) continue;
    const { x, y } = onScreen(places.of(move, phase), at);
    if (x < -50 || y < -50 || x > sheet.width + 50 || y > sheet.height + 50) continue;
    const small = close < SHAPES_FROM && way !== followed;
    if (small) {
      context.fillStyle = colour(COLOURS[kind]);
      context.fillRect(x - size, y - size, 2 * size, 2 * size);
      continue;
    }
    let path = shapes.get(kind);
    if (path === undefined) shapes.set(kind, (path = new Path2D()));
    addShape(path, kind, x, y, size);
    if (close < LINES_FROM) continue;
    let line = lines.get(kind);
    if (line === undefined) lines.set(kind, (line = new Path2D()));
    const start = onScreen(places.of(move, wraps(move) && phase >= 0.5 ? 0.5 : 0), at);
    line.moveTo(start.x, start.y);
    line.lineTo(x, y);
    if (signal < 0) continue;
    // From the node that is taken to the one outside, with a bar where its packet was told to stay.
    const told = onScreen(places.node(move.from, angle === 0 ? places.shape.angles - 1 : angle - 1), at);
    const bar = told.x + 1.8 * size;
    signals.moveTo(onScreen(places.node(signal, angle), at).x - 1.5 * size, told.y);
    signals.lineTo(bar, told.y);
    signals.moveTo(bar, told.y - 1.4 * size);
    signals.lineTo(bar, told.y + 1.4 * size);
  }
  context.lineWidth = 1.2;
  context.globalAlpha = 0.5;
  for (const [kind, line] of lines) {
    context.strokeStyle = colour(COLOURS[kind]);
    context.setLineDash(kind === "deflected" ? [5, 3] : []);
    context.stroke(line);
  }
  context.globalAlpha = 1;
  context.strokeStyle = colour("--iv-slow");
  context.setLineDash([1.5, 2.5]);
  context.stroke(signals);
  context.setLineDash([]);
  for (const [kind, path] of shapes) {
    context.fillStyle = context.strokeStyle = colour(COLOURS[kind]);
    context.lineWidth = 1.8;
    if (kind === "circles") context.stroke(path);
    else context.fill(path);
  }
}

/** A triangle goes inwards, in or out; a disc stays; a diamond was deflected; a ring circles. */
function addShape(path: Path2D, kind: MoveKind, x: number, y: number, size: number): void {
  if (kind === "stays" || kind === "circles") {
    path.moveTo(x + 0.8 * size, y);
    path.arc(x, y, 0.8 * size, 0, TURN);
    return;
  }
  const corners = kind === "deflected" ? DIAMOND : TRIANGLE;
  path.moveTo(x + corners[0]! * size, y + corners[1]! * size);
  for (let at = 2; at < corners.length; at += 2) path.lineTo(x + corners[at]! * size, y + corners[at + 1]! * size);
  path.closePath();
}

/** All of the way that a packet has gone, where it is, and the output that it goes to. */
function paintWay(sheet: Sheet, places: Places, { play, phase }: SwitchMarks, way: Way): void {
  const { context, at, colour } = sheet;
  const { angles, heights, inputs, outputs } = play.shape;
  const begin = inputs[Math.floor(way.input / heights)]!;
  const moves = way.kinds.map((kind, step): Move => {
    const [from, to] = [step === 0 ? -1 : way.places[step - 1]!, way.places[step]!];
    return { way, kind, from, to, angle: (begin + step) % angles, signal: -1 };
  });
  if (way.left) moves.push({ way, kind: "leaves", from: way.places.at(-1)!, to: -1, angle: moves.at(-1)!.angle, signal: -1 });
  const deflected = new Path2D();
  const go = (move: Move, share: number, draw: boolean): Point => {
    const point = onScreen(places.of(move, share), at);
    if (draw) context.lineTo(point.x, point.y);
    else context.moveTo(point.x, point.y);
    return point;
  };
  context.strokeStyle = context.fillStyle = colour("--iv-turn");
  context.lineWidth = 2.5;
  context.lineJoin = "round";
  context.beginPath();
  let now: Point = { x: 0, y: 0 };
  moves.forEach((move, step) => {
    const share =
      step === moves.length - 1 && way.places.length + (way.left ? 1 : 0) === play.found.cycle - way.since + 1 ? phase : 1;
    if (step === 0) go(move, 0, false);
    if (wraps(move) && share >= 0.5) {
      go(move, 0.499, true);
      go(move, 0.5, false);
    }
    now = go(move, share, true);
    if (move.kind === "deflected") addShape(deflected, "deflected", now.x, now.y, 4.5);
  });
  context.stroke();
  context.fill(deflected);
  const goal = places.node((places.cylinders - 1) * heights + (way.output % heights), outputs[Math.floor(way.output / heights)]!);
  const { x, y } = onScreen(goal, at);
  const rings = new Path2D();
  rings.moveTo(x + 9, y);
  rings.arc(x, y, 9, 0, TURN);
  rings.moveTo(now.x + 6, now.y);
  rings.arc(now.x, now.y, 6, 0, TURN);
  context.lineWidth = 2;
  context.stroke(rings);
  const edge = onScreen({ x: places.all.width - 35, y: 0 }, at).x;
  const start = onScreen({ x: ROOM.left - 42, y: places.node(way.places[0]!, 0).y }, at);
  for (const [text, place] of [
    [`output ${way.output}`, { x: edge, y }],
    [`input ${way.input}`, start],
  ] as const)
    paintText(sheet, text, textBox(sheet, text, place, SMALL), SMALL);
}
