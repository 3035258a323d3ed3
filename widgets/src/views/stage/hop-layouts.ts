// The layouts before and behind a hop on what its path moves, and the requests in which it moves that.
import { useMemo } from "preact/hooks";
import { byName } from "#model/by-name.ts";
import { spacesOf } from "#model/ends.ts";
import { type Linearization, linearize } from "#model/layouts/linearization.ts";
import { contiguousBox, type PartOfInstance, type RequestBox, requestBox, smallestBox } from "#model/layouts/requests.ts";
import { isEverything } from "#model/part.ts";
import { useView } from "#model/view.ts";
import type { PlacedHop } from "#model/words.ts";

export interface HopLayouts {
  readonly from: Linearization;
  readonly to: Linearization;
  /** The layouts of all stops of the path. */
  readonly path: readonly Linearization[];
  readonly box: RequestBox;
}

/** A sentence where the layouts cannot be drawn. */
export function useHopLayouts(placed: PlacedHop | undefined): HopLayouts | string {
  const { connection, snapshot } = useView();
  const { dims, fields } = spacesOf(connection.settings, snapshot);
  const spaces = JSON.stringify([dims, fields]);
  const everything = isEverything(connection.settings.part);
  const stale = snapshot.faults.stale.includes("plan");
  const path = placed?.path;
  const hop = placed?.hop.index ?? 0;
  return useMemo(() => {
    if (path === undefined) return "There is no plan yet.";
    if (stale) return "The plan is being made anew.";
    if (!everything) return "A hop is shown large where the whole array moves.";
    const { box } = path;
    const shape = byName(box?.shape ?? []);
    const own = dims.map(({ name, size }) => ({ name, size: shape.get(name) ?? size }));
    const texts = path.stops.map(({ layout }) => layout);
    const linears: (Linearization | null)[] = (box === null ? texts : [box.source, ...texts.slice(1, -1), box.destination]).map(
      (text) => linearize(text, own, fields).linear,
    );
    const layouts = linears.filter((linear) => linear !== null);
    const [from, to] = [layouts[hop], layouts[hop + 1]];
    if (layouts.length < linears.length || from === undefined || to === undefined) return "This array is too large to be drawn.";
    // Where a path moves a box of the array, its ends have gaps between the runs of the box.
    const origin = byName(box?.origin ?? []);
    const partOf = (place: number): PartOfInstance[] => {
      const { linear } =
        box === null || (place > 0 && place < texts.length - 1) ? { linear: null } : linearize(texts[place] ?? "", dims, fields);
      return linear === null
        ? []
        : [{ linear, first: dims.map(({ name }) => origin.get(name) ?? 0), sizes: own.map(({ size }) => size) }];
    };
    const parts = [...partOf(hop), ...partOf(hop + 1)].map(contiguousBox);
    return { from, to, path: layouts, box: smallestBox([requestBox(from, to), ...parts], fields.length) };
  }, [path, hop, stale, everything, spaces]);
}
