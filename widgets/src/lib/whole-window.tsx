// A part of the explorer that can have the whole window, for a lecture: the same elements, above everything else on the page. Where
// the browser lets it, the window has the whole screen meanwhile.
import type { ComponentChildren, JSX, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

interface WholeWindowProps {
  /** What it is, for the button and for screen readers. */
  name: string;
  testid: string;
  class: string;
  children: (tool: JSX.Element, whole: boolean) => ComponentChildren;
}

/** Gives an element the whole window while `whole`; `leave` is called where the browser takes the screen away again. */
export function useWholeWindow(box: RefObject<HTMLElement | null>, whole: boolean, leave: () => void): void {
  useEffect(() => {
    const element = box.current;
    if (element === null || !whole) return;
    const others = everythingBut(element);
    for (const each of others) each.inert = true;
    element.setAttribute("popover", "manual");
    element.showPopover();
    const screen = document.documentElement;
    const asked = document.fullscreenElement === null && screen.requestFullscreen !== undefined;
    if (asked) screen.requestFullscreen().catch(() => undefined); // a page within a page may not
    let had = false;
    const left = (): void => {
      if (document.fullscreenElement === null) {
        if (had) leave();
        return;
      }
      had = true;
      element.hidePopover(); // what has the screen lies above what was shown before
      element.showPopover();
    };
    document.addEventListener("fullscreenchange", left);
    return () => {
      document.removeEventListener("fullscreenchange", left);
      if (asked && document.fullscreenElement === screen) document.exitFullscreen().catch(() => undefined);
      element.hidePopover();
      element.removeAttribute("popover");
      for (const each of others) each.inert = false;
    };
  }, [whole]);
}

export function WholeWindow({ name, testid, class: own, children }: WholeWindowProps): JSX.Element {
  const [whole, setWhole] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useWholeWindow(box, whole, () => setWhole(false));
  const label = whole ? "Back to the page" : `Give ${name} the whole screen`;
  const tool = (
    <button
      type="button"
      class="iv-button iv-icon-button"
      data-testid={`${testid}-whole`}
      aria-pressed={whole}
      aria-label={label}
      title={whole ? `${label} (Escape)` : label}
      onClick={() => setWhole(!whole)}
    >
      <Icon name={whole ? "shrink" : "expand"} />
    </button>
  );
  return (
    <div
      ref={box}
      class={`iv-whole ${own}`}
      role={whole ? "dialog" : "group"}
      aria-modal={whole || undefined}
      aria-label={name}
      data-testid={testid}
      data-whole={whole}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !whole || event.defaultPrevented) return;
        event.preventDefault(); // nothing else is to let go
        event.stopPropagation();
        setWhole(false);
      }}
    >
      {children(tool, whole)}
    </div>
  );
}

/** What stands beside an element, and beside everything that it stands in: nothing of it is to be reached behind the window. */
function everythingBut(element: HTMLElement): HTMLElement[] {
  const found: HTMLElement[] = [];
  for (let own: Element | null = element; own !== null && own !== document.body; own = own.parentElement)
    for (const each of own.parentElement?.children ?? [])
      if (each !== own && each instanceof HTMLElement && !each.inert) found.push(each);
  return found;
}
