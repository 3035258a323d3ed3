// The lines of tracks on the drawing: straight within a slice, around its edge, or as an arc from slice to slice.

import { border, type Point } from "#lib/geometry.ts";
import type { Track, TrackHop } from "#model/tracks.ts";
import type { ShownLink } from "#model/types.ts";
import { type NetScene, type PlacedNetwork, stationBox } from "./net-scene.ts";
import { type Line, shapeOf, straight } from "./shape.ts";

export interface TrackLine extends Line {
  readonly track: number;
  readonly hop: number;
  /** The part of the hop that it is, from 0 to 1: a chunk under way goes along. */
  readonly begin: number;
  readonly end: number;
}

/** The lines of a link of a hop: two where it goes around the edge of a slice, none where it has no length. */
export function linesOf(
  scene: NetScene,
  hop: TrackHop,
  network: number,
  link: Pick<ShownLink, "source" | "destination">,
): Line[] {
  const placed = scene.networks[network];
  if (placed === undefined) return [];
  const [source, destination] = [scene.placeOf(hop.source), scene.placeOf(hop.destination)];
  if (link.source >= 0 && link.destination >= 0) {
    return placed.lines(link.source, link.destination).filter(({ from, to }) => from.x !== to.x || from.y !== to.y);
  }
  const from = link.source < 0 ? source : destination && placed.end(link.source, destination);
  const to = link.destination < 0 ? destination : source && placed.end(link.destination, source);
  if (from === null || to === null || (from.x === to.x && from.y === to.y)) return [];
  return [ending(from, to, scene)];
}

/** A straight line that ends at the border of a station, not in its name; to a bar below it goes straight down. */
function ending(from: Point, to: Point, scene: NetScene): Line {
  const stationAt = (place: Point): boolean =>
    scene.stations.some((station) => station.place.x === place.x && station.place.y === place.y);
  const end = (place: Point, other: Point): Point => {
    if (!stationAt(place)) return place;
    const box = stationBox(place);
    const below = Math.abs(other.x - place.x) < box.width / 2 && !stationAt(other);
    return below ? { x: other.x, y: other.y > place.y ? box.y + box.height : box.y } : border(box, other);
  };
  return straight(end(from, to), end(to, from));
}

/** All lines of a track, in order. A hop over listed channels is one line from memory to memory. */
export function linesOfTrack(scene: NetScene, { number, hops }: Pick<Track, "number" | "hops">): TrackLine[] {
  return hops.flatMap((hop) => {
    const lines: Line[] = [];
    if (hop.leg === null) {
      const [from, to] = [scene.placeOf(hop.source), scene.placeOf(hop.destination)];
      if (from !== null && to !== null && (from.x !== to.x || from.y !== to.y)) lines.push(ending(from, to, scene));
    } else {
      const placed = scene.networks[hop.leg.network];
      if (placed?.holds === false) return numbered(along(scene, hop, placed), number, hop);
      const links = onDrawing(scene, hop);
      for (const link of links) lines.push(...linesOf(scene, hop, hop.leg.network, link));
    }
    return numbered(lines, number, hop);
  });
}

const numbered = (lines: readonly Line[], track: number, hop: TrackHop): TrackLine[] =>
  lines.map((line, place) => ({
    ...line,
    track,
    hop: hop.number,
    begin: place / lines.length,
    end: (place + 1) / lines.length,
  }));

/** To a network beside the memories, along it, and from it. */
function along(scene: NetScene, hop: TrackHop, placed: PlacedNetwork): Line[] {
  const [from, to] = [scene.placeOf(hop.source), scene.placeOf(hop.destination)];
  if (from === null || to === null) return [];
  const [first, last] = [placed.end(0, from), placed.end(0, to)];
  const across = { ...straight(first, last), bend: shapeOf(placed.network).surrounded ? placed.at(0) : null };
  return [ending(from, first, scene), across, ending(last, to, scene)];
}

/** The links of a hop, and from and to its memories where these lie beside their routers and have no links of their own. */
function onDrawing(scene: NetScene, hop: TrackHop): Pick<ShownLink, "source" | "destination">[] {
  const links = hop.leg?.links ?? [];
  const routers = links.flatMap(({ source, destination }) => [source, destination]).filter((router) => router >= 0);
  const [first, last] = [routers[0], routers.at(-1)];
  const found: Pick<ShownLink, "source" | "destination">[] = [...links];
  if (first !== undefined && links[0]!.source >= 0 && scene.homeOf(hop.source) === null)
    found.unshift({ source: -1, destination: first });
  if (last !== undefined && links.at(-1)!.destination >= 0 && scene.homeOf(hop.destination) === null)
    found.push({ source: last, destination: -1 });
  return found;
}

/** The point of a line at a share of it, from 0 to 1. */
export function pointOn({ from, to, bend }: Line, share: number): Point {
  const mix = (a: Point, b: Point): Point => ({ x: a.x + share * (b.x - a.x), y: a.y + share * (b.y - a.y) });
  return bend === null ? mix(from, to) : mix(mix(from, bend), mix(bend, to));
}

/** How far a point is from a line. */
export function distanceTo(line: Line, point: Point): number {
  const steps = line.bend === null ? 1 : 10;
  let least = Infinity;
  for (let step = 0; step < steps; step += 1) {
    const [a, b] = [pointOn(line, step / steps), pointOn(line, (step + 1) / steps)];
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const square = dx * dx + dy * dy;
    const share = square === 0 ? 0 : Math.max(0, Math.min(1, ((point.x - a.x) * dx + (point.y - a.y) * dy) / square));
    least = Math.min(least, Math.hypot(point.x - a.x - share * dx, point.y - a.y - share * dy));
  }
  return least;
}
