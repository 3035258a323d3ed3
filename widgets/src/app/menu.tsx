// The menu of the explorer: open, save, export, copy.
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "#lib/icon.tsx";
import { useId } from "#lib/use-id.ts";
import { chosenFile, copyPython, type News, save } from "#model/exports.ts";
import { useView } from "#model/view.ts";
import { savePicture } from "#views/controls/save-picture.tsx";
import { MOST } from "#views/transfers/transfers.tsx";

interface Item {
  name: string;
  /** Leads to another page of the menu. */
  to?: Page;
  title: string;
  /** Begins a group: a line stands above it. */
  group?: boolean;
  /** Why it cannot be done now; "" or absent where it can. */
  reason?: string;
  act?: () => Promise<News | null>;
}

type Page = "all" | "pictures";

/** What there is to save as a picture, with where it stands. */
const PICTURES = [
  { name: "Explorer", title: "All of this", of: ".iv-screen" },
  { name: "Journey", title: "The journey", of: ".iv-journey" },
  { name: "Layouts", title: "Source and destination", of: ".iv-ends" },
  { name: "Details", title: "The open tab", of: ".iv-dock .iv-tabpanel" },
] as const;

interface MenuProps {
  /** Says how it went. */
  tell: (news: News) => void;
  beginTour: () => void;
}

export function Menu({ tell, beginTour }: MenuProps): JSX.Element {
  const { connection, snapshot } = useView();
  const [page, setPage] = useState<Page | null>(null);
  const open = page !== null;
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const { settings } = connection;
  const part = (of: string): HTMLElement | null => {
    const screen = box.current?.closest<HTMLElement>(".iv-screen") ?? null;
    return of === ".iv-screen" ? screen : (screen?.querySelector<HTMLElement>(of) ?? null);
  };
  const picture = async (of: string, name: string, kind: "svg" | "png"): Promise<News> => {
    const problem = await savePicture(part(of), name, kind);
    return problem === ""
      ? { good: true, text: `Saved the picture isoviz-${name.toLowerCase()}.${kind}.` }
      : { good: false, text: problem };
  };
  const pictures: readonly Item[] = PICTURES.flatMap(({ name, title, of }, place) =>
    (["svg", "png"] as const).map((kind, at) => ({
      name: `picture-${name.toLowerCase()}-${kind}`,
      title: `${title} (${kind.toUpperCase()})`,
      group: place > 0 && at === 0,
      reason: open && part(of) === null ? "It is not open" : "",
      act: () => picture(of, name, kind),
    })),
  );
  const all: readonly Item[] = [
    {
      name: "open-session",
      title: "Open a session…",
      act: async () => {
        const file = await chosenFile(".json,application/json");
        if (file !== null) connection.send({ kind: "open-session", ...file });
        return null;
      },
    },
    { name: "save-session", title: "Save the session", act: () => save(connection, "session") },
    { name: "export-plan", title: "Export the plan (JSON)", group: true, act: () => save(connection, "plan") },
    { name: "export-machine", title: "Export the machine (JSON)", act: () => save(connection, "machine") },
    { name: "export-page", title: "Export a page (HTML)", act: () => save(connection, "page") },
    {
      name: "export-report",
      title: "Export the last report (JSON)",
      reason: snapshot.panes.run.report === null ? "Nothing has run yet" : "",
      act: () => save(connection, "report"),
    },
    { name: "export-trace", title: "Export the trace (for ui.perfetto.dev)", act: () => save(connection, "trace") },
    { name: "pictures", title: "Save a picture…", to: "pictures", group: true },
    { name: "copy-python", title: "Copy as Python", act: () => copyPython(connection) },
    {
      name: "add-transfer",
      title: "Add another transfer",
      group: true,
      reason: settings.beside.length + 1 >= MOST ? `${MOST} transfers are the most` : "",
      act: async () => {
        connection.send({ kind: "add-transfer" });
        return null;
      },
    },
    {
      name: "tour",
      title: "Begin the tour",
      group: true,
      act: async () => {
        beginTour();
        return null;
      },
    },
  ];

  const items = page === "all" ? all : pictures;

  // Where it stands it is seen: nothing scrolls for it.
  const focus = (place: number): void =>
    list.current?.querySelectorAll<HTMLElement>("[role=menuitem]")[place]?.focus({ preventScroll: true });
  // Before the next key: an arrow that follows Enter at once moves on from the first item.
  useLayoutEffect(() => {
    if (!open) return;
    focus(0);
    const away = (event: PointerEvent): void => {
      if (!(event.target instanceof Node) || box.current?.contains(event.target) !== true) setPage(null);
    };
    window.addEventListener("pointerdown", away, true);
    return () => window.removeEventListener("pointerdown", away, true);
  }, [page]);
  const close = (): void => {
    setPage(null);
    box.current?.querySelector<HTMLElement>("button")?.focus({ preventScroll: true });
  };
  const choose = (item: Item): void => {
    if (item.reason) return;
    if (item.to !== undefined) return setPage(item.to);
    close();
    void item.act?.().then((news) => news !== null && tell(news));
  };
  return (
    <div
      class="iv-menu"
      ref={box}
      onKeyDown={(event) => {
        if (!open) return;
        const at = [...(list.current?.querySelectorAll("[role=menuitem]") ?? [])].indexOf(document.activeElement as Element);
        const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
        if (to !== undefined) {
          event.preventDefault();
          focus((to + items.length) % items.length);
        } else if (event.key === "Escape" || (event.key === "ArrowLeft" && page === "pictures")) {
          event.stopPropagation();
          if (page === "pictures") setPage("all");
          else close();
        } else if (event.key === "Tab") setPage(null);
      }}
    >
      <button
        type="button"
        class="iv-button iv-icon-button"
        data-testid="menu"
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? `${id}-menu` : undefined}
        aria-label="More: open, save, export, tour"
        title="Open, save, export, tour"
        onClick={() => setPage(open ? null : "all")}
        onKeyDown={(event) => {
          if (open || event.key !== "ArrowDown") return;
          event.preventDefault();
          setPage("all");
        }}
      >
        <Icon name="more" />
      </button>
      {open && (
        <ul
          class="iv-menu-list"
          role="menu"
          id={`${id}-menu`}
          ref={list}
          aria-label={page === "pictures" ? "Save a picture of" : "Open, save, export"}
        >
          {items.map((item) => (
            <li key={item.name} role="none" class={item.group ? "iv-menu-group" : undefined}>
              <button
                type="button"
                role="menuitem"
                tabIndex={-1}
                data-testid={`menu-${item.name}`}
                aria-disabled={item.reason ? "true" : undefined}
                aria-haspopup={item.to === undefined ? undefined : "menu"}
                title={item.reason || undefined}
                onClick={() => choose(item)}
              >
                {item.title}
                {item.reason && <span class="iv-menu-reason">{item.reason}</span>}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
