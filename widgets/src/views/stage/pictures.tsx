// The pictures of both memories of a hop at a moment, with what stands below and between them.

import type { ComponentChildren, JSX, RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { useDark, useRatio, useSize } from "#lib/hooks.ts";
import { byName } from "#model/by-name.ts";
import { chunkFinder } from "#model/layouts/chunks.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { type Extent, usePictureWay } from "#model/picture-way.ts";
import type { ShownPath, ShownStop } from "#model/types.ts";
import { type PlacedHop, shortLayout, within } from "#model/words.ts";
import { drawMemory } from "#views/memory/draw-memory.ts";
import { memoryMap, type Part, type Rect } from "#views/memory/memory-map.ts";
import { useOwnColours } from "#views/memory/own-colours.ts";
import { paintOf } from "#views/memory/paint.ts";
import { packed, rgbOf } from "#views/memory/scales.ts";
import { Film, type Scene } from "./film.ts";
import type { HopLayouts } from "./hop-layouts.ts";
import { goalsOf, pixelLists, requestsOf, type Steps, stepsOf } from "./movement.ts";
import { liesWords } from "./words.ts";

/** Entries of a block that are drawn. */
const MOST_ENTRIES = 1024;
/** Pixels between a picture and its caption, as in the style sheet. */
const GAP = 8;
/** What is copied is lit. */
const LIGHT = "rgb(255 255 255 / 62%)";

/** Steps of a picture, and the elements that are written after each of them; null where nobody asks. */
export interface Counted {
  readonly count: number;
  readonly starts: Int32Array | null;
}

interface PicturesProps {
  placed: PlacedHop;
  layouts: HopLayouts;
  extent: Extent;
  at: number;
  flight: number;
  tell: (counted: Counted) => void;
  children: ComponentChildren;
}

export function Pictures({ placed: { hop, path }, layouts, extent, at, flight, tell, children }: PicturesProps): JSX.Element {
  const [room, caption] = [useRef<HTMLDivElement>(null), useRef<HTMLParagraphElement>(null)];
  const left = useRef<HTMLDivElement>(null);
  const [source, destination, air] = [
    useRef<HTMLCanvasElement>(null),
    useRef<HTMLCanvasElement>(null),
    useRef<HTMLCanvasElement>(null),
  ];
  const [size, all, below] = [useSize(left), useSize(room), useSize(caption)];
  const ratio = useRatio();
  const dark = useDark();
  const side = Math.max(0, Math.min(size.width, all.height - below.height - GAP));
  const pixels = Math.round(side * ratio);
  const scenes = useScenes(path, layouts, hop.index, extent, pixels, dark);
  const film = useRef<{ readonly of: unknown; readonly film: Film } | null>(null);
  const steps = scenes?.steps.count ?? 1;
  useLayoutEffect(() => tell({ count: steps, starts: scenes?.starts ?? null }), [scenes]);
  useLayoutEffect(() => {
    const context = source.current?.getContext("2d");
    if (scenes !== null && context) context.putImageData(scenes.before.pixels, 0, 0);
  }, [scenes]);
  useLayoutEffect(() => {
    const [before, behind, over] = [source.current, destination.current, air.current];
    const [written, moving] = [behind?.getContext("2d"), over?.getContext("2d")];
    if (scenes === null || before === null || behind === null || over === null || !written || !moving || room.current === null)
      return;
    const done = Math.floor(at + 1e-6);
    if (done >= steps) {
      written.putImageData(scenes.after.pixels, 0, 0);
      film.current?.film.forget();
      moving.clearRect(0, 0, over.width, over.height);
    } else {
      if (film.current?.of !== scenes) film.current = { of: scenes, film: filmOf(scenes, room.current) };
      film.current.film.drawWritten(written, done);
      const boxes = [before, behind].map((canvas) => boxIn(canvas, over, ratio)) as [Rect, Rect];
      film.current.film.drawMoving(moving, before, boxes, at, flight, LIGHT);
    }
    behind.dataset.at = at.toFixed(3);
  }, [scenes, at, flight, all.width, all.height]);
  const square = { width: `${side}px`, height: `${side}px` };
  const canvas = { width: pixels, height: pixels, style: square };
  const stops = [path.stops[hop.index], path.stops[hop.index + 1]] as const;
  const block = byName(path.block);
  return (
    <div class="iv-stage-pictures" ref={room}>
      <div class="iv-stage-room" ref={left}>
        <canvas
          ref={source}
          {...canvas}
          role="img"
          aria-label={`${stops[0]?.words}, byte after byte`}
          data-testid="stage-source"
        />
      </div>
      <div class="iv-stage-words">{children}</div>
      <div class="iv-stage-room">
        <canvas
          ref={destination}
          {...canvas}
          role="img"
          aria-label={`${stops[1]?.words}, byte after byte, as far as it is written`}
          data-testid="stage-destination"
        />
      </div>
      {[layouts.from, layouts.to].map((linear, place) => (
        <Caption
          key={place}
          box={place === 0 ? caption : null}
          place={place}
          stop={stops[place]}
          lies={liesWords(linear, block)}
        />
      ))}
      <canvas
        ref={air}
        class="iv-stage-air"
        width={Math.round(all.width * ratio)}
        height={Math.round(all.height * ratio)}
        aria-hidden="true"
      />
    </div>
  );
}

interface CaptionProps {
  box: RefObject<HTMLParagraphElement | null> | null;
  place: number;
  stop: ShownStop | undefined;
  lies: string;
}

function Caption({ box, place, stop, lies }: CaptionProps): JSX.Element {
  return (
    <p ref={box} class="iv-stage-caption" style={{ gridColumn: 2 * place + 1 }} data-testid={`stage-caption-${place}`}>
      <b>{stop?.words}</b>{" "}
      <span class="iv-faint">
        node {stop?.node} · {within(stop?.where ?? "") || stop?.where}
      </span>
      <br />
      <code>{shortLayout(stop?.layout ?? "")}</code> <span class="iv-faint">{lies}</span>
    </p>
  );
}

interface Scenes {
  readonly before: Pick<Scene, "map" | "pixels">;
  readonly after: Pick<Scene, "map" | "pixels">;
  readonly steps: Steps;
  readonly starts: Int32Array | null;
  readonly flies: boolean;
}

/** Both pictures of a hop; null while there is no room. */
function useScenes(
  path: ShownPath,
  { from, to, path: all, box }: HopLayouts,
  hop: number,
  extent: Extent,
  pixels: number,
  dark: boolean,
): Scenes | null {
  const { lying } = usePictureWay();
  const own = useOwnColours(from);
  return useMemo(() => {
    if (pixels < 8) return null;
    const part: Part =
      extent === "whole"
        ? { kind: "whole", side: Math.floor(pixels / 2) }
        : { kind: "block", block: byName(path.block), path: all, limit: MOST_ENTRIES };
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: pixels, height: pixels });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    if (context === null) return null;
    const [first, last] = [all[0] ?? from, all.at(-1) ?? to];
    const sceneOf = (linear: Linearization): Pick<Scene, "map" | "pixels"> => {
      const map = memoryMap(linear, part);
      const paint = paintOf(map, { lying, own, ends: [first, last], dark });
      drawMemory(context, map, paint, { x: 0, y: 0, width: pixels, height: pixels }, dark);
      return { map, pixels: context.getImageData(0, 0, pixels, pixels) };
    };
    const [before, after] = [sceneOf(from), sceneOf(to)];
    const chunks = chunksOf(path, from);
    const steps = extent === "whole" ? chunks : requestsOf(from, before.map, box, chunks.stepOf);
    const starts = extent === "whole" ? null : pixelLists(stepsOf(before.map, steps), steps.count).starts;
    return { before, after, steps, starts, flies: extent === "block" };
  }, [path, from, to, hop, extent, pixels, dark, lying, own]);
}

function chunksOf(path: ShownPath, { dims }: Linearization): Steps {
  const blocks = path.chunkDigits.reduce((product, { extent }) => product * extent, 1);
  const numbers = { digits: path.chunkDigits, perChunk: path.perChunk, count: Math.ceil(blocks / path.perChunk) };
  const chunkOf = chunkFinder(numbers, dims);
  return { count: path.chunks, stepOf: ({ index, field }) => chunkOf(index, field) - path.firstChunk };
}

function filmOf({ before, after, steps, flies }: Scenes, room: HTMLElement): Film {
  const scene = (each: Pick<Scene, "map" | "pixels">): Scene => ({ ...each, steps: stepsOf(each.map, steps) });
  return new Film(scene(before), scene(after), flies ? goalsOf(before.map, after.map) : null, steps.count, neutralOf(room));
}

/** Where a canvas lies in another one, in device pixels. */
function boxIn(canvas: HTMLElement, over: HTMLElement, ratio: number): Rect {
  const [own, origin] = [canvas.getBoundingClientRect(), over.getBoundingClientRect()];
  const [x, y] = [own.left - origin.left, own.top - origin.top].map((each) => Math.round(each * ratio)) as [number, number];
  return { x, y, width: Math.round(own.width * ratio), height: Math.round(own.height * ratio) };
}

const colourOf = (element: HTMLElement, name: string): string =>
  getComputedStyle(element).getPropertyValue(`--iv-${name}`).trim();

/** The colour of what is not written, as a pixel. */
const neutralOf = (element: HTMLElement): number => packed(rgbOf(colourOf(element, "ground")));
