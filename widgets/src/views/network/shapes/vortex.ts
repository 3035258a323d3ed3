// The switch of a Data Vortex from above: its cylinders as rings, packets enter from outside and leave in the middle.
import { onScreen, type Sheet, SMALL } from "#lib/board.ts";
import type { Point } from "#lib/geometry.ts";
import type { ShownNetwork } from "#model/types.ts";
import { type Line, registerShape, straight } from "#views/network/shape.ts";

/** The radius of the innermost cylinder, the least and the most between cylinders, and what lies around: the ports, and an edge. */
const INNER = 40;
const STEP = { least: 20, most: 40 } as const;
const COLLAR = 26;
const EDGE = 4;
/** Pixels between ports, and between nodes, from which on each is drawn. */
const PORTS_FROM = 3;
const NODES_FROM = 7;
/** The least scale of what marks entries and exits, and the scale from which on the network is named. */
const LEAST_MARK = 0.6;
const NAMED_FROM = 0.6;
const TURN = 2 * Math.PI;
/** Parts of the ring that stands for what the whole switch holds. */
const ARCS = 8;

registerShape("vortex", {
  holds: false,
  surrounded: true,
  quiet: () => false,
  lay: (network, room) => {
    const switched = measured(network);
    const space = Math.min(room.width, room.height) / 2 - INNER - COLLAR - EDGE;
    const step = Math.max(STEP.least, Math.min(STEP.most, space / Math.max(1, switched.cylinders - 1)));
    const outer = INNER + step * (switched.cylinders - 1);
    const middle = outer + COLLAR + EDGE;
    const centre = { x: middle, y: middle };
    return {
      width: 2 * middle,
      height: 2 * middle,
      at: () => centre,
      end: (_router, { x, y }) => onRing(centre, outer + COLLAR, Math.atan2(y - middle, x - middle)),
      lines: () => ring(centre, outer + COLLAR / 2),
      paint: (sheet) => paint(sheet, network, switched, centre, step),
    };
  },
});

interface Switched {
  readonly cylinders: number;
  readonly heights: number;
  readonly angles: number;
  /** The angles at which packets enter and leave. */
  readonly inputs: readonly number[];
}

function measured({ sizes: [cylinders = 1, heights = 1, angles = 1, inputs = 1] }: ShownNetwork): Switched {
  const chosen = Array.from({ length: inputs }, (_, k) => Math.floor((k * angles) / inputs));
  return { cylinders, heights, angles, inputs: chosen };
}

const onRing = ({ x, y }: Point, radius: number, turned: number): Point => ({
  x: x + radius * Math.cos(turned),
  y: y + radius * Math.sin(turned),
});

/** A circle in curves, in the direction in which packets go. */
function ring(centre: Point, radius: number): Line[] {
  const wide = TURN / ARCS;
  return Array.from({ length: ARCS }, (_, k) => ({
    ...straight(onRing(centre, radius, k * wide), onRing(centre, radius, (k + 1) * wide)),
    bend: onRing(centre, radius / Math.cos(wide / 2), (k + 0.5) * wide),
  }));
}

function paint(sheet: Sheet, { name }: ShownNetwork, switched: Switched, centre: Point, step: number): void {
  const { context, at, colour } = sheet;
  const { cylinders, heights, angles, inputs } = switched;
  const middle = onScreen(centre, at);
  const { scale } = at;
  const radius = (cylinder: number): number => scale * (INNER + step * (cylinders - 1 - cylinder));
  const turned = (angle: number): number => (TURN * angle) / angles - TURN / 4;
  const node = (cylinder: number, angle: number): Point => onRing(middle, radius(cylinder), turned(angle));
  const collar = radius(0) + COLLAR * scale;
  const circle = (path: Path2D, { x, y }: Point, far: number): void => {
    path.moveTo(x + far, y);
    path.arc(x, y, far, 0, TURN);
  };

  const disc = new Path2D();
  circle(disc, middle, collar);
  context.fillStyle = colour("--iv-net-slice");
  context.fill(disc);
  context.strokeStyle = colour("--iv-strong-line");
  context.lineWidth = 2 * Math.min(1, Math.max(0.5, scale));
  context.stroke(disc);
  const ports = heights * inputs.length;
  if ((TURN * collar) / ports >= PORTS_FROM) {
    const ticks = new Path2D();
    for (let port = 0; port < ports; port += 1) {
      const way = (TURN * port) / ports - TURN / 4;
      const [from, to] = [onRing(middle, collar - 3 * scale, way), onRing(middle, collar + 3 * scale, way)];
      ticks.moveTo(from.x, from.y);
      ticks.lineTo(to.x, to.y);
    }
    context.lineWidth = 1;
    context.stroke(ticks);
  }

  // Inwards a packet goes on by one angle as well.
  const [inwards, rings, nodes] = [new Path2D(), new Path2D(), new Path2D()];
  const drawn = (TURN * radius(cylinders - 1)) / angles >= NODES_FROM;
  for (let cylinder = 0; cylinder < cylinders; cylinder += 1) {
    circle(rings, middle, radius(cylinder));
    for (let angle = 0; drawn && angle < angles; angle += 1) {
      const place = node(cylinder, angle);
      circle(nodes, place, Math.max(1.5, 3.2 * scale));
      if (cylinder === cylinders - 1) continue;
      const next = node(cylinder + 1, angle + 1);
      const between = (radius(cylinder) + radius(cylinder + 1)) / 2;
      const bend = onRing(middle, between / Math.cos(Math.min(1, TURN / angles / 2)), turned(angle + 0.5));
      inwards.moveTo(place.x, place.y);
      inwards.quadraticCurveTo(bend.x, bend.y, next.x, next.y);
    }
  }
  context.lineWidth = 1.2 * Math.min(1, Math.max(0.5, scale));
  context.stroke(rings);
  context.globalAlpha = 0.45;
  context.stroke(inwards);
  context.globalAlpha = 1;
  context.fillStyle = colour("--iv-net-router");
  context.fill(nodes);

  // Where packets enter: a triangle inwards. Where they leave: a circle around the innermost node.
  const mark = Math.max(LEAST_MARK, scale);
  const [entries, exits] = [new Path2D(), new Path2D()];
  for (const angle of drawn ? inputs : []) {
    const tip = radius(0) + 4 * mark;
    const wide = (7 * mark) / (tip + 13 * mark);
    const [point, left, right] = [
      onRing(middle, tip, turned(angle)),
      onRing(middle, tip + 13 * mark, turned(angle) - wide),
      onRing(middle, tip + 13 * mark, turned(angle) + wide),
    ];
    entries.moveTo(point.x, point.y);
    entries.lineTo(left.x, left.y);
    entries.lineTo(right.x, right.y);
    entries.closePath();
    circle(exits, node(cylinders - 1, angle), 7 * mark);
  }
  context.fillStyle = colour("--iv-ink");
  context.fill(entries);
  context.strokeStyle = colour("--iv-ink");
  context.lineWidth = 1.5;
  context.stroke(exits);

  if (scale < NAMED_FROM) return;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = SMALL;
  context.fillText(name, middle.x, middle.y, 2 * (INNER - 10) * scale);
}
