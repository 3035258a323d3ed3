// What the pictures of a layout show: its colours, its runs, the selected chunk, and the load of a warp.

import { useMemo } from "preact/hooks";
import type { ByName } from "#model/by-name.ts";
import type { ChunkNumbers } from "#model/layouts/chunks.ts";
import { compare } from "#model/layouts/compare.ts";
import { type WarpLoad, warpLoad } from "#model/layouts/hardware.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import { type RequestBox, requestBox } from "#model/layouts/requests.ts";
import type { Named, ShownColour } from "#model/types.ts";
import type { SeenPart } from "#views/linearization/geometry/scene.ts";
import type { ViewOptions } from "#views/linearization/options.ts";
import { type ChosenChunk, chosenBytes, chosenChunk, type Marked, type Stretches } from "./chunk-marks.ts";
import { type Colouring, colouring, inView } from "./colouring.ts";

/** The load of a warp along a dimension, and the entries that it takes. */
export interface ShownWarp {
  readonly load: WarpLoad;
  readonly dim: string;
  readonly entries: readonly Entry[];
}

export interface LayoutPicture {
  readonly linear: Linearization;
  /** The colours of all of memory, and those of what the grid shows. */
  readonly colours: Colouring;
  readonly inView: Colouring;
  /** The box of a request, where it is neither an entry nor the whole; and the run that both ends keep, in bytes. */
  readonly runs: RequestBox | null;
  readonly runBytes: number | null;
  readonly chunk: ChosenChunk | null;
  /** The bytes that are pointed at, else the chunk. */
  readonly marked: Marked | null;
  readonly warp: ShownWarp | null;
}

/** What the pictures of layouts beside each other have in common. */
export interface Looks {
  readonly options: ViewOptions;
  readonly palette: Named<ShownColour>;
  readonly chunks: ChunkNumbers | null;
  readonly dark: boolean;
  /** The layout at the other end; null where there is none. */
  readonly twin: Linearization | null;
  readonly dims: readonly string[];
  readonly fixed: ByName<number>;
  readonly seen: SeenPart;
  readonly entry: Entry | null;
  /** The number of the selected chunk. */
  readonly chosen: number | null;
  /** The bytes that are pointed at. */
  readonly bytesAt: Stretches | null;
}

/** What the pictures of a layout show; null where there is no layout. */
export function useLayoutPicture(linear: Linearization | null, looks: Looks): LayoutPicture | null {
  const { options, palette, chunks, dark, twin, dims, fixed, seen, entry } = looks;
  const fixedKey = JSON.stringify([dims, [...fixed]]);
  const colours = useMemo(
    () => (linear === null ? null : colouring(linear, { options, palette, chunks, dark })),
    [linear, options.colour, options.digit, palette, chunks, dark],
  );
  const near = useMemo(() => {
    const rest = [...fixed].map(([name, at]) => [name, [at, at + 1]] as const);
    return colours === null ? null : inView(colours, new Map([...rest, ...seen.ranges]));
  }, [colours, fixedKey, seen]);
  const runs = useMemo(() => (linear === null || twin === null ? null : requestBox(linear, twin)), [linear, twin]);
  const runBytes = useMemo(() => (linear === null || twin === null ? null : compare(linear, twin).runBytes), [linear, twin]);
  const chunk = useMemo(
    () => (linear === null ? null : chosenChunk(linear, chunks, looks.chosen)),
    [linear, chunks, looks.chosen],
  );
  const bytesAt = useMemo(() => (linear === null ? null : chosenBytes(linear, looks.bytesAt)), [linear, looks.bytesAt]);
  const warp = useMemo(
    () => (linear === null ? null : shownWarp(linear, options, dims, entry, fixed)),
    [linear, options, entry, fixedKey],
  );
  if (linear === null || colours === null || near === null) return null;
  const boxed = runs !== null && runs.entries > 1 && runs.entries < linear.payload / linear.entryBytes;
  return { linear, colours, inView: near, runs: boxed ? runs : null, runBytes, chunk, marked: bytesAt ?? chunk, warp };
}

/** The load of a warp that begins at an entry, or at the first one in view; null where colours do not say sectors. */
function shownWarp(
  linear: Linearization,
  options: ViewOptions,
  dims: readonly string[],
  entry: Entry | null,
  fixed: ByName<number>,
): ShownWarp | null {
  const dim = linear.dims.find(({ name }) => name === options.warp)?.name ?? dims[0];
  if (options.colour !== "sector" || dim === undefined || dim === "") return null;
  const start = entry?.index ?? linear.dims.map(({ name }) => fixed.get(name) ?? 0);
  const field = entry?.field ?? 0;
  const load = warpLoad(linear, linear.dimension(dim), start, options.lane, field);
  return { load, dim, entries: load.entries.map((index) => ({ index, field })) };
}
