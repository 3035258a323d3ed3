// A drawing board: a drawing that is panned and zoomed. A board says what it paints and what lies where; how the drawing lies on the
// screen and when it is painted is said here. It works on elements and canvases directly: a drag is many frames, and none of them
// draws the page again.
import { meet, type Point, type Rect } from "./geometry.ts";
import { fitCanvas, type Size } from "./hooks.ts";

/** How a drawing lies on the screen: `screen = scale × world + (x, y)`. */
export interface Placement {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

/** Reads a colour of the style sheet, such as "--iv-ink". */
export type Colour = (variable: string) => string;

/** What is painted on: a canvas of this size, and how the drawing lies on it. */
export interface Sheet extends Size {
  readonly context: CanvasRenderingContext2D;
  readonly at: Placement;
  readonly colour: Colour;
}

/** What is painted: what is at rest, and above it what changes with each frame; all of it, or the latter alone. */
export type Layers = "all" | "live";

export interface Limits {
  /** The scales to which the drawing is zoomed. Where more fits at a smaller scale than `least`, that is the least one. */
  readonly least: number;
  readonly most: number;
  /** The largest scale at which all of the drawing is shown. */
  readonly whole: number;
  /** Pixels around what is shown, and how many more at the bottom. */
  readonly margin: number;
  readonly below: number;
  /** Whether all of a drawing that has changed is shown, as long as nobody has chosen a part of it. */
  readonly follows: boolean;
}

/** How far what is at rest is painted beyond the edges once it is dragged: so far it goes without being painted again. */
const BEYOND = 160;
export const FONT = "12px system-ui, sans-serif";
export const SMALL = "11px system-ui, sans-serif";

export abstract class Board<Scene, Marks> {
  at: Placement = { scale: 1, x: 0, y: 0 };
  /** How many frames were drawn, for those who measure. */
  drawn = 0;
  root: HTMLElement | null = null;
  protected scene: Scene | null = null;
  protected size: Size = { width: 0, height: 0 };
  protected abstract marks: Marks;
  protected abstract readonly limits: Limits;
  private rest: HTMLCanvasElement | null = null;
  private live: HTMLCanvasElement | null = null;
  /** How the drawing lay when what is at rest was painted. */
  private painted: Placement = this.at;
  /** How far beyond the edges it was painted: while it is zoomed, not at all. */
  private reach = 0;
  private dirty: Layers | null = null;
  private request = 0;
  private colour: Colour | null = null;
  private fitted = false;
  /** Whether a person has chosen what is seen: then another size of the board changes nothing of it. */
  private laid = false;
  /** Whether a person has asked for all of the drawing. */
  private whole = false;
  private ends: (() => void)[] = [];

  /** The rectangle of all of a drawing; null where nothing is drawn. */
  protected abstract bounds(scene: Scene): Rect | null;
  /** What is seen at first: all of the drawing, unless a part of it is what matters. */
  protected first(scene: Scene): Rect | null {
    return this.bounds(scene);
  }
  /** Paints what is at rest, on a sheet that may reach beyond the board. */
  protected abstract paintRest(sheet: Sheet, scene: Scene): void;
  protected abstract paintLive(sheet: Sheet, scene: Scene, marks: Marks): void;
  /** How much is drawn at this scale, in a word for style sheets. */
  protected abstract detail(scene: Scene): string;
  /** Puts elements that lie on the drawing where they belong: whenever it lies otherwise. */
  protected arrange(_scene: Scene): void {}
  /** Whether what is at rest looks otherwise with other marks. */
  protected restChanges(_before: Marks, _after: Marks): boolean {
    return false;
  }

  attach(root: HTMLElement, rest: HTMLCanvasElement, live: HTMLCanvasElement): void {
    [this.root, this.rest, this.live, this.colour] = [root, rest, live, null];
    const measure = (): void => {
      const [width, height] = [root.clientWidth, root.clientHeight];
      if (width === this.size.width && height === this.size.height) return;
      this.size = { width, height };
      if (!this.laid) this.begin();
      this.draw("all");
    };
    const sizes = new ResizeObserver(measure);
    sizes.observe(root);
    const theme = new MutationObserver(() => {
      this.colour = null;
      this.draw("all");
    });
    theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
    this.ends = [() => sizes.disconnect(), () => theme.disconnect()];
    measure();
  }

  detach(): void {
    for (const end of this.ends) end();
    cancelAnimationFrame(this.request);
    this.request = 0;
    this.root = this.rest = this.live = null;
  }

  /** Takes what is to be shown. `afresh`: it is another thing, and all of it is to be seen. */
  show(scene: Scene, afresh: boolean): void {
    this.scene = scene;
    if (afresh) this.whole = false;
    if (afresh || !this.fitted || (this.limits.follows && !this.laid)) this.begin();
    this.sync();
    this.draw("all");
  }

  mark(marks: Marks): void {
    const all = this.restChanges(this.marks, marks);
    this.marks = marks;
    this.draw(all ? "all" : "live");
  }

  // ---- where it lies

  /** Whether a place is on the board. */
  holds({ x, y }: Point): boolean {
    return x >= 0 && y >= 0 && x <= this.size.width && y <= this.size.height;
  }

  toWorld({ x, y }: Point): Point {
    return { x: (x - this.at.x) / this.at.scale, y: (y - this.at.y) / this.at.scale };
  }

  /** A place of the pointer, from the corner of the board. */
  pointOf(event: { clientX: number; clientY: number }): Point {
    const box = this.root?.getBoundingClientRect();
    return { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) };
  }

  pan(dx: number, dy: number): void {
    this.laid = true;
    this.at = { ...this.at, x: this.at.x + dx, y: this.at.y + dy };
    this.shift();
    const far = Math.max(Math.abs(this.at.x - this.painted.x), Math.abs(this.at.y - this.painted.y));
    const lacks = far > this.reach;
    if (lacks) this.reach = BEYOND;
    this.draw(lacks ? "all" : "live");
  }

  zoom(factor: number, around: Point = { x: this.size.width / 2, y: this.size.height / 2 }): void {
    const all = this.scene === null ? null : this.bounds(this.scene);
    const least = Math.min(this.limits.least, all === null ? Infinity : this.fitting(all));
    const scale = Math.max(least, Math.min(this.limits.most, this.at.scale * factor));
    const world = this.toWorld(around);
    this.lie({ scale, x: around.x - scale * world.x, y: around.y - scale * world.y });
  }

  /** Shows all of the drawing. */
  fit(): void {
    const all = this.scene === null ? null : this.bounds(this.scene);
    if (all !== null) this.look(all);
    [this.laid, this.whole] = [false, true];
  }

  /** Shows what is seen at first; once a person has chosen what is seen, that stays. */
  protected refit(): void {
    if (!this.laid) this.begin();
  }

  private begin(): void {
    const { scene } = this;
    const box = scene === null ? null : this.whole ? this.bounds(scene) : this.first(scene);
    if (box !== null) this.look(box);
    this.laid = false;
  }

  /** Shows a box as large as the room allows, at a scale from `least` to `most`. */
  look(box: Rect, most = this.limits.whole, least = 0): void {
    const { width, height } = this.size;
    if (width === 0 || height === 0) return;
    const scale = Math.max(least, Math.min(most, this.fitting(box)));
    const middle = (height - this.limits.below) / 2;
    this.fitted = true;
    this.lie({ scale, x: width / 2 - scale * (box.x + box.width / 2), y: middle - scale * (box.y + box.height / 2) });
  }

  /** Brings what is new into the window: with the whole drawing where nobody has chosen a part of it. */
  present(box: Rect): void {
    if (this.laid) this.reveal(box);
    else this.begin();
    this.root?.scrollIntoView({ block: "nearest" });
  }

  /** Moves the drawing no farther than it takes to see a box. */
  reveal(box: Rect): void {
    const { margin, below } = this.limits;
    const { x, y, width, height } = boxOnScreen(box, this.at);
    const shift = (low: number, high: number, size: number): number =>
      low < margin ? margin - low : high > size - margin ? size - margin - high : 0;
    const [dx, dy] = [shift(x, x + width, this.size.width), shift(y, y + height, this.size.height - below)];
    if (dx !== 0 || dy !== 0) this.pan(dx, dy);
  }

  /** The scale at which a box fills the board. */
  private fitting(box: Rect): number {
    const { margin, below } = this.limits;
    return Math.min((this.size.width - 2 * margin) / box.width, (this.size.height - below - 2 * margin) / box.height);
  }

  private lie(at: Placement): void {
    this.laid = true;
    this.at = at;
    this.reach = 0;
    this.sync();
    this.draw("all");
  }

  /** What a key does on any board; false where it does nothing. */
  key(key: string): boolean {
    if (key === "+" || key === "=") this.zoom(1.25);
    else if (key === "-") this.zoom(0.8);
    else if (key === "0") this.fit();
    else return false;
    return true;
  }

  // ---- drawing

  private sync(): void {
    const { root, scene } = this;
    if (root === null || scene === null) return;
    root.dataset.lod = this.detail(scene);
    this.shift();
    this.arrange(scene);
  }

  /** Moves all elements, and what is at rest as it was painted, to where the drawing lies now. */
  private shift(): void {
    const { root, rest, at, painted } = this;
    for (const layer of root?.querySelectorAll<HTMLElement>(".iv-board-layer") ?? [])
      layer.style.transform = `translate(${at.x.toFixed(1)}px, ${at.y.toFixed(1)}px)`;
    if (rest !== null) rest.style.transform = `translate(${(at.x - painted.x).toFixed(1)}px, ${(at.y - painted.y).toFixed(1)}px)`;
  }

  /** Puts an element of a layer where a box of the drawing is. */
  protected put(element: HTMLElement, box: Rect): void {
    const { scale } = this.at;
    element.style.transform = `translate(${(scale * box.x).toFixed(1)}px, ${(scale * box.y).toFixed(1)}px)`;
    element.style.width = `${(scale * box.width).toFixed(1)}px`;
    element.style.height = `${(scale * box.height).toFixed(1)}px`;
  }

  draw(layers: Layers): void {
    if (this.dirty !== "all") this.dirty = layers;
    if (this.request === 0 && this.root !== null) this.request = requestAnimationFrame(() => this.paint());
  }

  private paint(): void {
    this.request = 0;
    const { root, rest, live, scene, at } = this;
    if (root === null || rest === null || live === null || scene === null) return;
    const { width, height } = this.size;
    const colour = (this.colour ??= colourReader(root));
    this.drawn += 1;
    root.dataset.drawn = String(this.drawn);
    if (this.dirty === "all") {
      this.painted = at;
      this.shift();
      const { reach } = this;
      const size = { width: width + 2 * reach, height: height + 2 * reach };
      Object.assign(rest.style, { inset: `${-reach}px`, width: `${size.width}px`, height: `${size.height}px` });
      const context = cleared(rest, size);
      const beyond = { ...at, x: at.x + reach, y: at.y + reach };
      if (context !== null) this.paintRest({ context, at: beyond, ...size, colour }, scene);
    }
    this.dirty = null;
    const context = cleared(live, this.size);
    if (context !== null) this.paintLive({ context, at, width, height, colour }, scene, this.marks);
  }
}

/** Reads colours of the style sheet, each once. */
export function colourReader(element: Element): Colour {
  const style = getComputedStyle(element);
  const known = new Map<string, string>();
  return (variable) => {
    let colour = known.get(variable);
    if (colour === undefined) known.set(variable, (colour = style.getPropertyValue(variable).trim() || "#808080"));
    return colour;
  };
}

/** A canvas as large as its element on this screen, cleared. */
function cleared(canvas: HTMLCanvasElement, size: Size): CanvasRenderingContext2D | null {
  const ratio = window.devicePixelRatio || 1;
  const context = fitCanvas(canvas, size, ratio);
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  context?.clearRect(0, 0, size.width, size.height);
  return context;
}

export const onScreen = ({ x, y }: Point, at: Placement): Point => ({ x: at.scale * x + at.x, y: at.scale * y + at.y });

/** A rectangle of the drawing on the screen. */
export const boxOnScreen = (box: Rect, at: Placement): Rect => ({
  ...onScreen(box, at),
  width: at.scale * box.width,
  height: at.scale * box.height,
});

/** Whether a rectangle of the screen may be seen on a sheet. */
export const isOnSheet = (box: Rect, { width, height }: Sheet): boolean => meet(box, { x: 0, y: 0, width, height });

// ---- texts

/** The room that a text takes, with a little around it, around a place of the screen. */
export function textBox({ context }: Sheet, text: string, { x, y }: Point, font = FONT): Rect {
  context.font = font;
  const width = context.measureText(text).width + 10;
  return { x: x - width / 2, y: y - 9, width, height: 18 };
}

/** The first of some boxes that lies on the sheet and on nothing that is taken, null where there is none; it is taken then. */
export function freeBox(sheet: Sheet, boxes: Iterable<Rect>, taken: Rect[]): Rect | null {
  for (const box of boxes) {
    const inside = box.x > 0 && box.y > 0 && box.x + box.width < sheet.width && box.y + box.height < sheet.height;
    if (!inside || taken.some((one) => meet(one, box))) continue;
    taken.push(box);
    return box;
  }
  return null;
}

/** A short text in its box, readable above lines. */
export function paintText({ context, colour }: Sheet, text: string, box: Rect, font = FONT): void {
  context.fillStyle = colour("--iv-paper");
  context.globalAlpha = 0.9;
  context.beginPath();
  context.roundRect(box.x, box.y, box.width, box.height, 5);
  context.fill();
  context.globalAlpha = 1;
  context.fillStyle = colour("--iv-ink");
  context.font = font;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, box.x + box.width / 2, box.y + box.height / 2 + 0.5);
}

// ---- the keyboard

const WAYS: ReadonlyMap<string, readonly [number, number]> = new Map([
  ["ArrowLeft", [-1, 0]],
  ["ArrowRight", [1, 0]],
  ["ArrowUp", [0, -1]],
  ["ArrowDown", [0, 1]],
]);

/** The place nearest to another one in the direction of an arrow key, or null where there is none. */
export function neighbour(places: ReadonlyMap<string, Point>, from: string, key: string): string | null {
  const [here, way] = [places.get(from), WAYS.get(key)];
  if (here === undefined || way === undefined) return null;
  const [wx, wy] = way;
  let best: string | null = null;
  let least = Infinity;
  for (const [name, { x, y }] of places) {
    const ahead = (x - here.x) * wx + (y - here.y) * wy;
    if (name === from || ahead < 1) continue;
    const aside = Math.abs((x - here.x) * wy) + Math.abs((y - here.y) * wx);
    if (aside > 4 * ahead) continue;
    const cost = ahead + 2 * aside;
    if (cost < least) [least, best] = [cost, name];
  }
  return best;
}
