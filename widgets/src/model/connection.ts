// The line to the kernel: numbered commands out, the state with acknowledgements in.
//
// The state comes as traits, one for each concern; `frame` goes with every publication, and the others are in the same message. What
// has been asked and is not yet in the state is kept as pending: `settings` shows what the person has just done.
import { batch, computed, type Signal, signal } from "@preact/signals";
import type { ArrayValues } from "./array-values.ts";
import { applied } from "./settings.ts";
import type {
  Command,
  Exported,
  ExportMessage,
  Frame,
  Kernel,
  Message,
  Model,
  Panes,
  RunPart,
  ShownSettings,
  ShownVerdict,
  Snapshot,
} from "./types.ts";

/** Seconds without an answer after which the view says that the kernel is busy. */
export const PATIENCE = 1.5;

/** What the kernel answers to a command: a message with binary data, or why there is none. */
export interface Answer {
  error: string;
  message: Message | null;
  buffers: readonly DataView[];
}

/** What JupyterLab says of a kernel that is no more. */
const ENDED: readonly string[] = ["terminating", "dead"];

type Hearing = (content: Message, buffers: readonly DataView[]) => void;

let views = 0;

interface Pending {
  number: number;
  command: Command;
}

/**
 * The line to the kernel. What can be read from it is kept in signals: a component that reads it is drawn again when that changes, and
 * only then.
 */
export class Connection {
  /** Names this view: the kernel acknowledges the commands of each view. */
  readonly client: string;
  /** Whether this is a page without a kernel: what needs one is not offered. */
  readonly offline: boolean;
  /** The values of the user's array; null where there are none. */
  readonly arrayValues: ArrayValues | null;
  private readonly values = new Map<string, Signal<unknown>>();
  private readonly sent = signal(0);
  private readonly pending = signal<readonly Pending[]>([]);
  private readonly lost = signal(false);
  private readonly silent = signal(false);
  private readonly newest = computed(
    () => this.read<Frame["acknowledged"] | undefined>("frame.acknowledged")?.[this.client] ?? 0,
  );
  private readonly started = computed(() => this.read("frame.revision") !== undefined);
  private readonly edited = computed(() => {
    const onTheirWay = this.pending.value.filter((each) => each.number > this.newest.value);
    return onTheirWay.reduce((before, each) => applied(before, each.command), this.read<ShownSettings>("settings"));
  });
  private readonly run = computed(() => runOf(this.read("part_run"), this.lost.value));
  private readonly state: Snapshot;
  private readonly listeners = new Set<() => void>();
  private readonly messages = new Set<Hearing>();
  private readonly farewells = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly liveness = (): void => void this.send({ kind: "hello" });
  private readonly kernel: Kernel | null;
  /** A kernel that was shut down answers nothing and says nothing: its page knows. */
  private readonly kernelChanged = (): void => {
    if (this.lost.peek() || !ENDED.includes(this.kernel?.status ?? "")) return;
    this.lost.value = true;
    this.tell();
  };
  private readonly kernelDisposed = (): void => {
    this.lost.value = true;
    this.tell();
  };
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
    this.arrayValues = (model.get("array_values") as ArrayValues | null | undefined) ?? null;
    this.state = this.stateOfTraits();
    model.on("change:frame", this.changed);
    model.on("msg:custom", this.received);
    this.kernel = model.widget_manager?.kernel ?? null;
    this.kernel?.statusChanged.connect(this.kernelChanged);
    this.kernel?.disposed.connect(this.kernelDisposed);
    model.on("comm_live_update", this.liveness); // it does not say which way it changed: asking tells
  }

  /** The state; null before the first. It is always the same object: what is read of it is the newest. */
  get snapshot(): Snapshot | null {
    return this.started.value ? this.state : null;
  }

  /** The settings of the state with the commands that it does not have yet; only where there is a state. */
  get settings(): ShownSettings {
    if (!this.started.value) throw new Error("there are no settings before the first state");
    return this.edited.value;
  }

  /** The newest command of this view that the state includes. */
  get acknowledged(): number {
    return this.newest.value;
  }

  /** Whether the kernel that this view belongs to is no more: it was restarted or shut down. */
  get gone(): boolean {
    return this.lost.value;
  }

  /** Whether commands of this view are on their way. */
  get waiting(): boolean {
    return !this.offline && this.sent.value > this.newest.value;
  }

  /** Whether the kernel has not answered for a while. */
  get unanswered(): boolean {
    return this.silent.value && this.waiting;
  }

  /** What the button *Check* has led to; null where there is none, as on a page without a kernel. */
  get checked(): ShownVerdict | null {
    return this.offline ? null : (this.read<ShownVerdict | null | undefined>("checked") ?? null);
  }

  /** The layout that Python set beside the one that is edited; "" where there is none. */
  get beside(): string {
    return this.read<string | undefined>("beside_text") ?? "";
  }

  /** Whether nothing on the screen may say where entries lie in memory. */
  get quiet(): boolean {
    return this.read("quiet") === true;
  }

  /** Whether something that was done here is not in the state yet. */
  get isAhead(): boolean {
    return this.edited.value !== this.read("settings");
  }

  /** Whether the tour begins by itself. */
  get isNewcomer(): boolean {
    return this.read("tour") === true;
  }

  /** The tour was ended: it never begins by itself again. */
  endTour(): void {
    if (!this.isNewcomer) return;
    this.model.set?.("tour", false);
    this.model.save_changes?.();
    this.arrived();
  }

  /** Sends a command and returns its number. */
  send(command: Command): number {
    const number = this.sent.peek() + 1;
    batch(() => {
      this.sent.value = number;
      try {
        this.model.send({ ...command, client: this.client, number });
        if (!this.offline) this.pending.value = [...this.pending.peek(), { number, command }];
      } catch {
        this.lost.value = true;
      }
    });
    if (this.offline) return number;
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
    this.kernel?.statusChanged.disconnect(this.kernelChanged);
    this.kernel?.disposed.disconnect(this.kernelDisposed);
    this.listeners.clear();
    this.messages.clear();
  }

  /** The state: its members are the traits, those of `frame` each for itself, and those of `panes` the parts of all panes. */
  private stateOfTraits(): Snapshot {
    const members = <Value extends object>(read: (name: string) => unknown): Value =>
      new Proxy({} as Value, { get: (_, name) => (typeof name === "string" ? read(name) : undefined) });
    const frame = members<Frame>((name) => this.read(`frame.${name}`));
    const panes = members<Panes>((name) => (name === "run" ? this.run.value : (this.read(`part_${name}`) ?? null)));
    return members<Snapshot>((name) => (name === "frame" ? frame : name === "panes" ? panes : this.read(name)));
  }

  /** A trait, or a member of one such as `frame.settled`. What reads it notices when it changes. */
  private read<Value>(name: string): Value {
    let known = this.values.get(name);
    if (known === undefined) this.values.set(name, (known = signal(this.valueOf(name))));
    return known.value as Value;
  }

  private valueOf(name: string): unknown {
    const [trait = "", member] = name.split(".");
    const value = this.model.get(trait);
    return member === undefined ? value : (value as Record<string, unknown> | null | undefined)?.[member];
  }

  private arrived(): void {
    batch(() => {
      for (const [name, known] of this.values) known.value = this.valueOf(name);
      const newest = this.newest.value;
      if (this.pending.peek().some((each) => each.number <= newest))
        this.pending.value = this.pending.peek().filter((each) => each.number > newest);
      if (!this.waiting) this.silent.value = false;
    });
    if (!this.waiting) {
      clearTimeout(this.timer);
      this.timer = undefined;
    }
    this.tell();
  }

  private expired(): void {
    this.timer = undefined;
    this.silent.value = true;
    this.tell();
  }

  private tell(): void {
    for (const listener of [...this.listeners]) listener();
  }
}

/** The runs. One that was under way when the kernel went has ended with it: nobody else will say so. */
function runOf(part: RunPart, gone: boolean): RunPart {
  if (!gone || (part.now.phase !== "running" && part.now.phase !== "cancelling")) return part;
  return { ...part, now: { ...part.now, phase: "failed", error: "It ended with its kernel, unfinished.", isOfPlan: true } };
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
