// A term that explains itself: a dotted line below it, one line of explanation when it is hovered or focused.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useId } from "#lib/use-id.ts";
import { glossary, type TermName } from "#model/glossary.ts";

/** Milliseconds that the pointer rests on a term before it is explained: passing over words opens nothing. */
const REST = 120;
/** Milliseconds in which the pointer may cross from the term to its explanation. */
const CROSSING = 160;
/** Pixels between term and explanation, and from the explanation to the edge of the page. */
const GAP = 4;
const EDGE = 8;

interface TermProps {
  name: TermName;
  /** What stands there; the term itself unless given. */
  children?: ComponentChildren;
}

/** Text with its explanation. Not for use inside of buttons, labels and SVG. */
export function Term({ name, children }: TermProps): JSX.Element {
  const [open, setOpen] = useState(false);
  const id = useId();
  const word = useRef<HTMLSpanElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const turn = (to: boolean, after: number): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setOpen(to), after);
  };
  const turnNow = (to: boolean): void => {
    clearTimeout(timer.current);
    setOpen(to);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  // Before the next key: an effect after the paint would miss an Escape that follows at once.
  useLayoutEffect(() => {
    if (!open) return;
    const key = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      event.stopPropagation(); // the drawer or the strip around it stays open
      turnNow(false);
    };
    window.addEventListener("keydown", key, true);
    return () => window.removeEventListener("keydown", key, true);
  }, [open]);
  return (
    <span
      ref={word}
      class="iv-term"
      data-term={name}
      tabIndex={0}
      aria-describedby={open ? id : undefined}
      onPointerEnter={(event) => event.pointerType !== "touch" && turn(true, REST)}
      // What the keyboard has opened stays until it goes on.
      onPointerLeave={(event) =>
        event.pointerType !== "touch" && !event.currentTarget.matches(":focus-visible") && turn(false, CROSSING)
      }
      onClick={() => turnNow(true)}
      onFocus={() => turnNow(true)}
      onBlur={() => turnNow(false)}
    >
      {children ?? name}
      {open && <Explanation id={id} text={glossary[name]} word={word.current} close={() => turnNow(false)} />}
    </span>
  );
}

interface ExplanationProps {
  id: string;
  text: string;
  word: HTMLElement | null;
  close: () => void;
}

/** The explanation, above everything else on the page, so that no edge of the explorer cuts it off. */
function Explanation({ id, text, word, close }: ExplanationProps): JSX.Element {
  const box = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || word === null) return;
    const place = (): void => {
      // A word that is broken over two lines is explained at its first line.
      const at = word.getClientRects()[0] ?? word.getBoundingClientRect();
      const own = element.getBoundingClientRect();
      const right = document.documentElement.clientWidth - EDGE - own.width;
      const below = at.bottom + GAP;
      const fits = below + own.height <= document.documentElement.clientHeight - EDGE;
      element.style.left = `${Math.max(EDGE, Math.min(at.left, right))}px`;
      element.style.top = `${fits ? below : Math.max(EDGE, at.top - GAP - own.height)}px`;
    };
    // A word that gets the focus scrolls into sight, and its explanation goes with it. The pointer stays where the word has been.
    const moved = (): void => (word === document.activeElement ? place() : close());
    element.showPopover?.();
    place();
    window.addEventListener("scroll", moved, true);
    window.addEventListener("resize", moved);
    return () => {
      window.removeEventListener("scroll", moved, true);
      window.removeEventListener("resize", moved);
    };
  }, []);
  return (
    <span ref={box} id={id} class="iv-term-text" role="tooltip" popover="manual">
      {text}
    </span>
  );
}
