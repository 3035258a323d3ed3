// Places and lines on a drawing. The unit is a CSS pixel at natural size; y goes down.

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** An upright rectangle by its top left corner. */
export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A cubic Bézier curve from one box to another. */
export interface Curve {
  readonly from: Point;
  readonly first: Point;
  readonly second: Point;
  readonly to: Point;
}

export const centreOf = (box: Rect): Point => ({ x: box.x + box.width / 2, y: box.y + box.height / 2 });

export const boxAround = (centre: Point, width: number, height: number): Rect => ({
  x: centre.x - width / 2,
  y: centre.y - height / 2,
  width,
  height,
});

export const holds = (box: Rect, { x, y }: Point): boolean =>
  x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;

/** The least rectangle around the places of a curve, as far as they are looked at. */
export function extentOf(curve: Curve): Rect {
  const points = Array.from({ length: STEPS + 1 }, (_, step) => along(curve, step / STEPS));
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

/** Whether two rectangles share a place. */
export const meet = (one: Rect, other: Rect): boolean =>
  one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;

/** The least rectangle around others; null where there are none. */
export function union(boxes: Iterable<Rect>): Rect | null {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const box of boxes) {
    left = Math.min(left, box.x);
    top = Math.min(top, box.y);
    right = Math.max(right, box.x + box.width);
    bottom = Math.max(bottom, box.y + box.height);
  }
  return left > right ? null : { x: left, y: top, width: right - left, height: bottom - top };
}

export const grown = (box: Rect, by: number): Rect => ({
  x: box.x - by,
  y: box.y - by,
  width: box.width + 2 * by,
  height: box.height + 2 * by,
});

/** Where the line from the centre of a box towards a point leaves it. */
export function border(box: Rect, towards: Point): Point {
  const centre = centreOf(box);
  const [dx, dy] = [towards.x - centre.x, towards.y - centre.y];
  if (dx === 0 && dy === 0) return centre;
  const share = Math.min(box.width / 2 / Math.abs(dx || 1e-9), box.height / 2 / Math.abs(dy || 1e-9));
  return { x: centre.x + dx * Math.min(1, share), y: centre.y + dy * Math.min(1, share) };
}

/** The line from one box to another; `bend` is how far its middle lies to the right of the straight line, seen along it. */
export function between(source: Rect, destination: Rect, bend: number): Curve {
  const [a, b] = [centreOf(source), centreOf(destination)];
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const normal = { x: -(b.y - a.y) / length, y: (b.x - a.x) / length };
  const control = { x: (a.x + b.x) / 2 + normal.x * bend * 2, y: (a.y + b.y) / 2 + normal.y * bend * 2 };
  const [from, to] = [border(source, control), border(destination, control)];
  const near = (end: Point): Point => ({ x: end.x + (2 / 3) * (control.x - end.x), y: end.y + (2 / 3) * (control.y - end.y) });
  return { from, first: near(from), second: near(to), to };
}

/** How the line of several channels goes from one box to another. */
export interface Way {
  /** From centre to centre; straight across the gap where boxes face each other; over what lies between boxes in a row. */
  readonly kind: "centres" | "across" | "over";
  /** How far it bends. */
  readonly bend: number;
}

/** Boxes face each other where they share this much of a row or a column. */
const FACING = 12;

/** The line from one box to another on a way; null where the boxes do not lie so. */
export function lineOn({ kind, bend }: Way, source: Rect, destination: Rect): Curve | null {
  if (kind === "centres") return between(source, destination, bend);
  const [left, right] = [Math.max(source.x, destination.x), Math.min(endOf(source).x, endOf(destination).x)];
  const [top, bottom] = [Math.max(source.y, destination.y), Math.min(endOf(source).y, endOf(destination).y)];
  if (right - left < FACING && bottom - top < FACING) return null;
  const below = right - left >= FACING;
  const back = below ? source.y > destination.y : source.x > destination.x;
  if (kind === "across") {
    const [near, far] = below ? [bottom, top] : [right, left];
    const middle = below ? (left + right) / 2 : (top + bottom) / 2;
    const at = (along: number): Point => (below ? { x: middle, y: along } : { x: along, y: middle });
    return straight(at(back ? far : near), at(back ? near : far));
  }
  // Boxes in a column have it at their right, boxes in a row above them.
  const reach = bend / 0.75;
  if (below) {
    const [from, to] = [source, destination].map((box): Point => ({ x: endOf(box).x, y: centreOf(box).y }));
    const x = Math.max(from?.x ?? 0, to?.x ?? 0) + reach;
    return from && to ? { from, first: { x, y: from.y }, second: { x, y: to.y }, to } : null;
  }
  const [from, to] = [source, destination].map((box): Point => ({ x: centreOf(box).x, y: box.y }));
  const y = Math.min(from?.y ?? 0, to?.y ?? 0) - reach;
  return from && to ? { from, first: { x: from.x, y }, second: { x: to.x, y }, to } : null;
}

const endOf = ({ x, y, width, height }: Rect): Point => ({ x: x + width, y: y + height });

function straight(from: Point, to: Point): Curve {
  const at = (share: number): Point => ({ x: from.x + share * (to.x - from.x), y: from.y + share * (to.y - from.y) });
  return { from, first: at(1 / 3), second: at(2 / 3), to };
}

/** A self-loop at the upper right corner of a box; later ones lie around earlier ones. */
export function loop(box: Rect, place: number): Curve {
  const reach = 26 + 14 * place;
  const [right, top] = [box.x + box.width, box.y];
  const inset = Math.min(14 + 5 * place, box.width / 3);
  return {
    from: { x: right - inset, y: top },
    first: { x: right - inset, y: top - reach },
    second: { x: right + reach, y: top + Math.min(14, box.height / 3) },
    to: { x: right, y: top + Math.min(14, box.height / 3) },
  };
}

/** The point of a curve at a share of it, from 0 to 1. */
export function along({ from, first, second, to }: Curve, t: number): Point {
  const u = 1 - t;
  const [a, b, c, d] = [u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t];
  return { x: a * from.x + b * first.x + c * second.x + d * to.x, y: a * from.y + b * first.y + c * second.y + d * to.y };
}

/** A rectangle that holds a curve. */
export function around({ from, first, second, to }: Curve): Rect {
  const [xs, ys] = [
    [from.x, first.x, second.x, to.x],
    [from.y, first.y, second.y, to.y],
  ];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

const STEPS = 14;

/** How far a point is from a curve. */
export function distance(curve: Curve, point: Point): number {
  let best = Infinity;
  let last = curve.from;
  for (let step = 1; step <= STEPS; step += 1) {
    const next = along(curve, step / STEPS);
    best = Math.min(best, toSegment(point, last, next));
    last = next;
  }
  return best;
}

function toSegment(point: Point, a: Point, b: Point): number {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const square = dx * dx + dy * dy;
  const share = square === 0 ? 0 : Math.max(0, Math.min(1, ((point.x - a.x) * dx + (point.y - a.y) * dy) / square));
  return Math.hypot(point.x - a.x - share * dx, point.y - a.y - share * dy);
}

/** Whether a curve goes through one of these boxes. */
export function crosses(curve: Curve, boxes: readonly Rect[]): boolean {
  for (let step = 1; step < STEPS; step += 1) {
    const point = along(curve, step / STEPS);
    if (boxes.some((box) => holds(box, point))) return true;
  }
  return false;
}
