// Routers at their places with the links between them, in frames where they have coordinates: what most topologies are.
import { boxOnScreen, isOnSheet, onScreen, type Sheet, SMALL } from "#lib/board.ts";
import { grown, type Point } from "#lib/geometry.ts";
import type { ShownNetwork } from "#model/types.ts";
import { type Places, placesOf } from "#views/network/places.ts";
import { type Line, registerShape, straight } from "#views/network/shape.ts";

/** Pixels between neighbours from which on the links, and the routers, of a framed panel are drawn. */
export const LINKS_FROM = 9;
export const ROUTERS_FROM = 2.4;
/** How far a line goes beyond the edge of a panel where it goes around. */
const STUB = 11;
/** How far the middle of an arc lies beside the straight line, as a share of its length, and at most. */
const ARC = { share: 0.13, most: 46 } as const;
/** Pixels of a router at natural size and at most: in a frame, where they are many, and else. */
const SIZE = { framed: { natural: 8, most: 9 }, free: { natural: 13, most: 24 } } as const;
/** Links beyond this number are drawn lighter. */
const MANY = 400;

registerShape("routers", {
  holds: true,
  quiet: ({ axes }) => axes.length > 0,
  lay: (network) => {
    const places = placesOf(network);
    const { bounds } = places;
    const moved = ({ x, y }: Point): Point => ({ x: x - bounds.x, y: y - bounds.y });
    const at = (router: number): Point => moved(places.at(router));
    const segments = segmentsOf(network, places);
    return {
      width: bounds.width,
      height: bounds.height,
      at,
      end: at,
      lines: (from, to) => lines(places, from, to, at),
      paint: (sheet) => paint(sheet, network, places, segments),
    };
  },
});

function lines({ around, isAcross }: Places, from: number, to: number, at: (router: number) => Point): Line[] {
  const [begin, end] = [at(from), at(to)];
  if (isAcross(from, to)) return [{ ...straight(begin, end), bend: arc(begin, end) }];
  const way = around(from, to);
  if (way === null) return [straight(begin, end)];
  return [
    { ...straight(begin, { x: begin.x + STUB * way.x, y: begin.y + STUB * way.y }), leaves: true },
    { ...straight({ x: end.x - STUB * way.x, y: end.y - STUB * way.y }, end), enters: true },
  ];
}

function arc(from: Point, to: Point): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const aside = Math.min(ARC.most, length * ARC.share) * 2;
  return {
    x: (from.x + to.x) / 2 - ((to.y - from.y) / length) * aside,
    y: (from.y + to.y) / 2 + ((to.x - from.x) / length) * aside,
  };
}

interface Segment extends Line {
  readonly width: number;
}

/** The lines of the links of every panel, from its corner; of the first one where all are alike. */
function segmentsOf({ panels }: ShownNetwork, places: Places): readonly Segment[][] {
  const { links, points } = places;
  const found: Segment[][] = panels.map(() => []);
  for (const [from, to, width] of links)
    for (const line of lines(places, from, to, (router) => points[router % points.length]!))
      found[Math.floor(from / points.length)]?.push({ ...line, width });
  return found;
}

function paint(sheet: Sheet, network: ShownNetwork, places: Places, segments: readonly Segment[][]): void {
  const { context, at, colour } = sheet;
  const { points, panel, bounds, links } = places;
  const framed = network.axes.length > 0;
  const cell = network.apart * at.scale;
  const { natural, most } = framed ? SIZE.framed : SIZE.free;
  const size = Math.max(framed ? 1 : 2, Math.min(most, Math.min(natural, network.apart / 2) * at.scale));
  const drawn = !framed || cell >= LINKS_FROM;
  const dead = new Set(network.deadRouters);
  const [routers, gone, rest] = [new Path2D(), new Path2D(), new Map<number, Path2D>()];
  network.panels.forEach(({ x, y, title }, number) => {
    const corner = onScreen({ x: x - bounds.x, y: y - bounds.y }, at);
    const inPanel = { scale: at.scale, ...corner };
    const frame = boxOnScreen(grown(panel, 4), inPanel);
    if (!isOnSheet(frame, sheet)) return;
    if (framed) {
      context.fillStyle = colour("--iv-net-slice");
      context.beginPath();
      context.roundRect(frame.x, frame.y, frame.width, frame.height, Math.min(6, cell / 3));
      context.fill();
    }
    for (const { from, to, width } of drawn ? segments[network.alike ? 0 : number]! : []) {
      let path = rest.get(width);
      if (path === undefined) rest.set(width, (path = new Path2D()));
      path.moveTo(corner.x + at.scale * from.x, corner.y + at.scale * from.y);
      path.lineTo(corner.x + at.scale * to.x, corner.y + at.scale * to.y);
    }
    if (!framed || cell >= ROUTERS_FROM)
      points.forEach((point, each) => {
        const path = dead.size > 0 && dead.has(number * points.length + each) ? gone : routers;
        path.rect(corner.x + at.scale * point.x - size / 2, corner.y + at.scale * point.y - size / 2, size, size);
      });
    if (title !== "" && frame.width > 42) {
      context.fillStyle = colour("--iv-muted");
      context.font = SMALL;
      context.textAlign = "left";
      context.textBaseline = "bottom";
      context.fillText(title, frame.x + 1, frame.y - 1, Math.max(30, frame.width));
    }
  });
  context.strokeStyle = colour("--iv-strong-line");
  context.globalAlpha = !framed && links.length > MANY ? 0.35 : 0.75;
  for (const [width, path] of rest) {
    context.lineWidth = Math.min(6, 1.3 * width) * Math.min(1, Math.max(0.4, at.scale));
    context.stroke(path);
  }
  context.globalAlpha = 1;
  context.fillStyle = colour("--iv-net-router");
  context.fill(routers);
  context.fillStyle = colour("--iv-bad");
  context.fill(gone);
}
