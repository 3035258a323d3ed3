// Keys inside a view: single keys are the view's, JupyterLab's shortcuts with Ctrl, Cmd or Alt stay JupyterLab's; undo and redo are
// those of the explorer.
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

/**
 * JupyterLab goes from the target of a key upwards, until a shortcut's selector fits or an element has this attribute. Selectors such
 * as ".jp-Notebook :focus" fit the target itself: what is to be left alone needs the attribute there, not only above.
 */
const SUPPRESS = "data-lm-suppress-shortcuts";

/** What a key means for the explorer, wherever the focus in it is. */
export function editOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">): "undo" | "redo" | null {
  if (event.altKey || event.ctrlKey === event.metaKey) return null;
  const key = event.key.toLowerCase();
  if (key === "z") return event.shiftKey ? "redo" : "undo";
  return key === "y" && event.ctrlKey && !event.shiftKey ? "redo" : null;
}

/** Whether keys at this element edit a text: they have an undo of their own. */
export function isText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["button", "checkbox", "radio", "range", "color", "file"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target.isContentEditable;
}

/** Lets JupyterLab see the keys that are its own, and calls `edit` for undo and redo outside of texts. */
export function useShortcuts(root: RefObject<HTMLElement | null>, edit: (kind: "undo" | "redo") => void): void {
  useEffect(() => {
    let marked: Element | null = null;
    const suppress = (on: boolean, target: Element | null = null): void => {
      if (on) root.current?.setAttribute(SUPPRESS, "true");
      else root.current?.removeAttribute(SUPPRESS);
      if (marked !== root.current) marked?.removeAttribute(SUPPRESS);
      marked = on ? target : null;
      marked?.setAttribute(SUPPRESS, "true");
    };
    // JupyterLab looks in the capture phase of the document: this comes before.
    const down = (event: KeyboardEvent): void => {
      const element = root.current;
      if (element === null || !(event.target instanceof Element) || !element.contains(event.target)) return;
      const kind = editOf(event);
      suppress(kind !== null || !(event.ctrlKey || event.metaKey || event.altKey), event.target);
      if (kind === null || isText(event.target)) return;
      event.preventDefault();
      event.stopPropagation();
      edit(kind);
    };
    const up = (event: KeyboardEvent): void => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey) suppress(true);
    };
    const left = (): void => suppress(true);
    window.addEventListener("keydown", down, true);
    window.addEventListener("keyup", up, true);
    window.addEventListener("blur", left);
    return () => {
      window.removeEventListener("keydown", down, true);
      window.removeEventListener("keyup", up, true);
      window.removeEventListener("blur", left);
    };
  }, [root, edit]);
}
