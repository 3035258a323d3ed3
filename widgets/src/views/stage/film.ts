// The two memories of a hop at a moment: what is copied is lit before it and appears behind it, and flies in between.
import type { MemoryMap, Rect } from "#views/memory/memory-map.ts";
import { type PixelLists, pixelLists, progressOf } from "./movement.ts";

/** The picture of one memory: its pixels, and by place the number of the step that moves the element. */
export interface Scene {
  readonly map: MemoryMap;
  readonly pixels: ImageData;
  readonly steps: Int32Array;
}

/** More elements than this do not fly at the same time: some of them stand for the others. */
const MOST_FLYING = 1200;

export class Film {
  private readonly left: PixelLists;
  private readonly right: PixelLists;
  private readonly places: PixelLists;
  private readonly now: ImageData;
  /** Steps that the destination has. */
  private written = 0;
  /** Whether the canvas shows what was drawn last. */
  private shown = false;

  /** `goals` are places behind the hop, by place before it; null where nothing flies. `neutral` is the colour of what is not written. */
  constructor(
    private readonly before: Scene,
    private readonly after: Scene,
    private readonly goals: Int32Array | null,
    private readonly count: number,
    private readonly neutral: number,
  ) {
    this.left = pixelLists(stepsOfPixels(before), count);
    this.right = pixelLists(stepsOfPixels(after), count);
    this.places = pixelLists(before.steps, count);
    this.now = new ImageData(after.pixels.data.slice(), after.pixels.width, after.pixels.height);
    const colours = new Uint32Array(this.now.data.buffer);
    for (const pixel of this.right.pixels) colours[pixel] = neutral;
  }

  /** The canvas behind the hop shows something else: it is drawn anew. */
  forget(): void {
    this.shown = false;
  }

  /** Draws the memory behind the hop once `steps` are done. */
  drawWritten(context: CanvasRenderingContext2D, steps: number): void {
    const [all, colours] = [new Uint32Array(this.after.pixels.data.buffer), new Uint32Array(this.now.data.buffer)];
    const { starts, pixels } = this.right;
    const [low, high] = [Math.min(steps, this.written), Math.max(steps, this.written)];
    const { width, height } = this.now;
    // Only what changes is put: a frame is to take as little as possible.
    let [left, top, right, bottom] = this.shown ? [width, height, 0, 0] : [0, 0, width, height];
    for (let at = starts[low] ?? 0; at < (starts[high] ?? 0); at += 1) {
      const pixel = pixels[at] ?? 0;
      colours[pixel] = steps > this.written ? (all[pixel] ?? 0) : this.neutral;
      const [x, y] = [pixel % width, Math.floor(pixel / width)];
      left = Math.min(left, x);
      top = Math.min(top, y);
      right = Math.max(right, x + 1);
      bottom = Math.max(bottom, y + 1);
    }
    this.written = steps;
    this.shown = true;
    if (right > left) context.putImageData(this.now, 0, 0, left, top, right - left, bottom - top);
  }

  /**
   * Draws what is on its way, over both memories, in device pixels; `at` counts steps, each takes as long as `flight` of them. Where
   * nothing is on its way, the last step is lit in both memories.
   */
  drawMoving(
    context: CanvasRenderingContext2D,
    source: CanvasImageSource,
    boxes: readonly [Rect, Rect],
    at: number,
    flight: number,
    light: string,
  ): void {
    context.clearRect(0, 0, context.canvas.width, context.canvas.height);
    if (at <= 0 || at >= this.count) return;
    const done = Math.floor(at + 1e-6);
    const moving = at - done > 1e-6;
    const end = moving ? Math.min(this.count, Math.max(done + 1, Math.ceil(at + flight - 1))) : done;
    context.fillStyle = light;
    if (!moving) {
      this.light(context, this.left, this.before, boxes[0], done - 1, done);
      this.light(context, this.right, this.after, boxes[1], done - 1, done);
      return;
    }
    this.light(context, this.left, this.before, boxes[0], done, end);
    if (this.goals !== null) this.fly(context, source, boxes, at, flight, done, end);
  }

  private light(
    context: CanvasRenderingContext2D,
    lists: PixelLists,
    { pixels }: Scene,
    box: Rect,
    from: number,
    to: number,
  ): void {
    const [first, end] = [lists.starts[from] ?? 0, lists.starts[to] ?? 0];
    let [start, length] = [-1, 0];
    const put = (): void => {
      if (length > 0) context.fillRect(box.x + (start % pixels.width), box.y + Math.floor(start / pixels.width), length, 1);
    };
    for (let at = first; at < end; at += 1) {
      const pixel = lists.pixels[at] ?? 0;
      if (pixel === start + length && pixel % pixels.width !== 0) length += 1;
      else {
        put();
        [start, length] = [pixel, 1];
      }
    }
    put();
  }

  private fly(
    context: CanvasRenderingContext2D,
    source: CanvasImageSource,
    [left, right]: readonly [Rect, Rect],
    at: number,
    flight: number,
    from: number,
    to: number,
  ): void {
    const { starts, pixels } = this.places;
    const [first, end] = [starts[from] ?? 0, starts[to] ?? 0];
    const stride = Math.max(1, Math.ceil((end - first) / MOST_FLYING));
    const origin = { ...left, x: 0, y: 0 };
    for (let each = first; each < end; each += stride) {
      const place = pixels[each] ?? 0;
      const goal = this.goals?.[place] ?? -1;
      const gone = progressOf(this.before.steps[place] ?? 0, at, flight);
      if (goal < 0 || gone <= 0 || gone >= 1) continue;
      const eased = gone * gone * (3 - 2 * gone);
      const here = this.before.map.rectOf(place, origin);
      const there = this.after.map.rectOf(goal, right);
      const between = (one: number, other: number): number => one + (other - one) * eased;
      context.drawImage(
        source,
        here.x,
        here.y,
        Math.max(1, here.width),
        Math.max(1, here.height),
        between(left.x + here.x, there.x),
        between(left.y + here.y, there.y),
        Math.max(1, between(here.width, there.width)),
        Math.max(1, between(here.height, there.height)),
      );
    }
  }
}

/** By pixel: the number of the step that moves what it shows; -1 where it shows no element. */
function stepsOfPixels({ map, pixels: { width, height }, steps }: Scene): Int32Array {
  const box = { x: 0, y: 0, width, height };
  const found = new Int32Array(width * height).fill(-1);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const place = map.placeAt(x + 0.5, y + 0.5, box);
      if (place !== null) found[y * width + x] = steps[place] ?? -1;
    }
  return found;
}
