// The colours of a layout's pictures: of memory by address, of the same entries by index, and of the tape.
import { useCallback, useMemo } from "preact/hooks";
import { useDark } from "#lib/hooks.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { OwnColours, PictureWay } from "#model/picture-way.ts";
import { elementColour } from "#views/linearization/drawing/colouring.ts";
import type { LayoutPicture } from "#views/linearization/drawing/picture.ts";
import { type MemoryMap, memoryMap, type Part } from "#views/memory/memory-map.ts";
import { useOwnColours } from "#views/memory/own-colours.ts";
import { type Paint, paintOf } from "#views/memory/paint.ts";
import { modelCoordinate } from "./memory.tsx";
import type { ViewOptions } from "./options.ts";

/** The layouts at both ends of a transfer. */
type Ends = readonly [Linearization, Linearization] | null;

/** The colours of what lies in memory: those that are chosen for the cells, or else the value or the index of an entry. */
export function usePaint(
  { ends }: { readonly ends: Ends },
  own: OwnColours | null,
  { lying }: PictureWay,
  { colours }: LayoutPicture,
): (map: MemoryMap) => Paint {
  const dark = useDark();
  const byAddress = colours.by === "offset";
  return useCallback(
    (map: MemoryMap): Paint => (byAddress ? paintOf(map, { lying, own, ends, dark }) : cellPaint(map, colours)),
    [lying, own, ends, dark, byAddress ? null : colours],
  );
}

/** Colours of cells as colours of what lies in memory. */
function cellPaint(map: MemoryMap, colours: LayoutPicture["colours"]): Paint {
  const index = map.sizes.map(() => 0);
  return {
    adds: false,
    element: (at, field) => {
      for (let dim = 0; dim < index.length; dim += 1) index[dim] = map.coordinate(dim, at[dim] ?? 0) ?? 0;
      return elementColour(colours, index, map.field(field));
    },
  };
}

/** The colour of each entry of an array: that of its place in the picture of memory. What lies in other blocks looks as in the first. */
export function ofEntries(
  linear: Linearization,
  part: Part,
  paint: (map: MemoryMap) => Paint,
): (index: readonly number[], field: number) => number {
  const map = memoryMap(linear, part.kind === "block" ? part : { kind: "whole" });
  const { element } = paint(map);
  if (part.kind === "whole") return element;
  const extents = linear.dims.map(({ name, size }) => part.block.get(name) ?? size);
  const at = linear.dims.map(() => 0);
  return (index, field) => {
    for (let dim = 0; dim < at.length; dim += 1) at[dim] = modelCoordinate(map, dim, (index[dim] ?? 0) % (extents[dim] ?? 1));
    return element(at, Math.min(field, map.fieldCount - 1));
  };
}

/** The colours of a tape: as in the picture of memory; null where cells are coloured by address. */
export function useTapePaint(
  { linear, ends, options }: { readonly linear: Linearization; readonly ends: Ends; readonly options: ViewOptions },
  { way, lying }: PictureWay,
): ((index: readonly number[], field: number) => number) | null {
  const dark = useDark();
  const own = useOwnColours(linear);
  return useMemo(() => {
    if (way === "index" || options.colour !== "offset") return null;
    const map = memoryMap(linear, { kind: "whole" });
    return paintOf(map, { lying, own, ends, dark }).element;
  }, [way, lying, linear, own, ends, options.colour, dark]);
}
