// A small control that saves what a view shows as a picture.
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "#lib/icon.tsx";
import { useId } from "#lib/use-id.ts";
import { downloaded } from "#model/exports.ts";

interface SavePictureProps {
  /** What the picture shows; it becomes its title and the name of its file. */
  name: string;
  /** The element that is shown. */
  of: () => HTMLElement | null;
}

/** Saves what an element shows; it says what went wrong, "" if nothing did. */
export async function savePicture(element: HTMLElement | null, name: string, kind: "svg" | "png"): Promise<string> {
  if (element === null) return "There is nothing to save.";
  try {
    const { pictureOf, pixels } = await import("#lib/picture.ts");
    const picture = pictureOf(element, name);
    const content = kind === "svg" ? new Blob([picture.svg], { type: "image/svg+xml;charset=utf-8" }) : await pixels(picture);
    downloaded(
      `isoviz-${name
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, "-")
        .replace(/^-|-$/g, "")}.${kind}`,
      content,
    );
    return "";
  } catch (error) {
    return `The picture could not be made: ${error instanceof Error ? error.message : String(error)}`;
  }
}

export function SavePicture({ name, of }: SavePictureProps): JSX.Element {
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState("");
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!open) return;
    box.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const away = (event: PointerEvent): void => {
      if (!(event.target instanceof Node) || box.current?.contains(event.target) !== true) setOpen(false);
    };
    window.addEventListener("pointerdown", away, true);
    return () => window.removeEventListener("pointerdown", away, true);
  }, [open]);
  const close = (): void => {
    setOpen(false);
    box.current?.querySelector<HTMLElement>("button")?.focus();
  };
  const choose = (kind: "svg" | "png"): void => {
    close();
    void savePicture(of(), name, kind).then(setProblem);
  };
  const key = (event: KeyboardEvent): void => {
    if (!open) return;
    const items = [...(box.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") items[(at + 1) % items.length]?.focus();
    else if (event.key === "Escape") close();
    else if (event.key === "Tab") return setOpen(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="iv-menu iv-save-picture" ref={box} onKeyDown={key}>
      <button
        type="button"
        class="iv-button iv-icon-button"
        data-testid="save-picture"
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? `${id}-pictures` : undefined}
        aria-label={`Save a picture: ${name}`}
        title={problem || "Save a picture"}
        onClick={() => setOpen(!open)}
      >
        <Icon name={problem === "" ? "save" : "bad"} />
      </button>
      {open && (
        <ul class="iv-menu-list" role="menu" id={`${id}-pictures`} aria-label="Save a picture">
          {(["svg", "png"] as const).map((kind) => (
            <li key={kind} role="none">
              <button type="button" role="menuitem" tabIndex={-1} data-testid={`picture-${kind}`} onClick={() => choose(kind)}>
                Picture ({kind.toUpperCase()})
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
