// What is selected and what the pointer is on, one for each session of a page: every view of the session shows it at once.
//
// The store hangs on the page: each widget brings a copy of this module, and all copies have to find the same one. The kernel is
// told of selections, at most ten times in a second; what is hovered is nobody's business but the page's.
import { untracked } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Connection } from "./connection.ts";
import type { ShownEntry, ShownSelection } from "./types.ts";
import { useView } from "./view.ts";

/** The entry that the pointer (or the focus) is on. */
export type HoveredEntry = ShownEntry;

/** Milliseconds between two messages to the kernel. */
export const PAUSE = 100;

export const NOTHING: ShownSelection = { entry: null, chunk: null, time: null, stop: null, hop: null };

/** Bytes at both ends of a hop, as the first byte and the length of each stretch: what a descriptor names. */
export interface PointedBytes {
  readonly hop: number;
  readonly source: { readonly starts: readonly number[]; readonly lengths: readonly number[] };
  readonly destination: PointedBytes["source"];
}

/** The selection of a session on this page. It is plain data and functions, for copies of this module share it. */
interface Store {
  selection: ShownSelection;
  hover: HoveredEntry | null;
  /** Names of the channels of a path that is pointed at, such as a candidate that was not chosen; null where none is. */
  highlightedPath: readonly string[] | null;
  /** The bytes that are pointed at, at both ends of a hop; null where none are. */
  pointedBytes: PointedBytes | null;
  /** The newest selection of the kernel that has been looked at. */
  count: number;
  /** The views of this page. */
  clients: Set<string>;
  listeners: Set<() => void>;
  /** Views that are open: the last one that leaves takes the store away. */
  open: number;
}

type Stores = Map<string, Store>;

const KEY = Symbol.for("isoviz.selections.3");

function stores(): Stores {
  const page = globalThis as unknown as Record<symbol, Stores | undefined>;
  return (page[KEY] ??= new Map());
}

/** A view's part in the store of its session. */
class Membership {
  readonly store: Store;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private last = -Infinity;
  private passed = false;
  private readonly ends: (() => void)[];

  constructor(
    private readonly connection: Connection,
    readonly session: string,
  ) {
    const selected = connection.snapshot?.selected;
    let store = stores().get(session);
    if (store === undefined) {
      store = {
        selection: selected?.selection ?? NOTHING,
        hover: null,
        highlightedPath: null,
        pointedBytes: null,
        count: selected?.count ?? 0,
        clients: new Set(),
        listeners: new Set(),
        open: 0,
      };
      stores().set(session, store);
    }
    this.store = store;
    store.clients.add(connection.client);
    store.open += 1;
    this.ends = [connection.listen(() => this.look()), connection.whenClosed(() => this.leave())];
    this.look();
  }

  /** Selects; the kernel is not told of what is `passing`, such as the moments that an animation goes through. */
  readonly select = (change: Partial<ShownSelection>, passing = false): void => {
    const before = this.store.selection;
    const next = { ...before, ...change };
    if (change.stop !== undefined && change.stop !== null) next.hop = null;
    else if (change.hop !== undefined && change.hop !== null) next.stop = null;
    if (same(before, next) && (passing || !this.passed)) return;
    this.passed = passing;
    this.store.selection = next;
    tell(this.store);
    if (passing) return;
    this.timer ??= setTimeout(() => this.report(), Math.max(0, this.last + PAUSE - performance.now()));
  };

  readonly hover = (entry: HoveredEntry | null): void => {
    if (same(this.store.hover, entry)) return;
    this.store.hover = entry;
    tell(this.store);
  };

  readonly highlight = (path: readonly string[] | null): void => {
    if (same(this.store.highlightedPath, path)) return;
    this.store.highlightedPath = path;
    tell(this.store);
  };

  readonly point = (bytes: PointedBytes | null): void => {
    if (this.store.pointedBytes === bytes) return;
    this.store.pointedBytes = bytes;
    tell(this.store);
  };

  leave(): void {
    if (this.timer !== undefined) this.report();
    for (const end of this.ends) end();
    members.delete(this.connection);
    this.store.open -= 1;
    if (this.store.open === 0 && stores().get(this.session) === this.store) stores().delete(this.session);
  }

  private report(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.last = performance.now();
    this.connection.send({ kind: "select", selection: this.store.selection });
  }

  /** Takes a selection that was made elsewhere: by another page or by Python code. */
  private look(): void {
    const selected = this.connection.snapshot?.selected;
    if (selected === undefined || selected.count <= this.store.count) return;
    this.store.count = selected.count;
    if (selected.client !== null && this.store.clients.has(selected.client)) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    if (same(this.store.selection, selected.selection)) return;
    this.store.selection = selected.selection;
    tell(this.store);
  }
}

const members = new WeakMap<Connection, Membership>();

function memberOf(connection: Connection): Membership {
  const session = connection.snapshot?.frame.session ?? "";
  const known = members.get(connection);
  if (known !== undefined && known.session === session) return known;
  known?.leave();
  const joined = untracked(() => new Membership(connection, session));
  members.set(connection, joined);
  return joined;
}

function tell(store: Store): void {
  for (const listener of [...store.listeners]) listener();
}

function same(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** The membership of this view; the component is drawn again when `read` of the store changes. */
function useStore<Value>(read: (store: Store) => Value): [Value, Membership] {
  const { connection } = useView();
  const member = memberOf(connection);
  const value = read(member.store);
  const [, again] = useState<unknown>(value);
  useEffect(() => {
    const { store } = member;
    const changed = (): void => again(() => read(store));
    changed(); // it may have changed between drawing and listening
    store.listeners.add(changed);
    return () => void store.listeners.delete(changed);
  }, [member]);
  return [value, member];
}

const selectionOf = (store: Store): ShownSelection => store.selection;
const placeOf = ({ selection: { hop, stop } }: Store): string => `${hop ?? ""} ${stop ?? ""}`;
const hoverOf = (store: Store): HoveredEntry | null => store.hover;
const pointedOf = (store: Store): PointedBytes | null => store.pointedBytes;
const highlightedOf = (store: Store): readonly string[] | null => store.highlightedPath;

/** What is selected, and what changes it: selecting a stop lets a hop go, and a hop a stop. */
export function useSelection(): [ShownSelection, (change: Partial<ShownSelection>, passing?: boolean) => void] {
  const [selection, member] = useStore(selectionOf);
  return [selection, member.select];
}

/** The selected place of the journey, for what has no need to be drawn again when an entry or a moment is selected. */
export function usePlace(): [Pick<ShownSelection, "hop" | "stop">, (change: Partial<ShownSelection>) => void] {
  const [, member] = useStore(placeOf);
  const { hop, stop } = member.store.selection;
  return [{ hop, stop }, member.select];
}

/** The entry that the pointer is on, in whatever view, and what changes it. */
export function useHover(): [HoveredEntry | null, (entry: HoveredEntry | null) => void] {
  const [hover, member] = useStore(hoverOf);
  return [hover, member.hover];
}

/** The path that is pointed at, as names of its channels, and what changes it. The machine shows it beside the chosen path. */
export function useHighlightedPath(): [readonly string[] | null, (channels: readonly string[] | null) => void] {
  const [path, member] = useStore(highlightedOf);
  return [path, member.highlight];
}

/** The bytes at both ends of a hop that are pointed at, and what changes it. Both grids and tapes mark them. */
export function usePointedBytes(): [PointedBytes | null, (bytes: PointedBytes | null) => void] {
  const [bytes, member] = useStore(pointedOf);
  return [bytes, member.point];
}
