// What the colours say, in one line.
import type { ComponentChildren, JSX } from "preact";
import { Icon } from "#lib/icon.tsx";
import type { ChunkNumbers } from "#model/layouts/chunks.ts";
import type { WarpLoad } from "#model/layouts/hardware.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { counted, formatBytes, formatCount } from "#model/units.ts";
import type { Colouring } from "#views/linearization/drawing/colouring.ts";
import type { LayoutPicture } from "#views/linearization/drawing/picture.ts";
import { cssOf, fieldColour } from "#views/memory/scales.ts";
import { nameOf } from "./vector.tsx";

/** More fields than this are told by number. */
const MOST = 8;

interface LegendProps {
  now: LayoutPicture;
  /** The layout that is pinned beside it; null where none is. */
  pinned: LayoutPicture | null;
  chunks: ChunkNumbers | null;
  /** Where the scale of offsets ends. */
  bytes: number;
  /** How many times as wide as high cells are drawn. */
  stretch: number;
  /** Whether the names of fields stand at their pictures. */
  named: boolean;
  /** Whether boxes of runs are drawn. */
  runs: boolean;
  letGo: () => void;
}

export function Legend({ now, pinned, chunks, bytes, stretch, named, runs, letGo }: LegendProps): JSX.Element {
  const { linear } = now;
  const chunk = now.chunk?.number ?? null;
  const padding = linear.nbytes - linear.payload;
  const padded = padding > 0 || (pinned !== null && pinned.linear.payload < pinned.linear.nbytes);
  const several = linear.fields.length > 1 && !named;
  return (
    <div class="iv-lin-legend" data-testid="linearization-legend">
      <Scale linear={linear} colours={now.inView} chunks={chunks} bytes={bytes} />
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
      {Math.abs(Math.log(stretch)) > 0.05 && (
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

function Scale({
  linear,
  colours,
  chunks,
  bytes,
}: { linear: Linearization; colours: Colouring } & Pick<LegendProps, "chunks" | "bytes">): JSX.Element | null {
  const ramp = <i class="iv-lin-ramp" style={{ background: gradient(colours.scale) }} />;
  switch (colours.by) {
    case "offset": {
      const [from, to] = [formatBytes(colours.from), formatBytes(colours.from + colours.top)];
      return (
        <span
          class="iv-lin-item"
          title={`Colours of what is in view: bytes ${formatCount(colours.from)} to ${formatCount(colours.from + colours.top)}`}
        >
          {colours.top >= bytes / 2 ? (
            <>
              byte 0 {ramp} {formatBytes(bytes)}
            </>
          ) : (
            <>
              byte {from} {ramp} {from === to ? `+${formatBytes(colours.top)}` : to}
            </>
          )}
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
  return `A cell is drawn ${shape}, so that the array fills its room. "Cells as wide as high" is among the controls of the picture.`;
}

/** "1 request of 4 bytes a lane, 4 sectors (at least 4), 0 bank conflicts" */
export function warpText(load: WarpLoad): string {
  const requests = `${counted(load.requests, "request")} of ${counted(load.width, "byte")} a lane`;
  const sectors = `${counted(load.sectors, "sector")} (at least ${formatCount(load.leastSectors)})`;
  return `${requests}, ${sectors}, ${counted(load.conflicts, "bank conflict")}`;
}

function Fields({ linear }: { linear: Linearization }): JSX.Element {
  const { fields } = linear;
  return (
    <>
      {fields.slice(0, MOST).map(({ name }, field) => (
        <span key={name} class="iv-lin-item iv-lin-field" title={name}>
          <i class="iv-lin-swatch" style={{ background: fieldColour(field) }} /> <span>{name}</span>
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
