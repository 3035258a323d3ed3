// The line to the kernel: numbered commands out, the state with acknowledgements in.
//
// The state comes as traits, one for each concern; `frame` goes with every publication, and the others are in the same message. What
// has been asked and is not yet in the state is kept as pending: `settings` shows what the person has just done.
import { applied } from "./settings.ts";
import type {
  Command,
  Exported,
  ExportMessage,
  Frame,
  HandPart,
  LayoutPart,
  Message,
  Model,
  RunPart,
  ShownSettings,
  Snapshot,
  WhatIfPart,
  WhyPart,
} from "./types.ts";

/** Seconds without an answer after which the view says that the kernel is busy. */
export const PATIENCE = 1.5;

const NO_RUN: RunPart = {
  now: {
    number: 0,
    phase: "idle",
    stage: "prepare",
    bytesDone: 0,
    bytes: 0,
    wanted: 1,
    over: 0,
    together: 1,
    ranks: 0,
    error: "",
    transfer: "",
    canRun: false,
    reason: "",
    offerLocal: false,
    offerEmulated: [],
    isOfPlan: false,
  },
  place: "",
  places: [],
  ranks: { phase: "none", count: 0, library: "", pids: [], problem: "" },
  report: null,
  parts: [],
  advice: [],
  emulated: [],
  count: 0,
  changes: 0,
};
const NO_LAYOUTS: LayoutPart = { dims: {}, fieldSizes: [], source: null, destination: null };

const NO_HAND: HandPart = { path: null };

/** What the kernel answers to a command: a message with binary data, or why there is none. */
export interface Answer {
  error: string;
  message: Message | null;
  buffers: readonly DataView[];
}

type Hearing = (content: Message, buffers: readonly DataView[]) => void;

let views = 0;

interface Pending {
  number: number;
  command: Command;
}

export class Connection {
  /** Names this view: the kernel acknowledges the commands of each view. */
  readonly client: string;
  private number = 0;
  private pending: Pending[] = [];
  private composed: Snapshot | null = null;
  private echoed: { over: ShownSettings; newest: number; settings: ShownSettings } | null = null;
  private listeners = new Set<() => void>();
  private messages = new Set<Hearing>();
  private farewells = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silent = false;
  /** Whether the state was composed after the kernel had gone. */
  private endedRun = false;
  /** Whether the kernel that this view belongs to is no more: it was restarted or shut down. */
  gone = false;
  /** Whether this is a page without a kernel: what needs one is not offered. */
  readonly offline: boolean;
  private readonly liveness = (): void => void this.send({ kind: "hello" });
  private readonly changed = (): void => this.arrived();
  private readonly received = (content: Message, buffers?: readonly DataView[]): void => {
    for (const listener of [...this.messages]) listener(content, buffers ?? []);
  };

  constructor(
    private readonly model: Model,
    private readonly patience = PATIENCE,
  ) {
    views += 1;
    this.client = `${Date.now().toString(36)}-${views}-${Math.random().toString(36).slice(2, 8)}`;
    this.offline = model.get("offline") === true;
    model.on("change:frame", this.changed);
    model.on("msg:custom", this.received);
    model.on("comm_live_update", this.liveness); // it does not say which way it changed: asking tells
  }

  /** The state, the same object until the next revision; null before the first. */
  get snapshot(): Snapshot | null {
    const frame = this.model.get("frame") as Frame | null | undefined;
    if (frame === null || frame === undefined || !("revision" in frame)) return null;
    const known = this.composed;
    const ended = this.gone && !this.endedRun;
    if (known !== null && known.frame.revision === frame.revision && known.frame.session === frame.session && !ended)
      return known;
    this.endedRun = this.gone;
    this.composed = {
      frame,
      settings: this.trait("settings"),
      menus: this.trait("menus"),
      faults: this.trait("faults"),
      palette: this.trait("palette"),
      selected: this.trait("selected"),
      panes: {
        run: this.runPart(),
        layout: this.trait<LayoutPart | null>("part_layout") ?? NO_LAYOUTS,
        plan: this.trait("part_plan"),
        machine: this.trait("part_machine"),
        trace: this.trait("part_trace"),
        why: this.trait<WhyPart | null>("part_why") ?? null,
        what_if: this.trait<WhatIfPart | null>("part_what_if") ?? null,
        hand: this.trait<HandPart | null>("part_hand") ?? NO_HAND,
        transfers: this.trait("part_transfers") ?? null,
      },
    };
    return this.composed;
  }

  /** The settings of the state with the commands that it does not have yet; only where there is a state. */
  get settings(): ShownSettings {
    const over = this.snapshot?.settings;
    if (over === undefined) throw new Error("there are no settings before the first state");
    const acknowledged = this.acknowledged;
    this.pending = this.pending.filter((each) => each.number > acknowledged);
    const newest = this.pending.at(-1)?.number ?? 0;
    if (this.echoed === null || this.echoed.over !== over || this.echoed.newest !== newest) {
      const settings = this.pending.reduce((before, each) => applied(before, each.command), over);
      this.echoed = { over, newest, settings };
    }
    return this.echoed.settings;
  }

  /** The newest command of this view that the state includes. */
  get acknowledged(): number {
    return this.snapshot?.frame.acknowledged[this.client] ?? 0;
  }

  /** Whether commands of this view are on their way. */
  get waiting(): boolean {
    return !this.offline && this.number > this.acknowledged;
  }

  /** Whether the kernel has not answered for a while. */
  get unanswered(): boolean {
    return this.silent && this.waiting;
  }

  /** Sends a command and returns its number. */
  send(command: Command): number {
    this.number += 1;
    const number = this.number;
    if (this.offline) {
      this.model.send({ ...command, client: this.client, number });
      return number;
    }
    try {
      this.model.send({ ...command, client: this.client, number });
      this.pending.push({ number, command });
    } catch {
      this.gone = true;
    }
    this.timer ??= setTimeout(() => this.expired(), this.patience * 1000);
    this.tell();
    return number;
  }

  /** Asks for an export. Where there is none, `error` of the answer says why; it never rejects. */
  async exported(what: Exported): Promise<ExportMessage> {
    const { message, error } = await this.ask({ kind: "export", what });
    return message?.kind === "export" ? message : { kind: "export", what, number: null, name: "", text: "", error };
  }

  /** Sends a command that the kernel answers with a message. Where there is none, `error` says why; it never rejects. */
  ask(command: Command): Promise<Answer> {
    return new Promise((resolve) => {
      const ends: (() => void)[] = [];
      const answer = (found: Answer): void => {
        for (const end of ends) end();
        resolve(found);
      };
      let number = 0;
      const without = (error: string): void => answer({ error, message: null, buffers: [] });
      const look = (): void => {
        const refusal = this.snapshot?.frame.refusal;
        if (this.gone) without("The kernel of this explorer is gone.");
        else if (number > 0 && refusal?.client === this.client && refusal.number === number) without(refusal.message);
      };
      ends.push(
        this.hear((message, buffers) => {
          if (message.kind === command.kind && message.number === number) answer({ error: message.error, message, buffers });
        }),
      );
      ends.push(this.whenClosed(() => without("This view was closed.")));
      ends.push(this.listen(look));
      number = this.send(command);
      look();
    });
  }

  /** Calls `listener` after every change; returns what ends that. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Calls `listener` with every message of the kernel that is not state. */
  hear(listener: Hearing): () => void {
    this.messages.add(listener);
    return () => this.messages.delete(listener);
  }

  /** Calls `farewell` when this connection closes; returns what ends that. */
  whenClosed(farewell: () => void): () => void {
    this.farewells.add(farewell);
    return () => this.farewells.delete(farewell);
  }

  close(): void {
    for (const farewell of [...this.farewells]) farewell();
    this.farewells.clear();
    clearTimeout(this.timer);
    this.model.off("change:frame", this.changed);
    this.model.off("msg:custom", this.received);
    this.model.off("comm_live_update", this.liveness);
    this.listeners.clear();
    this.messages.clear();
  }

  /** The runs. One that was under way when the kernel went has ended with it: nobody else will say so. */
  private runPart(): RunPart {
    const part = this.trait<RunPart | null>("part_run") ?? NO_RUN;
    if (!this.gone || (part.now.phase !== "running" && part.now.phase !== "cancelling")) return part;
    return { ...part, now: { ...part.now, phase: "failed", error: "It ended with its kernel, unfinished.", isOfPlan: true } };
  }

  private trait<Value>(name: string): Value {
    return this.model.get(name) as Value;
  }

  private arrived(): void {
    if (!this.waiting) {
      clearTimeout(this.timer);
      this.timer = undefined;
      this.silent = false;
    }
    this.tell();
  }

  private expired(): void {
    this.timer = undefined;
    this.silent = true;
    this.tell();
  }

  private tell(): void {
    for (const listener of [...this.listeners]) listener();
  }
}

/** What a person is typing, and the command that carries it (`Infinity` while none has been sent). */
export interface Draft {
  text: string;
  number: number;
}

/** What a control shows: what is being typed until the kernel has it, then what the kernel says. */
export function shown(draft: Draft | null, value: string, acknowledged: number): string {
  return draft !== null && draft.number > acknowledged ? draft.text : value;
}
