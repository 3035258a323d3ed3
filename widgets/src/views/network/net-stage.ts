// Networks on the screen: where the drawing lies, what the pointer is on. It works on canvases directly, as the stage of memories does.

import { colourReader } from "#model/trace/tones.ts";
import { holds, type Point } from "#views/machine-canvas/geometry.ts";
import { cleared, type Placement } from "#views/machine-canvas/painting.ts";
import { CELL } from "./grid-shape.ts";
import { distanceTo, linesOfTrack } from "./net-lines.ts";
import { paintMarks } from "./net-marks.ts";
import { LINKS_FROM, paintRest, ROUTERS_FROM } from "./net-rest.ts";
import { type NetScene, stationBox } from "./net-scene.ts";
import { type Colour, type NetMarks, NO_MARKS } from "./net-sheet.ts";

const MOST = 4;
/** Pixels around a router, and around a line, in which the pointer is on it. */
const NEAR = 9;
const MARGIN = 26;

export class NetStage {
  at: Placement = { scale: 1, x: 0, y: 0 };
  /** How many frames were drawn, for those who measure. */
  drawn = 0;
  private root: HTMLElement | null = null;
  private rest: HTMLCanvasElement | null = null;
  private live: HTMLCanvasElement | null = null;
  private scene: NetScene | null = null;
  private marks: NetMarks = NO_MARKS;
  private size = { width: 0, height: 0 };
  private request = 0;
  private dirty: "all" | "live" | null = null;
  private colour: Colour | null = null;
  /** Whether a person has chosen what is seen. */
  private laid = false;
  private ends: (() => void)[] = [];

  attach(root: HTMLElement, rest: HTMLCanvasElement, live: HTMLCanvasElement): void {
    [this.root, this.rest, this.live] = [root, rest, live];
    const measure = (): void => {
      this.size = { width: root.clientWidth, height: root.clientHeight };
      if (!this.laid) this.fit();
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

  /** Takes what is to be shown. `afresh`: it is another machine, and all of it is to be seen. */
  show(scene: NetScene, afresh: boolean): void {
    this.scene = scene;
    if (afresh || !this.laid) this.fit();
    this.draw("all");
  }

  mark(marks: NetMarks): void {
    this.marks = marks;
    this.draw("live");
  }

  pointOf(event: { clientX: number; clientY: number }): Point {
    const box = this.root?.getBoundingClientRect();
    return { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) };
  }

  toWorld({ x, y }: Point): Point {
    return { x: (x - this.at.x) / this.at.scale, y: (y - this.at.y) / this.at.scale };
  }

  pan(dx: number, dy: number): void {
    this.lie({ ...this.at, x: this.at.x + dx, y: this.at.y + dy });
  }

  zoom(factor: number, around: Point = { x: this.size.width / 2, y: this.size.height / 2 }): void {
    const scale = Math.max(Math.min(0.5, this.fitting), Math.min(MOST, this.at.scale * factor));
    const world = this.toWorld(around);
    this.lie({ scale, x: around.x - scale * world.x, y: around.y - scale * world.y });
  }

  fit(): void {
    const { scene, size } = this;
    if (scene === null || size.width === 0) return;
    const { bounds } = scene;
    const scale = this.fitting;
    this.lie({
      scale,
      x: size.width / 2 - scale * (bounds.x + bounds.width / 2),
      y: size.height / 2 - scale * (bounds.y + bounds.height / 2),
    });
    this.laid = false;
  }

  private get fitting(): number {
    const { width = 1, height = 1 } = this.scene?.bounds ?? {};
    return Math.min(2.2, (this.size.width - 2 * MARGIN) / width, (this.size.height - 2 * MARGIN) / height);
  }

  /** Moves the drawing no farther than it takes to see a place of it. */
  reveal(place: Point): void {
    const { x, y } = { x: this.at.scale * place.x + this.at.x, y: this.at.scale * place.y + this.at.y };
    const shift = (value: number, size: number): number =>
      value < 2 * MARGIN ? 2 * MARGIN - value : value > size - 2 * MARGIN ? size - 2 * MARGIN - value : 0;
    const [dx, dy] = [shift(x, this.size.width), shift(y, this.size.height)];
    if (dx !== 0 || dy !== 0) this.pan(dx, dy);
  }

  private lie(at: Placement): void {
    this.laid = true;
    this.at = at;
    this.draw("all");
  }

  // ---- what the pointer is on

  /** The memory at a place of the drawing; null where there is none near. */
  memoryAt(point: Point): string | null {
    const { scene, at } = this;
    if (scene === null) return null;
    const world = this.toWorld(point);
    const station = scene.stations.find(({ place }) => holds(stationBox(place), world));
    if (station !== undefined) return station.name;
    let best: string | null = null;
    let least = Math.max(NEAR, (CELL * at.scale) / 2) / at.scale;
    for (const placed of scene.networks) {
      if (
        placed.network.form === "switch" ||
        !holds({ ...placed.box, x: placed.box.x - NEAR, width: placed.box.width + 2 * NEAR }, world)
      )
        continue;
      for (let router = 0; router < placed.network.routers; router += 1) {
        const { x, y } = placed.at(router);
        const far = Math.hypot(x - world.x, y - world.y);
        if (far < least) {
          const memory = scene.memoryAt(placed.number, router);
          if (memory !== null) [least, best] = [far, memory];
        }
      }
    }
    return best;
  }

  /** The track at a place of the drawing, with the hop there. */
  trackAt(point: Point): { track: number; hop: number } | null {
    const { scene, at, marks } = this;
    if (scene === null) return null;
    const world = this.toWorld(point);
    let best: { track: number; hop: number } | null = null;
    let least = NEAR / at.scale;
    for (const track of marks.tracks)
      for (const line of linesOfTrack(scene, track)) {
        const far = distanceTo(line, world);
        if (far < least) [least, best] = [far, { track: track.number, hop: line.hop }];
      }
    return best;
  }

  // ---- drawing

  private draw(what: "all" | "live"): void {
    if (this.dirty !== "all") this.dirty = what;
    if (this.request === 0 && this.root !== null) this.request = requestAnimationFrame(() => this.paint());
  }

  private paint(): void {
    this.request = 0;
    const { root, rest, live, scene, at, size } = this;
    if (root === null || rest === null || live === null || scene === null) return;
    this.colour ??= colourReader(root);
    this.drawn += 1;
    root.dataset.drawn = String(this.drawn);
    const cell = CELL * at.scale;
    root.dataset.lod = cell < ROUTERS_FROM ? "slices" : cell < LINKS_FROM ? "routers" : "links";
    const sheet = { at, ...size, colour: this.colour };
    if (this.dirty === "all") {
      const context = cleared(rest, size.width, size.height);
      if (context !== null) paintRest({ context, ...sheet }, scene);
    }
    this.dirty = null;
    const context = cleared(live, size.width, size.height);
    if (context !== null) paintMarks({ context, ...sheet }, scene, this.marks);
  }
}
