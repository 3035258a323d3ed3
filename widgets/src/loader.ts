// What a notebook keeps of the script of a view: it brings the parts of the script, which are the same for all views of a page.
//
// A part comes from the page (another view has it, the browser tab had it before it was reloaded, or a saved page holds it), else from
// the kernel: with the first view of a kernel unasked, else by one request of the page through the comm of a view. Until the first
// parts are there, the static picture beside the view stays where it is.
import { type SavedPage, savedPage } from "#app/offline/page-content.ts";
import type { Model } from "#model/types.ts";

/** Set by the build: a digest of all parts and of this file, and what each part imports. */
declare const HASH: string;
declare const IMPORTS: Readonly<Record<string, readonly string[]>>;

/** Milliseconds that the kernel of one view has to answer before all other views ask theirs. */
const PATIENCE = 500;
/** Milliseconds after which a view says what it waits for. */
const QUIET = 800;
const APP = "explorer.js";
const SHEET = "explorer.css";

interface App {
  default: { render: (view: { model: Model; el: HTMLElement }) => () => void };
  drawPage: (page: SavedPage) => Promise<void>;
}
interface Coming {
  readonly text: Promise<string>;
  readonly arrived: (text: string | Promise<string>) => void;
}

const REGISTRY = Symbol.for("isoviz.scripts");
const shared = globalThis as unknown as Record<symbol, Map<string, Script> | undefined>;
const scripts = (shared[REGISTRY] ??= new Map());
const page = savedPage();

const textOf = (bytes: BufferSource): string => new TextDecoder().decode(bytes);

const whenIdle = (action: () => void): void => void (globalThis.requestIdleCallback ?? setTimeout)(action);

/** The name under which a part is kept for this browser tab. */
const kept = (name: string): string => `isoviz ${HASH} ${name}`;

/** The parts of one version of isoviz on this page. */
class Script {
  private readonly coming = new Map<string, Coming>();
  private readonly missing = new Set<string>();
  private readonly urls = new Map<string, Promise<string>>();
  /** The models of views, each a line to a kernel, with what was asked of it. */
  private readonly lines = new Map<Model, Set<string>>();
  private asking = false;

  /** The module of a part. It waits until its parts have come, however long. */
  async load(name: string): Promise<unknown> {
    return await import(await this.url(name));
  }

  /** The text of a part, and of what it imports. */
  fetch(name: string): Promise<string> {
    for (const other of IMPORTS[name] ?? []) void this.fetch(other);
    const known = this.coming.get(name);
    if (known !== undefined) return known.text;
    let arrived: Coming["arrived"] = () => undefined;
    const text = new Promise<string>((resolve) => (arrived = resolve));
    this.coming.set(name, { text, arrived });
    const found = page === null ? this.remembered(name) : page.bytes(name).then(textOf);
    if (found !== null) arrived(found);
    else {
      this.missing.add(name);
      this.askSoon();
    }
    return text;
  }

  /** Takes parts that a kernel has sent. */
  take(content: unknown, buffers: readonly DataView[]): void {
    const { kind, hash, names } = content as { kind?: string; hash?: string; names?: string[] };
    if (kind !== "parts" || hash !== HASH) return;
    names?.forEach((name, place) => {
      void this.fetch(name);
      const bytes = buffers[place];
      if (bytes === undefined || !this.missing.delete(name)) return;
      const text = textOf(bytes as DataView<ArrayBuffer>);
      this.coming.get(name)?.arrived(text);
      whenIdle(() => {
        try {
          sessionStorage.setItem(kept(name), text);
        } catch {
          // The page may not keep anything, or no more: it asks again after it was loaded again.
        }
      });
    });
  }

  /** A view has a line to its kernel: at first, and when that may be there again. */
  join(line: Model): void {
    this.lines.set(line, new Set());
    if (this.missing.size > 0) this.askSoon();
  }

  leave(line: Model): void {
    this.lines.delete(line);
  }

  /** What a kernel has sent unasked is taken first: it lies before the view that is shown. */
  private askSoon(): void {
    setTimeout(() => void this.ask());
  }

  private remembered(name: string): string | null {
    try {
      return sessionStorage.getItem(kept(name));
    } catch {
      return null;
    }
  }

  /** Asks for what is missing: one view for all, and all others where its kernel does not answer. */
  private async ask(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    for (let turn = 0; ; turn += 1) {
      const lines = [...this.lines.keys()];
      if (!(turn === 0 ? lines.some((line) => this.sent(line)) : lines.filter((line) => this.sent(line)).length > 0)) break;
      const all = Promise.all([...this.missing].map((name) => this.fetch(name)));
      await Promise.race([all, new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
    }
    this.asking = false;
  }

  /** Whether what is missing could be asked for through a line through which it was not asked for yet. */
  private sent(line: Model): boolean {
    const asked = this.lines.get(line);
    const names = [...this.missing].filter((name) => asked?.has(name) !== true);
    for (const name of names) asked?.add(name);
    if (names.length === 0) return false;
    try {
      line.send({ kind: "parts", hash: HASH, names });
      return true;
    } catch {
      return false; // its kernel is gone
    }
  }

  /** The address of a part whose imports are addresses: the text of a part names its neighbours, which a blob does not have. */
  private url(name: string): Promise<string> {
    let known = this.urls.get(name);
    if (known === undefined) this.urls.set(name, (known = this.made(name)));
    return known;
  }

  private async made(name: string): Promise<string> {
    const text = this.fetch(name);
    const imports = IMPORTS[name] ?? [];
    const urls = await Promise.all(imports.map((other) => this.url(other)));
    const here = `globalThis[Symbol.for("isoviz.scripts")].get("${HASH}").load(`;
    const linked = imports.reduce(
      (linking, other, place) => linking.replaceAll(`"./${other}"`, `"${urls[place] ?? ""}"`),
      (await text).replaceAll('import("./', `${here}"`),
    );
    return URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
  }

  /** Everything else that a view may show, once there is time: a kernel that has gone cannot send it any more. */
  fetchRest(): void {
    whenIdle(() => {
      for (const name of Object.keys(IMPORTS)) void this.fetch(name);
    });
  }

  /** The style of all views, once for the page. */
  async style(): Promise<void> {
    const text = await this.fetch(SHEET);
    if (document.querySelector(`style[data-isoviz-style="${HASH}"]`) !== null) return;
    const sheet = document.createElement("style");
    sheet.dataset.isovizStyle = HASH;
    sheet.textContent = text;
    document.head.append(sheet);
  }
}

let found = scripts.get(HASH);
if (found === undefined) scripts.set(HASH, (found = new Script()));
const script = found;

function initialize({ model }: { model: Model }): () => void {
  model.on("msg:custom", (content: unknown, buffers?: readonly DataView[]) => script.take(content, buffers ?? []));
  model.on("comm_live_update", () => script.join(model));
  script.join(model);
  return () => script.leave(model);
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  let close: (() => void) | null = null;
  let closed = false;
  const quiet = setTimeout(() => say(el, waitingFor(model)), QUIET);
  void Promise.all([script.load(APP) as Promise<App>, script.style()]).then(
    ([app]) => {
      clearTimeout(quiet);
      if (closed) return;
      el.replaceChildren();
      close = app.default.render({ model, el });
      script.fetchRest();
    },
    (error: unknown) => {
      clearTimeout(quiet);
      say(el, `The script of this view could not be loaded: ${String(error)}`);
    },
  );
  return () => {
    closed = true;
    clearTimeout(quiet);
    close?.();
  };
}

function waitingFor(model: Model): string {
  const picture = document.querySelector(`[data-isoviz-static="${CSS.escape(String(model.get("static_picture")))}"]`);
  const shows = picture === null ? "" : "The picture above shows its last state. ";
  return `isoviz: this view comes alive once its kernel answers. ${shows}Without a kernel, run its cell again.`;
}

function say(el: HTMLElement, text: string): void {
  const line = document.createElement("p");
  line.textContent = text;
  line.dataset.testid = "waiting-for-script";
  line.setAttribute("role", "status");
  line.style.cssText = "margin:4px 0;opacity:.75";
  el.replaceChildren(line);
}

if (page !== null) {
  void (script.load(APP) as Promise<App>)
    .then(({ drawPage }) => drawPage(page))
    .catch((error: unknown) => {
      console.error(error);
      page.failed();
    });
}

export default { initialize, render };
