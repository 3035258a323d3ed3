// What the plan makes of the networks: its tracks or the loads of links, proxies as rings, chunks under way, and names.
import { boxOnScreen, FONT, freeBox, isOnSheet, onScreen, paintText, type Sheet, SMALL, textBox } from "#lib/board.ts";
import type { Point, Rect } from "#lib/geometry.ts";
import type { Load } from "#model/tracks.ts";
import { trackColour } from "#model/tracks.ts";
import type { NetMarks } from "./marks.ts";
import { linesOf, linesOfTrack, pointOn } from "./net-lines.ts";
import { type NetScene, type PlacedNetwork, STATION, stationBox } from "./net-scene.ts";
import type { Line } from "./shape.ts";

/** Steps of the scale of loads (`--iv-heat-1` and so on). */
export const HEATS = 5;
/** Pixels between routers from which on their names stand beside them. */
const NAMES_FROM = 37;
/** Half of a router at most, in pixels; and routers of a network that names are kept away from. */
const ROUTER = 6;
const MOST_AVOIDED = 1200;
/** Proxies that are all named; of more, only those of the selected track are. */
const FEW_NAMED = 6;

export function paintMarks(sheet: Sheet, scene: NetScene, marks: NetMarks): void {
  const { context, at, colour } = sheet;
  const lines = marks.tracks.map((track) => linesOfTrack(scene, track));
  // Where several tracks go along one line, they lie side by side.
  const users = new Map<string, number>();
  const asides = lines.map((all) =>
    all.map(({ from, to }) => {
      const name = [from.x, from.y, to.x, to.y].join();
      const before = users.get(name) ?? 0;
      users.set(name, before + 1);
      return (2.4 + 5 * before) / at.scale;
    }),
  );
  const wide = Math.max(1.6, Math.min(4, 3 * at.scale));
  context.lineCap = "round";
  if (marks.loads === null) {
    const order = [...marks.tracks].sort(
      (one, other) => Number(one.number === marks.selected) - Number(other.number === marks.selected),
    );
    for (const { number } of order) {
      const back = marks.selected !== null && marks.selected !== number;
      context.globalAlpha = back ? 0.22 : 1;
      for (const [place, line] of (lines[number] ?? []).entries()) {
        const bold = marks.selected === number ? 1.5 : 0;
        paintLine(sheet, shiftedAside(line, asides[number]?.[place] ?? 0), colour(trackColour(number)), wide + bold, !back);
      }
    }
    context.globalAlpha = 1;
  } else for (const load of marks.loads) paintLoad(sheet, scene, load, wide);
  paintStops(sheet, scene, marks);
  for (const bead of marks.beads) {
    const line = lines[bead.track]?.find(({ hop, begin, end }) => hop === bead.hop && bead.share >= begin && bead.share <= end);
    if (line === undefined) continue;
    const way = shiftedAside(line, 2.4 / at.scale);
    const { x, y } = onScreen(pointOn(way, (bead.share - line.begin) / Math.max(1e-9, line.end - line.begin)), at);
    context.fillStyle = marks.loads === null ? colour(trackColour(bead.track)) : colour("--iv-ink");
    context.strokeStyle = colour("--iv-paper");
    context.lineWidth = 1.5;
    disc(context, x, y, 4.5);
    context.fill();
    context.stroke();
  }
}

/** A line a little to its right: of two directions, and of several tracks, each is seen. */
function shiftedAside<L extends Line>(line: L, by: number): L {
  const [dx, dy] = [line.to.x - line.from.x, line.to.y - line.from.y];
  const length = Math.hypot(dx, dy) || 1;
  const [x, y] = [(-dy / length) * by, (dx / length) * by];
  const move = (point: Point): Point => ({ x: point.x + x, y: point.y + y });
  return { ...line, from: move(line.from), to: move(line.to), bend: line.bend === null ? null : move(line.bend) };
}

function paintLine({ context, at, colour }: Sheet, line: Line, stroke: string, width: number, arrow: boolean): void {
  const [from, to] = [onScreen(line.from, at), onScreen(line.to, at)];
  const bend = line.bend === null ? null : onScreen(line.bend, at);
  const path = new Path2D();
  path.moveTo(from.x, from.y);
  if (bend === null) path.lineTo(to.x, to.y);
  else path.quadraticCurveTo(bend.x, bend.y, to.x, to.y);
  if (arrow) {
    context.strokeStyle = colour("--iv-paper");
    context.lineWidth = width + 2;
    context.stroke(path);
  }
  context.strokeStyle = context.fillStyle = stroke;
  context.lineWidth = width;
  context.stroke(path);
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  if (!arrow || length < 3.2 * width) return;
  // The arrow stands in the middle: at the ends are routers.
  const share = line.leaves ? 1 : line.enters ? 0.25 : 0.56;
  const [tip, tail] = [onScreen(pointOn(line, share), at), onScreen(pointOn(line, share - 0.05), at)];
  const far = Math.hypot(tip.x - tail.x, tip.y - tail.y) || 1;
  const [ux, uy] = [(tip.x - tail.x) / far, (tip.y - tail.y) / far];
  const size = 1.5 * width + 2;
  context.beginPath();
  context.moveTo(tip.x + ux * size, tip.y + uy * size);
  context.lineTo(tip.x - uy * size * 0.75, tip.y + ux * size * 0.75);
  context.lineTo(tip.x + uy * size * 0.75, tip.y - ux * size * 0.75);
  context.closePath();
  context.fill();
}

/** The variable of a load's colour. */
export const heatOf = (share: number): string => `--iv-heat-${Math.max(1, Math.min(HEATS, Math.ceil(share * HEATS - 1e-9)))}`;

function paintLoad(sheet: Sheet, scene: NetScene, { network, link, hop, share }: Load, wide: number): void {
  const { context, at, colour } = sheet;
  const busy = share > 1e-6;
  const stroke = colour(busy ? heatOf(share) : "--iv-heat-0");
  for (const line of linesOf(scene, hop, network, link)) {
    paintLine(sheet, shiftedAside(line, 2.4 / at.scale), stroke, busy ? wide + 2.5 * share : wide * 0.7, busy);
  }
  // What a router hands to the memory at it: a ring.
  if ((link.source < 0 || link.destination < 0) && busy) {
    const memory = link.source < 0 ? hop.source : hop.destination;
    const place = scene.homeOf(memory) === null ? null : scene.placeOf(memory);
    if (place !== null) {
      const { x, y } = onScreen(place, at);
      context.strokeStyle = stroke;
      context.lineWidth = 1 + 2.5 * share;
      disc(context, x, y, Math.max(7, 9.5 * at.scale));
      context.stroke();
    }
  }
}

function disc(context: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}

/** Source and destination with their names, proxies as rings in the colours of their tracks. */
function paintStops(sheet: Sheet, scene: NetScene, marks: NetMarks): void {
  const { context, at, colour } = sheet;
  const radius = Math.max(3.5, Math.min(9, 6.5 * at.scale));
  const labels: Label[] = [];
  const few = at.scale > 1.25 && marks.tracks.reduce((count, each) => count + each.proxies.length, 0) <= FEW_NAMED;
  const beside = (name: string): number => (scene.homeOf(name) === null ? (STATION.height * at.scale) / 2 + 14 : 20);
  for (const placed of scene.networks)
    if (hasNames(placed, sheet))
      placed.network.names.forEach((text, router) =>
        labels.push({ text, place: onScreen(placed.at(router), at), strong: false, aside: 20 }),
      );
  for (const { number, proxies } of marks.tracks) {
    const back = marks.selected !== null && marks.selected !== number;
    for (const name of proxies) {
      const place = scene.placeOf(name);
      if (place === null) continue;
      const { x, y } = onScreen(place, at);
      context.globalAlpha = back ? 0.3 : 1;
      context.fillStyle = colour("--iv-paper");
      context.strokeStyle = marks.loads === null ? colour(trackColour(number)) : colour("--iv-muted");
      context.lineWidth = Math.max(1.8, Math.min(3, 2.4 * at.scale));
      ringAt(sheet, scene, name, x, y, radius);
      context.fill();
      context.stroke();
      stationName(sheet, scene, name, place);
      context.globalAlpha = 1;
      const home = scene.homeOf(name);
      const placed = home === null ? undefined : scene.networks[home.network];
      const named = placed === undefined || hasNames(placed, sheet);
      if (!back && !named && (few || marks.selected === number))
        labels.push({ text: name, place: { x, y }, strong: false, aside: beside(name) });
    }
  }
  for (const [name, text] of [
    [marks.source, "source"],
    [marks.destination, "destination"],
  ] as const) {
    const place = scene.placeOf(name);
    if (place === null) continue;
    const { x, y } = onScreen(place, at);
    context.fillStyle = colour("--iv-ink");
    context.strokeStyle = colour("--iv-paper");
    context.lineWidth = 2;
    if (scene.homeOf(name) !== null) {
      disc(context, x, y, radius + 1);
      context.fill();
      context.stroke();
    } else {
      context.strokeStyle = colour("--iv-ink");
      ringAt(sheet, scene, name, x, y, radius);
      context.stroke();
    }
    labels.push({ text: `${text} ${name}`, place: { x, y }, strong: true, aside: beside(name) });
  }
  for (const [name, stroke] of [
    [marks.chosen, "--iv-accent"],
    [marks.pointed, "--iv-ink"],
  ] as const) {
    const place = name === null ? null : scene.placeOf(name);
    if (name === null || place === null) continue;
    const { x, y } = onScreen(place, at);
    paintPortsOf(sheet, scene, name);
    context.strokeStyle = colour(stroke);
    context.lineWidth = 2;
    ringAt(sheet, scene, name, x, y, radius + 4);
    context.stroke();
    if (!labels.some(({ text }) => text.endsWith(name)))
      labels.push({ text: name, place: { x, y }, strong: false, aside: beside(name) });
  }
  const [taken, nodes] = [[] as Rect[], nodesOn(sheet, scene)];
  for (const each of labels.sort((one, other) => Number(other.strong) - Number(one.strong))) label(sheet, each, taken, nodes);
}

/** The routers and stations that are seen, which names leave free where they can; none where they are too many to be told apart. */
function nodesOn(sheet: Sheet, scene: NetScene): Rect[] {
  const { at } = sheet;
  const found: Rect[] = scene.stations.map(({ place }) => boxOnScreen(stationBox(place), at));
  for (const { network, holds, at: placeOf } of scene.networks) {
    const half = Math.min(ROUTER, (network.apart * at.scale) / 4);
    if (!holds || network.routers > MOST_AVOIDED || half < 1) continue;
    for (let router = 0; router < network.routers; router += 1) {
      const { x, y } = onScreen(placeOf(router), at);
      const box = { x: x - half, y: y - half, width: 2 * half, height: 2 * half };
      if (isOnSheet(box, sheet)) found.push(box);
    }
  }
  return found;
}

/** Whether the names of routers stand beside them. */
const hasNames = ({ holds, network }: PlacedNetwork, { at }: Sheet): boolean =>
  holds && network.names.length > 0 && network.apart * at.scale > NAMES_FROM;

/** The links to a memory that lies beside the routers, where that or its router is pointed at. */
function paintPortsOf({ context, at, colour }: Sheet, scene: NetScene, name: string): void {
  const home = scene.homeOf(name);
  for (const { station, network, router } of scene.ports) {
    const placed = scene.networks[network];
    const isOf = station.name === name || (home?.network === network && home.router === router);
    if (!isOf || placed === undefined || !placed.quiet) continue;
    const [from, to] = [onScreen(placed.at(router), at), onScreen(station.place, at)];
    context.strokeStyle = colour("--iv-muted");
    context.lineWidth = 1.5;
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.lineTo(to.x, to.y);
    context.stroke();
    context.setLineDash([]);
  }
}

function ringAt({ context, at }: Sheet, scene: NetScene, name: string, x: number, y: number, radius: number): void {
  if (scene.homeOf(name) !== null) {
    disc(context, x, y, radius);
    return;
  }
  const [width, height] = [STATION.width * at.scale + 4, STATION.height * at.scale + 4];
  context.beginPath();
  context.roundRect(x - width / 2, y - height / 2, width, height, 6);
}

function stationName({ context, at, colour }: Sheet, scene: NetScene, name: string, place: Point): void {
  if (scene.homeOf(name) !== null || at.scale <= 0.62) return;
  const { x, y } = onScreen(place, at);
  context.fillStyle = colour("--iv-ink");
  context.font = SMALL;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(name, x, y + 0.5, STATION.width * at.scale - 6);
}

interface Label {
  readonly text: string;
  readonly place: Point;
  readonly strong: boolean;
  /** Pixels from its place to its middle, above or below. */
  readonly aside: number;
}

/** A name beside its router: on the side that has room, over no other name, and over no node where there is such a place. */
function label(sheet: Sheet, { text, place, strong, aside }: Label, taken: Rect[], nodes: readonly Rect[]): void {
  const font = strong ? `600 ${FONT}` : SMALL;
  const middle = textBox(sheet, text, place, font);
  const across = middle.width / 2 + 14;
  const places = [
    [0, -aside],
    [0, aside],
    [across, 0],
    [-across, 0],
    [across, -aside],
    [-across, aside],
    [0, -2 * aside],
    [0, 2 * aside],
    [across, -2 * aside],
    [-across, -2 * aside],
    [across, 2 * aside],
    [-across, 2 * aside],
  ] as const;
  const boxes = places.map(([dx, dy]) => {
    const x = middle.x + dx;
    // Above and below, a name may stand to the side to be on the sheet.
    return { ...middle, x: dx === 0 ? Math.max(2, Math.min(sheet.width - middle.width - 2, x)) : x, y: middle.y + dy };
  });
  const box = freeBox(sheet, boxes, [...taken, ...nodes]) ?? freeBox(sheet, boxes, [...taken]);
  if (box === null) return;
  taken.push(box);
  paintText(sheet, text, box, font);
}
