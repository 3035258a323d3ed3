// The drawing on the screen: where it lies, what is drawn of it, what the pointer is on. It works on elements and canvases directly:
// a drag is many frames, and none of them draws the explorer again.
import { PADDING, TITLE } from "./arrangement.ts";
import type { Box } from "./boxes.ts";
import { type Curve, grown, type Point, type Rect, union } from "./geometry.ts";
import { type Marks, UNMARKED } from "./marks.ts";
import {
  boxOnScreen,
  type Colours,
  cleared,
  coloursOf,
  type Lit,
  labelBeside,
  type Placement,
  paintBead,
  paintBundle,
  paintBundles,
  paintEdges,
  paintLit,
  paintRubber,
} from "./painting.ts";
import { boxAt, isOpen, type Line, lineAt } from "./pointing.ts";
import { type Bundle, bundleWords, type Edge, memoryBox, moved, type Scene } from "./scene.ts";

/** Below these scales a node is one shape; a memory says its kind in a word; it says what it is, but not its name. */
export const GROUPED = 0.44;
const WORD = 0.42;
const SHAPES = 0.62;
/** Pixels from which on a node shows its memories, however far away. */
const WIDE = 230;
export const NAMES = 0.82;
const LEAST = 0.04;
const MOST = 2.5;
/** Pixels around a line in which the pointer is on it. */
const NEAR = 7;
const MARGIN = 18;
/** How far the lines at rest are painted beyond the drawing: it can be dragged so far without painting them again. */
const OVER = 160;
/** Room at the bottom for the legend. */
const BELOW = 22;

/** What no label may cover: memories, and the titles of boxes. */
const partsOf = (scene: Scene): Rect[] => [
  ...scene.memories.map(({ name }) => memoryBox(scene, name)),
  ...[...scene.frames.values()].map((frame) => ({ ...frame, height: TITLE })),
];

const isBetweenNodes = ({ from, to }: Bundle): boolean => !/[:/]/.test(from + to);

export class Stage {
  at: Placement = { scale: 1, x: 0, y: 0 };
  /** How many frames were drawn, for those who measure. */
  drawn = 0;
  private root: HTMLElement | null = null;
  private base: HTMLCanvasElement | null = null;
  private live: HTMLCanvasElement | null = null;
  private scene: Scene | null = null;
  private marks: Marks = UNMARKED;
  private held = new Set<string>();
  private heldEdges: readonly Edge[] = [];
  private heldBundles: readonly Bundle[] = [];
  private widest = 0;
  private byName: ReadonlyMap<string, Edge> = new Map();
  /** How the drawing lay when the lines at rest were painted. */
  private painted: Placement = { scale: 1, x: 0, y: 0 };
  private rubber: { from: string; to: Point } | null = null;
  private dirty: "all" | "live" | null = null;
  private request = 0;
  private size = { width: 0, height: 0 };
  private colours: Colours | null = null;
  private variables = new Map<string, string>();
  private fitted = false;
  /** Whether a person has chosen what is seen: then another size of the drawing changes nothing of it. */
  private laid = false;
  private wasGrouped = false;
  private observers: (() => void)[] = [];

  attach(root: HTMLElement, base: HTMLCanvasElement, live: HTMLCanvasElement): void {
    [this.root, this.base, this.live] = [root, base, live];
    const measure = (): void => {
      const [width, height] = [root.clientWidth, root.clientHeight];
      if (width === this.size.width && height === this.size.height) return;
      this.size = { width, height };
      if (!this.laid) this.fit();
      this.draw("all");
    };
    const sizes = new ResizeObserver(measure);
    sizes.observe(root);
    const theme = new MutationObserver(() => {
      this.colours = null;
      this.variables.clear();
      this.draw("all");
    });
    theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
    this.observers = [() => sizes.disconnect(), () => theme.disconnect()];
    measure();
  }

  detach(): void {
    for (const end of this.observers) end();
    cancelAnimationFrame(this.request);
    this.request = 0;
    this.root = this.base = this.live = null;
  }

  get whole(): Scene | null {
    return this.scene;
  }

  get grouped(): boolean {
    return this.at.scale < GROUPED && this.at.scale * this.widest < WIDE && (this.scene?.nodes.length ?? 0) > 1;
  }

  /** Takes what is to be shown. `afresh`: it is another machine, and all of it is to be seen. */
  show(scene: Scene, afresh: boolean): void {
    this.scene = scene;
    this.byName = new Map(scene.edges.map((edge) => [edge.name, edge]));
    this.holdLines();
    this.widest = Math.max(0, ...[...scene.frames.values()].map(({ width }) => width));
    if (afresh || !this.fitted) this.fit();
    this.sync();
    this.draw("all");
  }

  mark(marks: Marks): void {
    const stronger = marks.path.size > 0 !== this.marks.path.size > 0;
    this.marks = marks;
    this.draw(stronger ? "all" : "live");
  }

  /** Told when nodes become one shape each, or are opened again. */
  whenGrouped: (grouped: boolean) => void = () => undefined;

  // ---- where it lies

  /** Whether a place is on the drawing. */
  holds({ x, y }: Point): boolean {
    return x >= 0 && y >= 0 && x <= this.size.width && y <= this.size.height;
  }

  toWorld({ x, y }: Point): Point {
    return { x: (x - this.at.x) / this.at.scale, y: (y - this.at.y) / this.at.scale };
  }

  /** A place of the pointer, from the corner of the drawing. */
  pointOf(event: { clientX: number; clientY: number }): Point {
    const box = this.root?.getBoundingClientRect();
    return { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) };
  }

  pan(dx: number, dy: number): void {
    this.laid = true;
    this.at = { ...this.at, x: this.at.x + dx, y: this.at.y + dy };
    this.shift();
    const far = Math.max(Math.abs(this.at.x - this.painted.x), Math.abs(this.at.y - this.painted.y));
    this.draw(far > OVER ? "all" : "live");
  }

  zoom(factor: number, around: Point = { x: this.size.width / 2, y: this.size.height / 2 }): void {
    const scale = Math.max(LEAST, Math.min(MOST, this.at.scale * factor));
    const world = this.toWorld(around);
    this.lie({ scale, x: around.x - scale * world.x, y: around.y - scale * world.y });
  }

  fit(): void {
    const all = this.scene === null ? null : union(this.scene.frames.values());
    if (all !== null) this.look(all, 1.15);
    this.laid = false;
  }

  /** Shows a box, such as a node, as large as the room allows. */
  fitBox(key: string): void {
    const frame = this.scene?.frames.get(key);
    if (frame !== undefined) this.look(frame, 1.15);
  }

  /** Brings a memory, or both ends of a channel, to the middle, large enough to be read. */
  centre(names: readonly string[]): void {
    const { scene } = this;
    if (scene === null) return;
    const box = union(names.map((name) => memoryBox(scene, name)));
    if (box !== null) this.look(grown(box, 60), 1, this.at.scale >= NAMES ? this.at.scale : 1);
  }

  /** Brings a memory that is new into the window: with the whole drawing where nobody chose a part of it. */
  present(name: string): void {
    if (this.laid) this.reveal(name);
    else this.fit();
    this.root?.scrollIntoView({ block: "nearest" });
  }

  /** Moves the drawing no farther than it takes to see a memory. */
  reveal(name: string): void {
    const { scene } = this;
    if (scene === null) return;
    const box = grown(memoryBox(scene, name), PADDING);
    const [left, top] = [this.at.scale * box.x + this.at.x, this.at.scale * box.y + this.at.y];
    const [right, bottom] = [left + this.at.scale * box.width, top + this.at.scale * box.height];
    const shift = (low: number, high: number, size: number): number =>
      low < MARGIN ? MARGIN - low : high > size - MARGIN ? size - MARGIN - high : 0;
    const [dx, dy] = [shift(left, right, this.size.width), shift(top, bottom, this.size.height - BELOW)];
    if (dx !== 0 || dy !== 0) this.pan(dx, dy);
  }

  private look(box: Rect, most: number, least = 0): void {
    const { width, height } = this.size;
    if (width === 0 || height === 0) return;
    const down = height - BELOW;
    const room = Math.min((width - 2 * MARGIN) / box.width, (down - 2 * MARGIN) / box.height);
    const scale = Math.max(LEAST, least, Math.min(most, room));
    this.fitted = true;
    this.lie({ scale, x: width / 2 - scale * (box.x + box.width / 2), y: down / 2 - scale * (box.y + box.height / 2) });
  }

  private lie(at: Placement): void {
    this.laid = true;
    this.at = at;
    this.sync();
    this.draw("all");
  }

  // ---- what moves

  /** Memories that a drag moves: their lines are drawn above the others, which stay as they are. */
  hold(names: Iterable<string>): void {
    this.held = new Set(names);
    this.holdLines();
    this.draw("all");
  }

  private holdLines(): void {
    this.heldEdges = this.scene?.lines.filter((edge) => !edge.gathered && this.isHeld(edge)) ?? [];
    this.heldBundles =
      this.scene?.bundles.filter(({ gathers, edges }) => gathers && edges.some((edge) => this.isHeld(edge))) ?? [];
  }

  /** Where the memories are that a drag moves. */
  carry(places: ReadonlyMap<string, Point>): void {
    const { scene } = this;
    if (scene === null) return;
    for (const [name, place] of places) scene.places.set(name, place);
    moved(scene, [...places.keys()]);
    this.draw("live");
  }

  stretch(rubber: { from: string; to: Point } | null): void {
    this.rubber = rubber;
    this.draw("live");
  }

  // ---- what the pointer is on

  /** The channel or the bundle at a place of the drawing, if it is near enough; with nodes grouped, none. */
  lineAt(point: Point): Line | null {
    if (this.scene === null || this.grouped) return null;
    return lineAt(this.scene, this.marks, this.toWorld(point), NEAR / this.at.scale);
  }

  /** The innermost box at a place of the drawing; with nodes grouped, the node. */
  boxAt(point: Point): Box | null {
    const box = this.scene === null ? null : boxAt(this.scene, this.toWorld(point));
    return box !== null && this.grouped ? (this.scene?.boxes.get(String(box.node)) ?? null) : box;
  }

  // ---- drawing

  /** Puts the elements of memories and nodes where they belong. */
  private sync(): void {
    const { root, scene, at } = this;
    if (root === null || scene === null) return;
    if (this.grouped !== this.wasGrouped) {
      this.wasGrouped = this.grouped;
      this.whenGrouped(this.grouped);
    }
    root.dataset.lod = this.grouped
      ? "nodes"
      : at.scale < WORD
        ? "outlines"
        : at.scale < SHAPES
          ? "shapes"
          : at.scale < NAMES
            ? "names"
            : "words";
    root.dataset.drawn = String(this.drawn);
    this.shift();
    for (const element of root.querySelectorAll<HTMLElement>("[data-memory]"))
      this.put(element, memoryBox(scene, element.dataset.memory ?? ""));
    for (const element of root.querySelectorAll<HTMLElement>("[data-box]")) {
      const frame = scene.frames.get(element.dataset.box ?? "");
      if (frame !== undefined) this.put(element, frame);
    }
  }

  /** Moves all elements, and the lines as they were painted, to where the drawing lies now. */
  private shift(): void {
    const { root, base, at, painted } = this;
    for (const layer of root?.querySelectorAll<HTMLElement>(".iv-mc-layer") ?? [])
      layer.style.transform = `translate(${at.x.toFixed(1)}px, ${at.y.toFixed(1)}px)`;
    if (base !== null) base.style.transform = `translate(${(at.x - painted.x).toFixed(1)}px, ${(at.y - painted.y).toFixed(1)}px)`;
  }

  private isHeld(edge: Edge): boolean {
    return this.held.has(edge.source) || this.held.has(edge.destination);
  }

  private put(element: HTMLElement, box: Rect): void {
    const { scale } = this.at;
    element.style.transform = `translate(${(scale * box.x).toFixed(1)}px, ${(scale * box.y).toFixed(1)}px)`;
    element.style.width = `${(scale * box.width).toFixed(1)}px`;
    element.style.height = `${(scale * box.height).toFixed(1)}px`;
  }

  private syncHeld(): void {
    const { root, scene } = this;
    if (root === null || scene === null) return;
    const nodes = new Set<string>();
    for (const name of this.held) {
      const element = root.querySelector<HTMLElement>(`[data-memory="${CSS.escape(name)}"]`);
      if (element !== null) this.put(element, memoryBox(scene, name));
      nodes.add(String(scene.nodeOf.get(name) ?? 0));
    }
    for (const element of root.querySelectorAll<HTMLElement>("[data-box]")) {
      const [node = ""] = (element.dataset.box ?? "").split("/");
      const frame = nodes.has(node) ? scene.frames.get(element.dataset.box ?? "") : undefined;
      if (frame !== undefined) this.put(element, frame);
    }
  }

  /** Lines beside a path that is lit step back. */
  private get strength(): number {
    return this.marks.path.size > 0 ? 0.5 : 0.85;
  }

  draw(what: "all" | "live"): void {
    if (this.dirty !== "all") this.dirty = what;
    if (this.request === 0 && this.root !== null) this.request = requestAnimationFrame(() => this.paint());
  }

  private paint(): void {
    this.request = 0;
    const { root, base, live, scene, at, held } = this;
    if (root === null || base === null || live === null || scene === null) return;
    const { width, height } = this.size;
    const colours = (this.colours ??= coloursOf(root));
    this.drawn += 1;
    root.dataset.drawn = String(this.drawn);
    if (held.size > 0) this.syncHeld();
    if (this.dirty === "all") {
      this.painted = at;
      this.shift();
      const [across, down] = [width + 2 * OVER, height + 2 * OVER];
      const context = cleared(base, across, down);
      const beyond = { ...at, x: at.x + OVER, y: at.y + OVER };
      if (context !== null) {
        if (this.grouped) paintBundles(context, scene.bundles.filter(isBetweenNodes), beyond, colours, true);
        else {
          const atRest = scene.bundles.filter((bundle) => bundle.gathers && !this.heldBundles.includes(bundle));
          paintBundles(context, atRest, beyond, colours, false);
          const apart = scene.lines.filter((edge) => !edge.gathered && !this.isHeld(edge));
          paintEdges(context, apart, beyond, across, down, colours.line, this.strength);
        }
      }
    }
    this.dirty = null;
    const context = cleared(live, width, height);
    if (context === null) return;
    if (held.size > 0 && !this.grouped) {
      paintEdges(context, this.heldEdges, at, width, height, colours.line, this.strength);
      paintBundles(context, this.heldBundles, at, colours, false);
    }
    if (!this.grouped) {
      const open = scene.lines.filter((edge) => edge.gathered && isOpen(scene, this.marks, edge));
      if (open.length > 0) paintEdges(context, open, at, width, height, colours.muted, 0.65);
    }
    this.paintMarks(context, scene, colours);
    if (this.rubber !== null) paintRubber(context, memoryBox(scene, this.rubber.from), this.rubber.to, at, colours);
  }

  private paintMarks(context: CanvasRenderingContext2D, scene: Scene, colours: Colours): void {
    const { marks, at } = this;
    const lit: Lit[] = [];
    const add = (name: string | null, mark: Lit["mark"], colour: string): void => {
      const edge = name === null ? undefined : this.byName.get(name);
      if (edge !== undefined) lit.push({ edge, mark, colour });
    };
    for (const name of marks.candidate) if (!marks.path.has(name)) add(name, "candidate", colours.muted);
    for (const [name, colour] of marks.path) add(name, "path", colours[colour]);
    if (marks.pointed !== null)
      add(marks.pointed, "path", marks.path.has(marks.pointed) ? colours[marks.path.get(marks.pointed) ?? "ink"] : colours.muted);
    add(
      marks.selected,
      "selected",
      marks.path.has(marks.selected ?? "") ? colours[marks.path.get(marks.selected ?? "") ?? "ink"] : colours.ink,
    );
    for (const each of lit) {
      const curve = this.shownCurve(scene, each.edge);
      if (curve !== null) paintLit(context, each, curve, at, colours);
    }
    const taken = this.grouped ? [] : partsOf(scene).map((box) => boxOnScreen(box, at));
    for (const key of new Set([marks.opened, marks.pointedBundle])) {
      const bundle = this.grouped ? undefined : scene.bundles.find((each) => each.key === key);
      if (bundle === undefined) continue;
      paintBundle(context, bundle, at, key === marks.opened ? colours.accent : colours.muted, bundle.width + 1);
      labelBeside(context, bundleWords(bundle), bundle.curve, at, taken, this.size, colours);
    }
    const labelled = new Set<Edge>();
    for (const { edge, mark } of [...lit].reverse()) {
      if (labelled.has(edge)) continue;
      labelled.add(edge);
      const curve = this.shownCurve(scene, edge);
      const text = mark === "candidate" || curve === null ? "" : marks.said(edge);
      if (text !== "" && curve !== null && (at.scale >= 0.7 || edge.name === marks.pointed || mark === "selected"))
        labelBeside(context, text, curve, at, taken, this.size, colours);
    }
    // At rest, bundles say what they are where there is room.
    if (scene.boxed && at.scale >= 0.7 && this.held.size === 0)
      for (const bundle of scene.bundles)
        if (bundle.gathers) labelBeside(context, bundleWords(bundle), bundle.curve, at, taken, this.size, colours, [0]);
    for (const bead of marks.beads) {
      const edge = this.byName.get(bead.channel);
      const curve = edge === undefined ? null : this.shownCurve(scene, edge);
      if (curve !== null) paintBead(context, curve, bead.share, at, this.variable(bead.colour), colours);
    }
  }

  private variable(name: string): string {
    const known =
      this.variables.get(name) ??
      getComputedStyle(this.root ?? document.body)
        .getPropertyValue(name)
        .trim();
    this.variables.set(name, known);
    return known === "" ? "gray" : known;
  }

  /** The line of a channel as it is drawn now: with nodes grouped, that of its bundle; none within a grouped node. */
  private shownCurve(scene: Scene, edge: Edge): Curve | null {
    if (!this.grouped) return edge.curve;
    return scene.bundles.find((bundle) => isBetweenNodes(bundle) && bundle.edges.includes(edge))?.curve ?? null;
  }
}
