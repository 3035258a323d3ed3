// The drawing of a machine on its board: what is painted of it, what the pointer is on, what a drag moves.
import { Board, boxOnScreen, type Limits, type Sheet } from "#lib/board.ts";
import { type Curve, extentOf, grown, type Point, type Rect, union } from "#lib/geometry.ts";
import { PADDING, TITLE } from "./arrangement.ts";
import type { Box } from "./boxes.ts";
import { type Marks, UNMARKED } from "./marks.ts";
import { type Lit, labelBeside, paintBead, paintBundle, paintBundles, paintEdges, paintLit, paintRubber } from "./painting.ts";
import { boxAt, isOpen, type Line, lineAt } from "./pointing.ts";
import { type Bundle, bundleWords, type Edge, memoryBox, moved, type Scene } from "./scene.ts";

/** Below these scales a node is one shape; a memory says its kind in a word; it says what it is, but not its name. */
export const GROUPED = 0.44;
const WORD = 0.42;
const SHAPES = 0.62;
/** Pixels from which on a node shows its memories, however far away. */
const WIDE = 230;
export const NAMES = 0.82;
/** The scale from which on lines say what they are. */
const LABELLED = 0.7;
/** Pixels around a line in which the pointer is on it. */
const NEAR = 7;

/** What no label may cover: memories, and the titles of boxes. */
const partsOf = (scene: Scene): Rect[] => [
  ...scene.memories.map(({ name }) => memoryBox(scene, name)),
  ...[...scene.frames.values()].map((frame) => ({ ...frame, height: TITLE })),
];

const isBetweenNodes = ({ from, to }: Bundle): boolean => !/[:/]/.test(from + to);

export class Stage extends Board<Scene, Marks> {
  /** The legend has its room at the bottom. */
  protected readonly limits: Limits = { least: 0.04, most: 2.5, whole: 1.15, margin: 18, below: 22, follows: false };
  protected marks = UNMARKED;
  private held = new Set<string>();
  private heldEdges: readonly Edge[] = [];
  private heldBundles: readonly Bundle[] = [];
  private widest = 0;
  private byName: ReadonlyMap<string, Edge> = new Map();
  private rubber: { from: string; to: Point } | null = null;
  private wasGrouped = false;

  get grouped(): boolean {
    return this.at.scale < GROUPED && this.at.scale * this.widest < WIDE && (this.scene?.nodes.length ?? 0) > 1;
  }

  override show(scene: Scene, afresh: boolean): void {
    this.byName = new Map(scene.edges.map((edge) => [edge.name, edge]));
    this.widest = Math.max(0, ...[...scene.frames.values()].map(({ width }) => width));
    super.show(scene, afresh);
    this.holdLines();
  }

  protected override restChanges(before: Marks, after: Marks): boolean {
    return before.path.size > 0 !== after.path.size > 0;
  }

  /** Told when nodes become one shape each, or are opened again. */
  whenGrouped: (grouped: boolean) => void = () => undefined;

  // ---- where it lies

  protected bounds(scene: Scene): Rect | null {
    const lines = [...scene.lines.filter(({ gathered }) => !gathered), ...scene.bundles.filter(({ gathers }) => gathers)];
    return union([...scene.frames.values(), ...lines.map(({ curve }) => extentOf(curve))]);
  }

  /** Shows a box, such as a node, as large as the room allows. */
  fitBox(key: string): void {
    const frame = this.scene?.frames.get(key);
    if (frame !== undefined) this.look(frame);
  }

  /** Brings a memory, or both ends of a channel, to the middle, large enough to be read. */
  centre(names: readonly string[]): void {
    const { scene } = this;
    if (scene === null) return;
    const box = union(names.map((name) => memoryBox(scene, name)));
    if (box !== null) this.look(grown(box, 60), 1, this.at.scale >= NAMES ? this.at.scale : 1);
  }

  /** A memory with room around it. */
  around(name: string): Rect {
    return this.scene === null ? { x: 0, y: 0, width: 0, height: 0 } : grown(memoryBox(this.scene, name), PADDING);
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

  protected detail(): string {
    const { scale } = this.at;
    if (this.grouped) return "nodes";
    return scale < WORD ? "outlines" : scale < SHAPES ? "shapes" : scale < NAMES ? "names" : "words";
  }

  protected override arrange(scene: Scene): void {
    const { root } = this;
    if (this.grouped !== this.wasGrouped) {
      this.wasGrouped = this.grouped;
      this.whenGrouped(this.grouped);
    }
    for (const element of root?.querySelectorAll<HTMLElement>("[data-memory]") ?? [])
      this.put(element, memoryBox(scene, element.dataset.memory ?? ""));
    for (const element of root?.querySelectorAll<HTMLElement>("[data-box]") ?? []) {
      const frame = scene.frames.get(element.dataset.box ?? "");
      if (frame !== undefined) this.put(element, frame);
    }
  }

  private isHeld(edge: Edge): boolean {
    return this.held.has(edge.source) || this.held.has(edge.destination);
  }

  private arrangeHeld(scene: Scene): void {
    const { root } = this;
    if (root === null) return;
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

  protected paintRest(sheet: Sheet, scene: Scene): void {
    if (this.grouped) {
      paintBundles(sheet, scene.bundles.filter(isBetweenNodes), true);
      return;
    }
    const atRest = scene.bundles.filter((bundle) => bundle.gathers && !this.heldBundles.includes(bundle));
    paintBundles(sheet, atRest, false);
    const apart = scene.lines.filter((edge) => !edge.gathered && !this.isHeld(edge));
    paintEdges(sheet, apart, "--iv-strong-line", this.strength);
  }

  protected paintLive(sheet: Sheet, scene: Scene): void {
    if (this.held.size > 0) this.arrangeHeld(scene);
    if (this.held.size > 0 && !this.grouped) {
      paintEdges(sheet, this.heldEdges, "--iv-strong-line", this.strength);
      paintBundles(sheet, this.heldBundles, false);
    }
    if (!this.grouped) {
      const open = scene.lines.filter((edge) => edge.gathered && isOpen(scene, this.marks, edge));
      paintEdges(sheet, open, "--iv-muted", 0.65);
    }
    this.paintMarks(sheet, scene);
    if (this.rubber !== null) paintRubber(sheet, memoryBox(scene, this.rubber.from), this.rubber.to);
  }

  private paintMarks(sheet: Sheet, scene: Scene): void {
    const { marks, at } = this;
    const lit: Lit[] = [];
    const add = (name: string | null, mark: Lit["mark"], stroke: string): void => {
      const edge = name === null ? undefined : this.byName.get(name);
      if (edge !== undefined) lit.push({ edge, mark, stroke });
    };
    for (const name of marks.candidate) if (!marks.path.has(name)) add(name, "candidate", "--iv-muted");
    for (const [name, stroke] of marks.path) add(name, "path", stroke);
    add(marks.pointed, "path", marks.path.get(marks.pointed ?? "") ?? "--iv-muted");
    add(marks.selected, "selected", marks.path.get(marks.selected ?? "") ?? "--iv-ink");
    for (const each of lit) {
      const curve = this.shownCurve(scene, each.edge);
      if (curve !== null) paintLit(sheet, each, curve);
    }
    const taken = this.grouped ? [] : partsOf(scene).map((box) => boxOnScreen(box, at));
    for (const key of new Set([marks.opened, marks.pointedBundle])) {
      const bundle = this.grouped ? undefined : scene.bundles.find((each) => each.key === key);
      if (bundle === undefined) continue;
      paintBundle(sheet, bundle, key === marks.opened ? "--iv-accent" : "--iv-muted", bundle.width + 1);
      labelBeside(sheet, bundleWords(bundle), bundle.curve, taken);
    }
    const labelled = new Set<Edge>();
    for (const { edge, mark } of [...lit].reverse()) {
      if (labelled.has(edge)) continue;
      labelled.add(edge);
      const curve = this.shownCurve(scene, edge);
      const text = mark === "candidate" || curve === null ? "" : marks.said(edge);
      if (text !== "" && curve !== null && (at.scale >= LABELLED || edge.name === marks.pointed || mark === "selected"))
        labelBeside(sheet, text, curve, taken);
    }
    // At rest, bundles say what they are where there is room.
    if (at.scale >= LABELLED && this.held.size === 0 && !this.grouped)
      for (const bundle of scene.bundles)
        if (bundle.gathers) labelBeside(sheet, bundleWords(bundle), bundle.curve, taken, scene.boxed ? [0] : undefined);
    for (const bead of marks.beads) {
      const edge = this.byName.get(bead.channel);
      const curve = edge === undefined ? null : this.shownCurve(scene, edge);
      if (curve !== null) paintBead(sheet, curve, bead.share, bead.colour);
    }
  }

  /** The line of a channel as it is drawn now: with nodes grouped, that of its bundle; none within a grouped node. */
  private shownCurve(scene: Scene, edge: Edge): Curve | null {
    if (!this.grouped) return edge.curve;
    return scene.bundles.find((bundle) => isBetweenNodes(bundle) && bundle.edges.includes(edge))?.curve ?? null;
  }
}
