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
  /** Whether cells are as wide as high. */
  readonly square?: boolean;
}

/** Cells do not grow beyond these sizes (CSS pixels). */
export const LARGEST = { width: 92, height: 72 } as const;

/** Cells are at most so many times as wide as high, or as high as wide, where there is a choice. */
const ASPECT = 2;

/** The whole grid. Each direction fills its room on its own, so that long thin arrays can be seen too. */
export function fitted(room: Room): Viewport {
  let width = snapped(Math.min(LARGEST.width, room.width / room.columns), room.ratio);
  let height = snapped(Math.min(LARGEST.height, room.height / room.rows), room.ratio);
  // Cells that are large anyway do not have to be long and thin.
  if (width > ASPECT * height && height >= 16) width = snapped(ASPECT * height, room.ratio);
  if (height > ASPECT * width && width >= 16) height = snapped(ASPECT * width, room.ratio);
  return shaped({ left: 0, top: 0, width, height }, room);
}

/** Cells as wide as high, where they are to be. */
function shaped(view: Viewport, room: Room): Viewport {
  const size = Math.min(view.width, view.height);
  return room.square === true ? { ...view, width: size, height: size } : view;
}

/** Cells of several device pixels are whole device pixels: all are equally large. */
function snapped(size: number, ratio: number): number {
  return size * ratio >= 4 ? Math.floor(size * ratio + 1e-9) / ratio : size;
}

/** Zoomed by a factor; what is below the point (CSS pixels from the corner) stays there. */
export function zoomed(view: Viewport, room: Room, factor: number, x: number, y: number): Viewport {
  const whole = fitted(room);
  const width = limited(view.width * factor, whole.width, Math.max(whole.width, LARGEST.width));
  const height = limited(view.height * factor, whole.height, Math.max(whole.height, LARGEST.height));
  const { width: snappedWidth, height: snappedHeight } = shaped(
    { ...view, width: snapped(width, room.ratio), height: snapped(height, room.ratio) },
    room,
  );
  return inside(
    {
      left: view.left + x / view.width - x / snappedWidth,
      top: view.top + y / view.height - y / snappedHeight,
      width: snappedWidth,
      height: snappedHeight,
    },
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
  if (view === null || before === null || before.columns !== room.columns || before.rows !== room.rows || isFitted(view, before))
    return fitted(room);
  return zoomed(view, room, 1, 0, 0);
}

/** The viewport that shows the part of the array that another grid of the same dimensions shows. */
export function followed(view: Viewport, before: Room, room: Room): Viewport {
  const whole = fitted(room);
  if (isFitted(view, before)) return whole;
  const width = limited((view.width * room.width) / before.width, whole.width, Math.max(whole.width, LARGEST.width));
  const height = limited((view.height * room.height) / before.height, whole.height, Math.max(whole.height, LARGEST.height));
  const next = { left: view.left, top: view.top, width: snapped(width, room.ratio), height: snapped(height, room.ratio) };
  return inside(shaped(next, room), room);
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
