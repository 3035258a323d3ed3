// What lies at a place of the drawing: a channel, a bundle of channels, a box.

import { around, type Curve, distance, grown, holds, type Point } from "#lib/geometry.ts";
import type { Box } from "./boxes.ts";
import type { Marks } from "./marks.ts";
import type { Bundle, Edge, Scene } from "./scene.ts";

/** The nearest of some lines to a place, no farther than `least`; null where there is none. */
function nearest<T extends { readonly curve: Curve }>(lines: Iterable<T>, place: Point, least: number): T | null {
  let best: T | null = null;
  for (const line of lines) {
    if (!holds(grown(around(line.curve), least), place)) continue;
    const far = distance(line.curve, place);
    if (far < least) [least, best] = [far, line];
  }
  return best;
}

/** What the pointer is on: a channel, or the line of several. */
export type Line = { readonly edge: Edge; readonly bundle: null } | { readonly edge: null; readonly bundle: Bundle };

/** Whether a channel that lies in the line of several is drawn by itself: around the memory, or in the bundle, that is selected. */
export function isOpen(scene: Scene, { around: memory, opened }: Marks, edge: Edge): boolean {
  if (edge.source === memory || edge.destination === memory) return true;
  return opened !== null && scene.bundles.some(({ key, edges }) => key === opened && edges.includes(edge));
}

/** What the pointer is on at a place, `least` around it; of several channels on one line, the one that the path takes. */
export function lineAt(scene: Scene, marks: Marks, place: Point, least: number): Line | null {
  const isLit = ({ name }: Edge): boolean => marks.path.has(name) || name === marks.selected;
  const shown = scene.lines.filter(
    (edge) => !edge.gathered || isLit(edge) || edge.beside.some(isLit) || isOpen(scene, marks, edge),
  );
  const edge = nearest(shown, place, least);
  if (edge !== null) return { edge: edge.beside.find(({ name }) => marks.path.has(name)) ?? edge, bundle: null };
  const bundle = nearest(
    scene.bundles.filter(({ gathers }) => gathers),
    place,
    least,
  );
  return bundle === null ? null : { edge: null, bundle };
}

/** The innermost box at a place; null beside all nodes. */
export function boxAt(scene: Scene, place: Point): Box | null {
  let found: Box | null = null;
  for (const box of scene.boxes.values()) {
    const frame = scene.frames.get(box.key);
    if (frame !== undefined && holds(frame, place)) found = box; // inner boxes come after their outer ones
  }
  return found;
}
