// Where a dragged chip belongs, and chips that glide to their new places.

/** A chip's place in its list, in pixels. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Pixels that the pointer moves before a press becomes a drag. */
export const THRESHOLD = 4;

/** How many of the other chips stand before the pointer, in reading order; chips may stand in several lines. */
export function dropPlace(others: readonly Box[], x: number, y: number): number {
  const top = Math.min(...others.map((box) => box.top));
  const bottom = Math.max(...others.map((box) => box.top + box.height));
  const line = Math.max(top, Math.min(y, bottom - 1));
  return others.filter((box) => line >= box.top + box.height || (line >= box.top && x > box.left + box.width / 2)).length;
}

/** The box of an element in its list, without what a transform does to it. */
export function boxOf(element: HTMLElement): Box {
  return { left: element.offsetLeft, top: element.offsetTop, width: element.offsetWidth, height: element.offsetHeight };
}

/** Milliseconds in which a chip glides to its new place. */
const GLIDE = 130;

/** Lets an element glide from where it was to where it is. */
export function glide(element: HTMLElement, before: Box, now: Box): void {
  const [dx, dy] = [before.left - now.left, before.top - now.top];
  if ((dx === 0 && dy === 0) || typeof element.animate !== "function") return;
  if (window.matchMedia?.("(prefers-reduced-motion: reduce)").matches) return;
  element.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], { duration: GLIDE, easing: "ease-out" });
}
