// A term that explains itself: a dotted line below it, one line of explanation when it is hovered or focused.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { glossary, type TermName } from "../glossary.ts";

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
  // Ids of Preact count afresh for every explorer on a page.
  const [id] = useState(() => `iv-term-${Math.random().toString(36).slice(2)}`);
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
    const close = (): void => turnNow(false);
    const key = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      event.stopPropagation(); // the drawer or the strip around it stays open
      close();
    };
    // An explanation that stays where its word has been would point at nothing.
    window.addEventListener("keydown", key, true);
    window.addEventListener("scroll", close, true);
    window.addEventListener("resize", close);
    return () => {
      window.removeEventListener("keydown", key, true);
      window.removeEventListener("scroll", close, true);
      window.removeEventListener("resize", close);
    };
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
      onPointerLeave={(event) => event.pointerType !== "touch" && !event.currentTarget.matches(":focus-visible") && turn(false, CROSSING)}
      onClick={() => turnNow(true)}
      onFocus={() => turnNow(true)}
      onBlur={() => turnNow(false)}
    >
      {children ?? name}
      {open && <Explanation id={id} text={glossary[name]} word={word.current} />}
    </span>
  );
}

/** The explanation, above everything else on the page, so that no edge of the explorer cuts it off. */
function Explanation({ id, text, word }: { id: string; text: string; word: HTMLElement | null }): JSX.Element {
  const box = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || word === null) return;
    element.showPopover?.();
    // A word that is broken over two lines is explained at its first line.
    const at = word.getClientRects()[0] ?? word.getBoundingClientRect();
    const own = element.getBoundingClientRect();
    const right = document.documentElement.clientWidth - EDGE - own.width;
    const below = at.bottom + GAP;
    const fits = below + own.height <= document.documentElement.clientHeight - EDGE;
    element.style.left = `${Math.max(EDGE, Math.min(at.left, right))}px`;
    element.style.top = `${fits ? below : Math.max(EDGE, at.top - GAP - own.height)}px`;
  });
  return (
    <span ref={box} id={id} class="iv-term-text" role="tooltip" popover="manual">
      {text}
    </span>
  );
}
