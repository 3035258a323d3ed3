// The mark of the hop that converts can be dragged to another hop: that is a plan by hand.
import type { JSX, RefObject, TargetedPointerEvent } from "preact";
import { useRef, useState } from "preact/hooks";
import type { ShownPath } from "#model/types.ts";
import { useView } from "#model/view.ts";
import { convertingHop } from "#views/plan/hand.ts";
import { isMovable, useMoveConversion } from "#views/plan/move-conversion.ts";

/** Pixels that the pointer may move in a click. */
const SLOP = 4;

interface Held {
  readonly x: number;
  readonly y: number;
  /** The hop below the pointer. */
  readonly over: number | null;
}

export interface MovedConversion {
  /** The hop whose mark can be dragged; -1 where none can. */
  readonly from: number;
  readonly held: Held | null;
  readonly handlers: {
    readonly onPointerDown: (event: TargetedPointerEvent<HTMLSpanElement>) => void;
    readonly onPointerMove: (event: TargetedPointerEvent<HTMLSpanElement>) => void;
    readonly onPointerUp: () => void;
    readonly onPointerCancel: () => void;
  };
  /** Whether a click ends a drag: then it is none. */
  readonly ends: () => boolean;
}

export function useDraggedConversion(path: ShownPath, box: RefObject<HTMLElement | null>, still: boolean): MovedConversion {
  const { connection, snapshot } = useView();
  const move = useMoveConversion();
  const [held, setHeld] = useState<Held | null>(null);
  const begun = useRef<{ x: number; y: number } | null>(null);
  const over = useRef(false);
  const movable = !still && isMovable(snapshot.panes.plan?.paths ?? [], connection.offline);
  const hopAt = (x: number, y: number): number | null => {
    const root = box.current?.getRootNode();
    const found = root instanceof Document || root instanceof ShadowRoot ? root.elementFromPoint(x, y) : null;
    const hop = found?.closest<HTMLElement>("[data-hop]");
    return hop === null || hop === undefined || box.current?.contains(hop) !== true ? null : Number(hop.dataset.hop);
  };
  const end = (): void => {
    begun.current = null;
    setHeld(null);
  };
  return {
    from: movable ? convertingHop(path) : -1,
    held,
    handlers: {
      onPointerDown: (event) => {
        over.current = false;
        if (event.button !== 0 || !event.isPrimary) return;
        begun.current = { x: event.clientX, y: event.clientY };
        event.currentTarget.setPointerCapture(event.pointerId);
      },
      onPointerMove: (event) => {
        const from = begun.current;
        if (from === null) return;
        const { clientX: x, clientY: y } = event;
        if (held === null && Math.hypot(x - from.x, y - from.y) < SLOP) return;
        setHeld({ x, y, over: hopAt(x, y) });
      },
      onPointerUp: () => {
        over.current = held !== null;
        if (held !== null && held.over !== null) move(held.over);
        end();
      },
      onPointerCancel: end,
    },
    ends: () => {
      const ended = over.current;
      over.current = false;
      return ended;
    },
  };
}

/** The mark below the pointer. */
export function HeldMark({ held, word }: { held: Held; word: string }): JSX.Element {
  return (
    <span class="iv-held-mark" style={{ left: `${held.x}px`, top: `${held.y}px` }} aria-hidden="true">
      {word}
    </span>
  );
}
