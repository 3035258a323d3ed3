// What a window of the screen shows of a grid of any size: the cell in its upper left corner and the size of a cell, each with
// fractions. Pure: every gesture gives a new viewport.

export interface Viewport {
  /** The cell in the upper left corner. */
  readonly left: number;
  readonly top: number;
  /** The size of a cell in CSS pixels. */
  readonly width: number;
  readonly height: number;
}

/** The room for the grid in CSS pixels, the number of cells, and device pixels for each CSS pixel. */
export interface Room {
  readonly width: number;
  readonly height: number;
  readonly columns: number;
  readonly rows: number;
  readonly ratio: number;
  /** The cells to begin with, from the first one on; all unless it is said. */
  readonly first?: { readonly columns: number; readonly rows: number } | null;
}

/** Cells do not become larger than this (CSS pixels). */
export const LARGEST = 76;

/** Long thin arrays are drawn at least so wide and so high (CSS pixels): their cells are not square. */
const THIN = 72;

/** The whole grid, in square cells. */
export function fitted(room: Room): Viewport {
  const { columns, rows } = room;
  const [widest, highest] = [Math.min(LARGEST, room.width / columns), Math.min(LARGEST, room.height / rows)];
  const size = Math.min(widest, highest);
  const width = snapped(Math.max(size, Math.min(widest, THIN / columns)), room.ratio);
  const height = snapped(Math.max(size, Math.min(highest, THIN / rows)), room.ratio);
  return { left: 0, top: 0, width, height };
}

/** What a grid begins with: the whole, or its first block. */
export function first(room: Room): Viewport {
  if (room.first == null) return fitted(room);
  // A block fills the room, as in the picture of memory.
  const { columns, rows } = room.first;
  const [width, height] = [room.width / columns, room.height / rows];
  return { left: 0, top: 0, width: Math.min(LARGEST, width), height: Math.min(LARGEST, height) };
}

/** Cells of several device pixels are whole device pixels: all are equally large. */
function snapped(size: number, ratio: number): number {
  return size * ratio >= 4 ? Math.floor(size * ratio + 1e-9) / ratio : size;
}

/** Zoomed by a factor; what is below the point (CSS pixels from the corner) stays there. */
export function zoomed(view: Viewport, room: Room, factor: number, x: number, y: number): Viewport {
  const whole = fitted(room);
  const width = snapped(limited(view.width * factor, whole.width, Math.max(whole.width, LARGEST)), room.ratio);
  const height = snapped(limited(view.height * factor, whole.height, Math.max(whole.height, LARGEST)), room.ratio);
  return inside(
    { left: view.left + x / view.width - x / width, top: view.top + y / view.height - y / height, width, height },
    room,
  );
}

/** Moved by CSS pixels, as if the grid were dragged. */
export function panned(view: Viewport, room: Room, dx: number, dy: number): Viewport {
  return inside({ ...view, left: view.left - dx / view.width, top: view.top - dy / view.height }, room);
}

/** Moved as little as needed for a cell to be seen whole. */
export function showing(view: Viewport, room: Room, column: number, row: number): Viewport {
  const [across, down] = [room.width / view.width, room.height / view.height];
  const left = across < 1 ? column : limited(view.left, column + 1 - across, column);
  const top = down < 1 ? row : limited(view.top, row + 1 - down, row);
  return left === view.left && top === view.top ? view : inside({ ...view, left, top }, room);
}

/** The viewport for another room: the whole grid stays whole, a part stays where it is. */
export function resized(view: Viewport | null, before: Room | null, room: Room): Viewport {
  if (view === null || before === null || before.columns !== room.columns || before.rows !== room.rows) return first(room);
  if (isFitted(view, before)) return fitted(room);
  return zoomed(view, room, 1, 0, 0);
}

/** The viewport that shows the part of the array that another grid of the same dimensions shows. */
export function followed(view: Viewport, before: Room, room: Room): Viewport {
  const whole = fitted(room);
  if (isFitted(view, before)) return whole;
  // What is seen there is seen here as well; cells keep their shape.
  const factor = Math.min(room.width / before.width, room.height / before.height);
  const width = limited(view.width * factor, whole.width, Math.max(whole.width, LARGEST));
  const height = limited(view.height * factor, whole.height, Math.max(whole.height, LARGEST));
  return inside({ left: view.left, top: view.top, width: snapped(width, room.ratio), height: snapped(height, room.ratio) }, room);
}

export function isFitted(view: Viewport, room: Room): boolean {
  const whole = fitted(room);
  return view.width <= whole.width && view.height <= whole.height;
}

function inside(view: Viewport, room: Room): Viewport {
  // Corners lie on device pixels, so that cells do not tremble while the grid is dragged.
  const left = limited(view.left, 0, Math.max(0, room.columns - room.width / view.width));
  const top = limited(view.top, 0, Math.max(0, room.rows - room.height / view.height));
  return {
    ...view,
    left: view.width * room.ratio >= 4 ? Math.round(left * view.width * room.ratio) / (view.width * room.ratio) : left,
    top: view.height * room.ratio >= 4 ? Math.round(top * view.height * room.ratio) / (view.height * room.ratio) : top,
  };
}

function limited(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, value));
}
