// Tab goes from part to part: of what stands in an element with `data-toolbar`, one thing can be reached by Tab, and arrow keys go on
// from it. Texts and pictures in it, and what is in `data-own-stops`, keep stops of their own. F6 goes to the next card.
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

const REACHED = "button, select, summary, a[href], input[type=range], input[type=checkbox], [tabindex]";
const APART = "[role=menuitem], [role=application], [role=tabpanel]";
const CARDS = ".iv-bar, .iv-card";

/** The stop of each toolbar, and whatever has been taken out of the way of Tab. */
const stops = new WeakMap<Element, HTMLElement>();
const passed = new WeakSet<Element>();

function itemsOf(toolbar: Element): HTMLElement[] {
  return [...toolbar.querySelectorAll<HTMLElement>(REACHED)].filter(
    (item) =>
      item.closest("[data-toolbar], [data-own-stops]") === toolbar &&
      !item.matches(APART) &&
      (item.tabIndex >= 0 || passed.has(item)) &&
      item.checkVisibility({ visibilityProperty: true }),
  );
}

/** Lets Tab reach one thing of a toolbar: what had the focus last, or its first control; words that explain themselves come later. */
function arranged(toolbar: Element, chosen?: HTMLElement): void {
  const items = itemsOf(toolbar);
  const known = chosen ?? stops.get(toolbar);
  const stop = items.find((item) => item === known) ?? items.find((item) => item.dataset.term === undefined) ?? items[0];
  if (stop === undefined) return;
  stops.set(toolbar, stop);
  for (const item of items) {
    const index = item === stop ? 0 : -1;
    if (index < 0) passed.add(item);
    if (item.tabIndex !== index) item.tabIndex = index;
  }
}

/** The way that a key leads along a toolbar, in items; 0 where the item takes the key itself. */
function wayOf(key: string, item: HTMLElement): number {
  const across = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[key];
  const along = { ArrowUp: -1, ArrowDown: 1 }[key];
  const slides = item.matches("input[type=range]");
  const turns = item.matches("select, [role=spinbutton]");
  return (slides ? undefined : across) ?? (turns ? undefined : along) ?? 0;
}

/** The first thing in a card that Tab reaches. */
function entryOf(card: Element): HTMLElement | null {
  return (
    [...card.querySelectorAll<HTMLElement>(`${REACHED}, input`)].find((each) => each.tabIndex >= 0 && each.checkVisibility()) ??
    null
  );
}

export function useToolbars(root: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = root.current;
    if (element === null) return;
    const arrange = (): void => {
      for (const toolbar of element.querySelectorAll("[data-toolbar]")) arranged(toolbar);
    };
    const reached = (event: FocusEvent): void => {
      const item = event.target instanceof HTMLElement ? event.target : null;
      const toolbar = item?.closest("[data-toolbar], [data-own-stops]");
      if (item !== null && toolbar?.matches("[data-toolbar]") === true && itemsOf(toolbar).includes(item))
        arranged(toolbar, item);
    };
    const key = (event: KeyboardEvent): void => {
      const item = event.target instanceof HTMLElement ? event.target : null;
      if (item === null || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "F6") {
        const cards = [...element.querySelectorAll(CARDS)].filter((card) => entryOf(card) !== null);
        const at = cards.findIndex((card) => card.contains(item));
        entryOf(cards[(at + (event.shiftKey ? -1 : 1) + cards.length) % cards.length] ?? element)?.focus();
        event.preventDefault();
        return;
      }
      const toolbar = item.closest("[data-toolbar], [data-own-stops]");
      const items = toolbar?.matches("[data-toolbar]") === true ? itemsOf(toolbar) : [];
      const at = items.indexOf(item);
      const way = at < 0 || event.shiftKey ? 0 : wayOf(event.key, item);
      if (way === 0) return;
      const to = Number.isFinite(way) ? (at + way + items.length) % items.length : way < 0 ? 0 : items.length - 1;
      items[to]?.focus();
      event.preventDefault();
    };
    // What appears later, and what is hidden meanwhile: it is looked at before Tab goes anywhere.
    const before = (event: KeyboardEvent): void => {
      if (event.key === "Tab") arrange();
    };
    arrange();
    const observer = new MutationObserver(arrange);
    observer.observe(element, { childList: true, subtree: true });
    element.addEventListener("focusin", reached);
    element.addEventListener("keydown", key);
    window.addEventListener("keydown", before, true);
    return () => {
      observer.disconnect();
      element.removeEventListener("focusin", reached);
      element.removeEventListener("keydown", key);
      window.removeEventListener("keydown", before, true);
    };
  }, []);
}
