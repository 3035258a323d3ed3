// The element of a drawing board: two canvases with the gestures, keys and buttons that every board has.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Board } from "./board.ts";
import { Button } from "./button.tsx";
import { THRESHOLD } from "./dragging.ts";
import type { Point } from "./geometry.ts";
import { isText } from "./shortcuts.ts";

/** What the pointer does from where it was pressed to where it is let go. Places are those on the board. */
export interface Gesture {
  /** It has moved, beyond a few pixels at first. Without this, the drawing goes along. */
  readonly move?: (at: Point) => void;
  readonly end: (at: Point, moved: boolean, event: PointerEvent) => void;
  /** The browser has taken it away. */
  readonly cancel?: () => void;
}

interface BoardProps<Scene, Marks> {
  board: Board<Scene, Marks>;
  scene: Scene;
  marks: Marks;
  /** Changes when another thing is shown, which is then seen as a whole. */
  subject: string;
  testid: string;
  /** What the test ids of the buttons begin with. */
  zooms: string;
  class?: string;
  label: string;
  /** What the keyboard is on, in words. */
  status?: string;
  press: (at: Point, event: PointerEvent) => Gesture;
  /** The pointer is on a place, or, with null, no longer on the board. */
  point: (at: Point | null, event: PointerEvent) => void;
  /** Whether it takes a key. */
  keys: (event: KeyboardEvent) => boolean;
  /** Further attributes of the element, such as listeners. */
  more?: JSX.IntrinsicElements["div"];
  /** Elements below the lines; the children are above them. */
  below?: ComponentChildren;
  children?: ComponentChildren;
}

export function BoardView<Scene, Marks>(props: BoardProps<Scene, Marks>): JSX.Element {
  const { board, scene, marks, subject, zooms } = props;
  const root = useRef<HTMLDivElement>(null);
  const rest = useRef<HTMLCanvasElement>(null);
  const live = useRef<HTMLCanvasElement>(null);
  const shown = useRef<string | null>(null);
  const pressed = useRef<{ gesture: Gesture; start: Point; last: Point; moved: boolean } | null>(null);
  useLayoutEffect(() => {
    if (root.current === null || rest.current === null || live.current === null) return undefined;
    board.attach(root.current, rest.current, live.current);
    return () => board.detach();
  }, [board]);
  useLayoutEffect(() => {
    board.show(scene, shown.current !== subject);
    shown.current = subject;
  }, [board, scene, subject]);
  useLayoutEffect(() => board.mark(marks), [board, scene, marks]);
  // Zooming by the wheel holds the page only while the board has the focus, or with Ctrl.
  useEffect(() => {
    const element = root.current;
    const wheel = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey && element?.contains(document.activeElement) !== true) return;
      event.preventDefault();
      board.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), board.pointOf(event));
    };
    element?.addEventListener("wheel", wheel, { passive: false });
    return () => element?.removeEventListener("wheel", wheel);
  }, [board]);
  const cancel = (): void => {
    const now = pressed.current;
    pressed.current = null;
    now?.gesture.cancel?.();
  };
  return (
    <div
      ref={root}
      class={`iv-board ${props.class ?? ""}`}
      data-testid={props.testid}
      role="group"
      aria-label={props.label}
      {...props.more}
      onPointerDown={(event) => {
        if (event.button !== 0 || !(event.target instanceof Element) || event.target.closest("input, .iv-board-overlay") !== null)
          return;
        const at = board.pointOf(event);
        event.currentTarget.setPointerCapture(event.pointerId);
        pressed.current = { gesture: props.press(at, event), start: at, last: at, moved: false };
      }}
      onPointerMove={(event) => {
        const at = board.pointOf(event);
        const now = pressed.current;
        if (now === null) {
          props.point(at, event);
          return;
        }
        if (!now.moved && Math.hypot(at.x - now.start.x, at.y - now.start.y) < THRESHOLD) return;
        now.moved = true;
        if (now.gesture.move === undefined) board.pan(at.x - now.last.x, at.y - now.last.y);
        else now.gesture.move(at);
        now.last = at;
      }}
      onPointerUp={(event) => {
        const now = pressed.current;
        pressed.current = null;
        now?.gesture.end(board.pointOf(event), now.moved, event);
      }}
      onPointerCancel={cancel}
      onLostPointerCapture={cancel}
      onPointerLeave={(event) => props.point(null, event)}
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || isText(event.target)) return;
        if (!props.keys(event) && !board.key(event.key)) return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      {props.below}
      <canvas ref={rest} class="iv-board-sheet" aria-hidden="true" />
      <canvas ref={live} class="iv-board-sheet" aria-hidden="true" />
      {props.children}
      <div class="iv-board-overlay iv-board-zoom">
        <Button label="Zoom in" icon="add" iconOnly testid={`${zooms}-in`} onClick={() => board.zoom(1.25)} />
        <Button label="Zoom out" icon="minus" iconOnly testid={`${zooms}-out`} onClick={() => board.zoom(0.8)} />
        <Button label="Show all of it" icon="fit" iconOnly testid={`${zooms}-fit`} onClick={() => board.fit()} />
      </div>
      {props.status !== undefined && (
        <span class="iv-hidden" role="status">
          {props.status}
        </span>
      )}
    </div>
  );
}
