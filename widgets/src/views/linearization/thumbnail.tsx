// A small picture of the memory of a stop, or of the array by the addresses there. `Thumbnail` takes a layout as text and reads it on the array of the explorer.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ByName } from "#model/by-name.ts";
import { layoutAtEnd, spacesOf } from "#model/ends.ts";
import { linearize } from "#model/layouts/linearization.ts";
import { usePictureWay } from "#model/picture-way.ts";
import { useView } from "#model/view.ts";
import type { Part } from "#views/memory/memory-map.ts";
import { MemoryPicture } from "#views/memory/memory-picture.tsx";

/** Cells along a side of the whole, and entries of a block. */
const SIDE = 96;
const LIMIT = 1024;

interface ThumbnailProps {
  layout: string;
  /** CSS pixels along a side. */
  size: number;
  /** The coordinates of one block, by dimension. */
  block: ByName<number>;
  /** The layouts of all stops of its path: every one of them shows the same entries of the block. */
  path: readonly string[];
}

export function Thumbnail({ layout, size, block, path }: ThumbnailProps): JSX.Element | null {
  const { connection, snapshot } = useView();
  const { way, extent, lying } = usePictureWay();
  const { dims, fields } = spacesOf(connection.settings, snapshot);
  const key = JSON.stringify([dims, fields]);
  const linear = useMemo(() => linearize(layout, dims, fields).linear, [layout, key]);
  const stops = useMemo(() => path.flatMap((text) => linearize(text, dims, fields).linear ?? []), [path.join(), key]);
  const source = layoutAtEnd(connection, snapshot, "source").linear;
  const destination = layoutAtEnd(connection, snapshot, "destination").linear;
  const ends = useMemo(
    () => (source === null || destination === null ? null : ([source, destination] as const)),
    [source, destination],
  );
  const part = useMemo<Part>(
    () => (extent === "whole" ? { kind: "whole", side: SIDE } : { kind: "block", block, path: stops, limit: LIMIT }),
    [extent, block, stops],
  );
  if (linear === null) return null;
  return (
    <MemoryPicture
      linear={linear}
      part={part}
      width={size}
      height={size}
      lying={lying}
      ends={ends}
      way={way === "index" ? way : "address"}
    />
  );
}
