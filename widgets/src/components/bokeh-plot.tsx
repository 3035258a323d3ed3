// Figures that can be zoomed. The kernel sends BokehJS from its own package, once for a page, and then figures as JSON.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Connection } from "../connection.ts";
import type { Side } from "../types.ts";
import { useView } from "./view.ts";

interface Plot {
  // What `embed_item` gives for a root: views that can be taken away again.
  clear?: () => void;
  remove?: () => void;
}
interface Bokeh {
  version: string;
  embed: { embed_item(item: unknown, target: HTMLElement): Promise<Plot | Plot[]> };
}
type Page = typeof globalThis & { Bokeh?: Bokeh & Record<string, Bokeh | undefined>; isovizBokeh?: Map<string, Promise<Bokeh>> };

/** BokehJS of that version: the page's own where it has it, else from the kernel; one load for all views of a page. */
function load(version: string, connection: Connection): Promise<Bokeh> {
  const page = globalThis as Page;
  const loads = (page.isovizBokeh ??= new Map());
  const there = page.Bokeh?.[version] ?? (page.Bokeh?.version === version ? page.Bokeh : undefined);
  if (there !== undefined) return Promise.resolve(there);
  const under = loads.get(version);
  // The explorer that began to load it may be gone before it has come: then this one asks itself.
  if (under !== undefined) return under.catch(() => load(version, connection));
  const promise = new Promise<Bokeh>((resolve, reject) => {
    const stop = connection.hear((content, buffers) => {
      if (content.kind !== "bokeh-script") return;
      stop();
      stay();
      const url = URL.createObjectURL(new Blob(buffers as unknown as BlobPart[], { type: "text/javascript" }));
      const script = document.createElement("script");
      script.src = url;
      script.onload = () => {
        URL.revokeObjectURL(url);
        script.remove();
        const found = (globalThis as Page).Bokeh;
        const loaded = found?.[version] ?? found;
        if (loaded === undefined) reject(new Error("Bokeh did not start"));
        else resolve(loaded);
      };
      script.onerror = () => reject(new Error("the page refused to load Bokeh"));
      document.head.append(script);
    });
    const stay = connection.whenClosed(() => reject(new Error("the explorer was closed")));
    connection.send({ kind: "bokeh-script" });
  });
  loads.set(version, promise);
  promise.catch(() => loads.delete(version));
  return promise;
}

/** One end as a figure to zoom and hover; the old figure stays until the new one is drawn. */
export function BokehPlot({ side }: { side: Side }): JSX.Element {
  const { connection } = useView();
  const holder = useRef<HTMLDivElement>(null);
  const current = useRef<Plot | Plot[] | null>(null);
  const [state, setState] = useState<string>("Loading the figure…");
  const dark = useDark();
  // The plain picture is another one just when this one has to be.
  const picture = connection.pictures[side];

  useEffect(() => () => drop(current.current), []);
  useEffect(() => {
    let over = false;
    let wanted = 0;
    const stop = connection.hear((content) => {
      if (content.kind !== "bokeh-figure" || content.side !== side || content.number !== wanted) return;
      if (content.error !== "") {
        setState(content.error);
        return;
      }
      void show(content.item, content.version);
    });
    const show = async (item: unknown, version: string): Promise<void> => {
      try {
        const bokeh = await load(version, connection);
        if (over || holder.current === null) return;
        const fresh = document.createElement("div");
        fresh.className = "iv-bokeh";
        // Drawn out of sight first: what is there now goes when the new figure has its place.
        fresh.style.position = "absolute";
        fresh.style.visibility = "hidden";
        holder.current.append(fresh);
        const plots = await bokeh.embed.embed_item(item, fresh);
        if (over || holder.current === null) {
          drop(plots);
          fresh.remove();
          return;
        }
        fresh.removeAttribute("style");
        drop(current.current);
        current.current = plots;
        for (const old of [...holder.current.children]) if (old !== fresh) old.remove();
        setState("");
      } catch (error) {
        if (!over) setState(`The figure could not be drawn: ${error instanceof Error ? error.message : String(error)}`);
      }
    };
    wanted = connection.send({ kind: "bokeh-figure", side, dark });
    return () => {
      over = true;
      stop();
    };
  }, [picture, side, dark]);

  return (
    <div class="iv-bokeh-host">
      {state !== "" && <p class="iv-faint">{state}</p>}
      <div ref={holder} />
    </div>
  );
}

function drop(plots: Plot | Plot[] | null): void {
  if (plots === null) return;
  for (const plot of Array.isArray(plots) ? plots : [plots]) {
    if (typeof plot.clear === "function") plot.clear();
    else plot.remove?.();
  }
}

/** Whether the page is dark, followed as it changes. */
function useDark(): boolean {
  const [dark, setDark] = useState(isDark);
  useEffect(() => {
    const observer = new MutationObserver(() => setDark(isDark()));
    observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
    return () => observer.disconnect();
  }, []);
  return dark;
}

function isDark(): boolean {
  return document.body.closest("[data-jp-theme-light='false'], .vscode-dark") !== null;
}
