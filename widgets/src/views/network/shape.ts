// How the routers of a network are drawn: a shape is a file of `shapes` that registers itself by the name that a topology gives.
import type { Sheet } from "#lib/board.ts";
import type { Point } from "#lib/geometry.ts";
import type { ShownNetwork } from "#model/types.ts";

/** A quadratic curve; straight where `bend` is null. `enters`: it comes from beyond an edge, `leaves`: it goes there. */
export interface Line {
  readonly from: Point;
  readonly to: Point;
  readonly bend: Point | null;
  readonly enters: boolean;
  readonly leaves: boolean;
}

export const straight = (from: Point, to: Point): Line => ({ from, to, bend: null, enters: false, leaves: false });

/** What lies beside a network: memories in a row above it, as wide, or in a column, as high. `number` counts the networks. */
export interface Room {
  readonly width: number;
  readonly height: number;
  readonly number: number;
}

/** A network as it is drawn, with all places from the upper left corner of its box. */
export interface Laid {
  readonly width: number;
  readonly height: number;
  readonly at: (router: number) => Point;
  /** Where the line from a memory beside it ends at a router. */
  readonly end: (router: number, from: Point) => Point;
  /** The lines of a link between two routers. */
  readonly lines: (from: number, to: number) => Line[];
  readonly paint: (sheet: Sheet) => void;
}

export interface Shape {
  /** Whether memories lie at its routers. Otherwise they stand beside it, and it is drawn above their lines. */
  readonly holds: boolean;
  /** Whether the memories beside it stand around it, node by node, where it is the only network. */
  readonly surrounded?: boolean;
  /** Draws the links from memories beside it only where these are pointed at. */
  readonly quiet: (network: ShownNetwork) => boolean;
  readonly lay: (network: ShownNetwork, room: Room) => Laid;
}

const shapes = new Map<string, Shape>();

/** Names a shape, for topologies whose `places()` say so. */
export function registerShape(name: string, shape: Shape): void {
  shapes.set(name, shape);
}

export function shapeOf({ shape }: ShownNetwork): Shape {
  const found = shapes.get(shape) ?? shapes.get("routers");
  if (found === undefined) throw new Error("no shape of networks is loaded");
  return found;
}
