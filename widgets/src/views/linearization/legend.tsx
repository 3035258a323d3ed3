// What the colours say, in one line.
import type { ComponentChildren, JSX } from "preact";
import { Icon } from "#lib/icon.tsx";
import type { ByName } from "#model/by-name.ts";
import { nameOf } from "#model/entries.ts";
import type { ChunkNumbers } from "#model/layouts/chunks.ts";
import type { WarpLoad } from "#model/layouts/hardware.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { PictureWay } from "#model/picture-way.ts";
import { counted, formatBytes, formatCount } from "#model/units.ts";
import type { Colouring } from "#views/linearization/drawing/colouring.ts";
import type { LayoutPicture } from "#views/linearization/drawing/picture.ts";
import type { SeenPart } from "#views/linearization/geometry/scene.ts";
import { FIELDS, type OrderDigit } from "#views/memory/digits.ts";
import type { MemoryMap } from "#views/memory/memory-map.ts";
import { cssOf, fieldColour } from "#views/memory/scales.ts";

/** More fields than this are told by number. */
const MOST = 8;

interface LegendProps {
  now: LayoutPicture;
  /** The layout that is pinned beside it; null where none is. */
  pinned: LayoutPicture | null;
  chunks: ChunkNumbers | null;
  way: PictureWay;
  /** Whether values of an array of the user are the colours. */
  own: boolean;
  /** One block that is drawn in the place of the whole, by dimension. */
  entries: ByName<number> | null;
  seen: SeenPart;
  /** Whether boxes of runs are drawn. */
  runs: boolean;
  /** How memory is wrapped; null where it is not drawn. */
  axes: MemoryMap | null;
  colourOf: (dim: string) => string;
  letGo: () => void;
}

export function Legend({ now, pinned, chunks, way, own, entries, seen, runs, axes, colourOf, letGo }: LegendProps): JSX.Element {
  const { linear } = now;
  const { stretch, missing } = seen;
  const byIndex = way.way !== "address";
  const chunk = now.chunk?.number ?? null;
  const padding = linear.nbytes - linear.payload;
  const padded = padding > 0 || (pinned !== null && pinned.linear.payload < pinned.linear.nbytes);
  const several = linear.fields.length > 1 && !(byIndex && seen.named);
  const lies = way.way !== "index" && now.colours.by === "offset";
  return (
    <div class="iv-lin-legend" data-testid="linearization-legend">
      {lies ? (
        <>
          <span
            class="iv-lin-item"
            title={own ? "Colours are the values of the array" : "Colours belong to entries, wherever they lie"}
          >
            {entries === null ? formatBytes(linear.nbytes) : blockText(linear, entries)}
          </span>
          {axes !== null && <Axes map={axes} colourOf={colourOf} />}
        </>
      ) : (
        <Scale linear={linear} colours={byIndex ? now.inView : now.colours} chunks={chunks} />
      )}
      {pinned?.warp != null && (
        <span class="iv-lin-item iv-lin-warp" data-testid="pinned-warp">
          pinned: {warpText(pinned.warp.load)}
        </span>
      )}
      {now.warp !== null && (
        <span class="iv-lin-item iv-lin-warp" data-testid="linearization-warp">
          {pinned === null ? "" : "now, "}warp along {now.warp.dim}: {warpText(now.warp.load)}
        </span>
      )}
      {byIndex && missing > 0 && (
        <span class="iv-lin-item" data-testid="linearization-missing">
          {formatCount(missing)} of {counted(linear.fields.length, "field")} not drawn
        </span>
      )}
      {byIndex && Math.abs(Math.log(stretch)) > 0.05 && (
        <span class="iv-lin-item" title={stretchTitle(stretch)} data-testid="linearization-stretch">
          stretched {stretch > 1 ? `${ratioText(stretch)} : 1` : `1 : ${ratioText(1 / stretch)}`}
        </span>
      )}
      {several && <Fields linear={linear} />}
      {padded && (
        <Item swatch={<i class="iv-lin-swatch iv-lin-hatched" />}>{pinned === null && formatBytes(padding)} padding</Item>
      )}
      {runs && <Item swatch={<i class="iv-lin-swatch iv-lin-run" />}>request box</Item>}
      {chunk !== null && (
        <button
          type="button"
          class="iv-lin-button iv-lin-chunk"
          data-testid="linearization-chunk"
          title="Let the chunk go"
          onClick={letGo}
        >
          <i class="iv-lin-swatch" /> chunk {formatCount(chunk)} <Icon name="remove" />
        </button>
      )}
    </div>
  );
}

/** Which dimensions go across and down in the picture of memory: in cells, and in the blocks of cells. */
function Axes({ map, colourOf }: { map: MemoryMap; colourOf: (dim: string) => string }): JSX.Element {
  const name = (digit: OrderDigit | null): JSX.Element | null => {
    if (digit === null) return null;
    const dim = digit.dim === FIELDS ? "F" : (map.linear.dims[digit.dim]?.name ?? "");
    return <b style={{ color: colourOf(dim) }}>{dim}</b>;
  };
  return (
    <>
      {map.levels.slice(0, 2).map(({ across, down }, level) => (
        <span key={level} class="iv-lin-item" title="Memory is read like a text: from left to right, row after row">
          {level > 0 && "blocks"} {name(across)} {across !== null && "→"} {name(down)} {down !== null && "↓"}
        </span>
      ))}
    </>
  );
}

/** "one block of 16 × 2,048, 512 KiB" */
function blockText(linear: Linearization, extents: ByName<number>): string {
  const sizes = linear.dims.map(({ name, size }) => extents.get(name) ?? size).filter((size) => size > 1);
  const bytes = sizes.reduce((product, size) => product * size, linear.entryBytes);
  return `a block of ${sizes.map(formatCount).join(" × ")}, ${formatBytes(bytes)}`;
}

function Scale({
  linear,
  colours,
  chunks,
}: { linear: Linearization; colours: Colouring } & Pick<LegendProps, "chunks">): JSX.Element | null {
  const ramp = <i class="iv-lin-ramp" style={{ background: gradient(colours.scale) }} />;
  switch (colours.by) {
    case "offset": {
      const [from, end] = colours.bytes;
      const [first, last] = [formatBytes(from), formatBytes(end)];
      return (
        <span
          class="iv-lin-item"
          title={`Colours are the order of what is in view, bytes ${formatCount(from)} to ${formatCount(end - 1)}`}
          data-testid="linearization-scale"
        >
          byte {from === 0 ? 0 : first} {ramp} {first === last ? `+${formatBytes(end - from)}` : last}
        </span>
      );
    }
    case "digit": {
      const digit = linear.digits[colours.digit];
      return (
        <span class="iv-lin-item">
          {nameOf(digit?.text ?? "")} 0 {ramp} {formatCount((digit?.extent ?? 1) - 1)}
        </span>
      );
    }
    case "chunk":
      return (
        <span class="iv-lin-item">
          chunk 0 {ramp} {formatCount((chunks?.count ?? 1) - 1)}
        </span>
      );
    case "line":
    case "page":
    case "sector": {
      const wheel = [...(colours.colours ?? [])];
      return (
        <>
          <Item
            swatch={
              <span class="iv-lin-wheel">
                {wheel.slice(0, -1).map((colour) => (
                  <i key={colour} class="iv-lin-swatch" style={{ background: cssOf(colour) }} />
                ))}
              </span>
            }
          >
            {counted(Math.ceil(linear.nbytes / colours.piece), colours.by)} of {formatCount(colours.piece)} bytes
          </Item>
          <Item swatch={<i class="iv-lin-swatch" style={{ background: cssOf(wheel[wheel.length - 1] ?? 0) }} />}>
            several in a pixel
          </Item>
        </>
      );
    }
    default:
      return null;
  }
}

const ratioText = (ratio: number): string => String(Number(ratio.toPrecision(2)));

function stretchTitle(stretch: number): string {
  const shape = stretch > 1 ? `${ratioText(stretch)} times as wide as high` : `${ratioText(1 / stretch)} times as high as wide`;
  return `A cell is drawn ${shape}: the array is long and thin.`;
}

/** "1 request of 4 bytes a lane, 4 sectors (at least 4), 0 bank conflicts" */
export function warpText(load: WarpLoad): string {
  const requests = `${counted(load.requests, "request")} of ${counted(load.width, "byte")} a lane`;
  const sectors = `${counted(load.sectors, "sector")} (at least ${formatCount(load.leastSectors)})`;
  return `${requests}, ${sectors}, ${counted(load.conflicts, "bank conflict")}`;
}

export function Fields({ linear }: { linear: Linearization }): JSX.Element {
  const { fields } = linear;
  return (
    <>
      {fields.slice(0, MOST).map(({ name }, field) => (
        <span key={name} class="iv-lin-item iv-lin-field" title={name}>
          <i class="iv-lin-swatch" style={{ background: fieldColour(field, name) }} /> <span>{name}</span>
        </span>
      ))}
      {fields.length > MOST && <span class="iv-lin-item">and {formatCount(fields.length - MOST)} more fields</span>}
    </>
  );
}

function Item({ swatch, children }: { swatch: JSX.Element; children: ComponentChildren }): JSX.Element {
  return (
    <span class="iv-lin-item">
      {swatch} {children}
    </span>
  );
}

/** A scale for a style sheet. */
export function gradient(scale: Uint32Array): string {
  const stops = Array.from({ length: 12 }, (_, stop) => cssOf(scale[Math.round((stop / 11) * (scale.length - 1))] ?? 0));
  return `linear-gradient(to right, ${stops.join(", ")})`;
}
