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
export function editOf(
  event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">,
): "undo" | "redo" | null {
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

/** Whether a key is one that changes what others mean, pressed for itself. */
export function isAlone({ key }: Pick<KeyboardEvent, "key">): boolean {
  return ["Control", "Meta", "Alt", "AltGraph", "Shift"].includes(key);
}

/** Whether a key selects all of a text, copies, cuts or pastes. */
export function isClipboard(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">): boolean {
  return (
    !event.altKey && !event.shiftKey && event.ctrlKey !== event.metaKey && ["a", "c", "x", "v"].includes(event.key.toLowerCase())
  );
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
    // JupyterLab prevents undo in every text of a notebook: it listens at the text itself, which this comes before.
    const input = (event: InputEvent): void => {
      const inside = event.target instanceof Node && root.current?.contains(event.target) === true;
      if (inside && event.inputType.startsWith("history") && isText(event.target)) event.stopPropagation();
    };
    // JupyterLab holds every key that reaches the document, and the elements that it came by, until one of its shortcuts is used: what
    // is none of its own ends here, or it would hold everything that was on screen once.
    const end = (event: KeyboardEvent): void => {
      if (element?.hasAttribute(SUPPRESS) === true || isAlone(event) || (isText(event.target) && isClipboard(event)))
        event.stopPropagation();
    };
    const element = root.current;
    element?.addEventListener("keydown", end);
    window.addEventListener("beforeinput", input, true);
    window.addEventListener("keydown", down, true);
    window.addEventListener("keyup", up, true);
    window.addEventListener("blur", left);
    return () => {
      element?.removeEventListener("keydown", end);
      window.removeEventListener("beforeinput", input, true);
      window.removeEventListener("keydown", down, true);
      window.removeEventListener("keyup", up, true);
      window.removeEventListener("blur", left);
    };
  }, [root, edit]);
}
