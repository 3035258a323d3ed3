// The line to the kernel: numbered commands out, snapshots with acknowledgements in.
import type { Command, Message, Model, Pictures, Snapshot } from "./types.ts";

/** Seconds without an answer after which the pane says that the kernel is busy. */
export const PATIENCE = 1.5;

let views = 0;

export class Connection {
  /** Names this view: the kernel acknowledges the commands of each view. */
  readonly client: string;
  private number = 0;
  private listeners = new Set<() => void>();
  private messages = new Set<(content: Message, buffers: DataView[]) => void>();
  private farewells = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silent = false;
  /** Whether the kernel that this view belongs to is no more: it was restarted or shut down. */
  gone = false;
  private readonly liveness = (): void => void this.send({ kind: "hello" });
  private readonly changed = (): void => this.arrived();
  private readonly received = (content: Message, buffers: DataView[]): void => {
    for (const listener of this.messages) listener(content, buffers);
  };

  constructor(
    private readonly model: Model,
    private readonly patience = PATIENCE,
  ) {
    views += 1;
    this.client = `${Date.now().toString(36)}-${views}-${Math.random().toString(36).slice(2, 8)}`;
    model.on("change:snapshot", this.changed);
    model.on("msg:custom", this.received);
    model.on("comm_live_update", this.liveness); // it does not say which way it changed: asking tells
  }

  get snapshot(): Snapshot | null {
    const found = this.model.get("snapshot") as Snapshot | null | undefined;
    return found !== null && found !== undefined && "revision" in found ? found : null;
  }

  get pictures(): Pictures {
    return (this.model.get("pictures") as Pictures | undefined) ?? {};
  }

  /** The newest command of this view that the snapshot includes. */
  get acknowledged(): number {
    return this.snapshot?.acknowledged[this.client] ?? 0;
  }

  /** Whether commands of this view are on their way. */
  get waiting(): boolean {
    return this.number > this.acknowledged;
  }

  /** Whether the kernel has not answered for a while. */
  get unanswered(): boolean {
    return this.silent && this.waiting;
  }

  /** Sends a command and returns its number. */
  send(command: Command): number {
    this.number += 1;
    try {
      this.model.send({ ...command, client: this.client, number: this.number });
    } catch {
      this.gone = true;
    }
    this.timer ??= setTimeout(() => this.expired(), this.patience * 1000);
    this.tell();
    return this.number;
  }

  /** Calls `listener` after every change; returns what ends that. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Calls `listener` with every message of the kernel that is not a snapshot. */
  hear(listener: (content: Message, buffers: DataView[]) => void): () => void {
    this.messages.add(listener);
    return () => this.messages.delete(listener);
  }

  /** Calls `farewell` when this connection closes; returns what ends that. */
  whenClosed(farewell: () => void): () => void {
    this.farewells.add(farewell);
    return () => this.farewells.delete(farewell);
  }

  close(): void {
    for (const farewell of this.farewells) farewell();
    this.farewells.clear();
    clearTimeout(this.timer);
    this.model.off("change:snapshot", this.changed);
    this.model.off("msg:custom", this.received);
    this.model.off("comm_live_update", this.liveness);
    this.listeners.clear();
    this.messages.clear();
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
    for (const listener of this.listeners) listener();
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
