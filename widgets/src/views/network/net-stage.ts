// Networks on their board: what is painted of them, what the pointer is on.
import { Board, type Limits, type Sheet } from "#lib/board.ts";
import { grown, holds, type Point, type Rect, union } from "#lib/geometry.ts";
import { type NetMarks, NO_MARKS } from "./marks.ts";
import { distanceTo, linesOfTrack, pointOn } from "./net-lines.ts";
import { paintMarks } from "./net-marks.ts";
import { paintRest } from "./net-rest.ts";
import { type NetScene, stationBox } from "./net-scene.ts";
import { LINKS_FROM, ROUTERS_FROM } from "./shapes/routers.ts";

/** Pixels around a router, and around a line, in which the pointer is on it; and those of the drawing around a router. */
const NEAR = 9;
const FAR = 8;
/** Room around the lines of paths. */
const AROUND_LINES = 4;

export class NetStage extends Board<NetScene, NetMarks> {
  protected readonly limits: Limits = { least: 0.5, most: 4, whole: 2.2, margin: 20, below: 26, follows: true };
  protected marks = NO_MARKS;

  protected bounds(scene: NetScene): Rect {
    return scene.bounds;
  }

  /** What the transfer lies in, with the lines of its paths, which bend beyond it. */
  protected override first(scene: NetScene): Rect {
    const middles = this.marks.tracks.flatMap((track) => linesOfTrack(scene, track).map((line) => pointOn(line, 0.5)));
    return union([scene.used, ...middles.map(({ x, y }) => grown({ x, y, width: 0, height: 0 }, AROUND_LINES))]) ?? scene.used;
  }

  override mark(marks: NetMarks): void {
    const others = marks.tracks !== this.marks.tracks;
    super.mark(marks);
    if (others) this.refit();
  }

  protected detail({ networks }: NetScene): string {
    const cell = this.at.scale * Math.min(...networks.map(({ quiet, network }) => (quiet ? network.apart : Infinity)));
    return cell < ROUTERS_FROM ? "slices" : cell < LINKS_FROM ? "routers" : "links";
  }

  protected paintRest(sheet: Sheet, scene: NetScene): void {
    paintRest(sheet, scene);
  }

  protected paintLive(sheet: Sheet, scene: NetScene, marks: NetMarks): void {
    paintMarks(sheet, scene, marks);
  }

  /** The memory at a place of the drawing; null where there is none near. */
  memoryAt(point: Point): string | null {
    const { scene, at } = this;
    if (scene === null) return null;
    const world = this.toWorld(point);
    const station = scene.stations.find(({ place }) => holds(stationBox(place), world));
    if (station !== undefined) return station.name;
    let best: string | null = null;
    let least = Math.max(NEAR / at.scale, FAR);
    for (const placed of scene.networks) {
      if (!placed.holds || !holds(grown(placed.box, NEAR), world)) continue;
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
}
