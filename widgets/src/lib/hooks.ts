// What the pictures need to know of the page: the theme, the size of an element, the pixels of the screen, and whether motion is wanted.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { drawable, penOf } from "./recorder.ts";

function darkNow(): boolean {
  return document.body.dataset.jpThemeLight === "false" || document.body.classList.contains("vscode-dark");
}

/** Whether the page is dark; it follows when the theme is switched. */
export function useDark(): boolean {
  const [dark, setDark] = useState(darkNow);
  useEffect(() => {
    const look = (): void => setDark(darkNow());
    look();
    const observer = new MutationObserver(look);
    observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
    return () => observer.disconnect();
  }, []);
  return dark;
}

/** Device pixels for each CSS pixel; it follows zoom and moves to another screen. */
export function useRatio(): number {
  const [ratio, setRatio] = useState(() => window.devicePixelRatio || 1);
  useEffect(() => {
    const query = window.matchMedia(`(resolution: ${ratio}dppx)`);
    const look = (): void => setRatio(window.devicePixelRatio || 1);
    query.addEventListener("change", look);
    return () => query.removeEventListener("change", look);
  }, [ratio]);
  return ratio;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The size of an element in whole CSS pixels; zero until it is known. */
export function useSize(element: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const shown = element.current;
    if (shown === null) return;
    const look = (): void => {
      const [width, height] = [Math.floor(shown.clientWidth), Math.floor(shown.clientHeight)];
      setSize((before) => (before.width === width && before.height === height ? before : { width, height }));
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(shown);
    return () => observer.disconnect();
  }, []);
  return size;
}

export function wantsStillness(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Draws in the next frame, once, when one of `inputs` has changed. What drawing throws, the component throws. */
export function useFrame(draw: () => void, inputs: readonly unknown[]): void {
  const newest = useRef(draw);
  newest.current = draw;
  const [failed, fail] = useState<{ error: unknown } | null>(null);
  if (failed !== null) throw failed.error;
  useLayoutEffect(() => drawable(() => newest.current()), []);
  useLayoutEffect(() => {
    const frame = requestAnimationFrame(() => {
      try {
        newest.current();
      } catch (error) {
        fail({ error });
      }
    });
    return () => cancelAnimationFrame(frame);
  }, inputs);
}

/** Makes a canvas as large as its element on the screen. */
export function fitCanvas(canvas: HTMLCanvasElement, size: Size, ratio: number): CanvasRenderingContext2D | null {
  const [width, height] = [Math.max(1, Math.round(size.width * ratio)), Math.max(1, Math.round(size.height * ratio))];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  return penOf(canvas, canvas.getContext("2d"));
}
