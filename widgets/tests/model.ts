// A stand-in for the anywidget model: what the view sends is kept, what the kernel says is set by the test.
import type { Command, Model, Snapshot } from "#model/types.ts";
import example from "./snapshot.json";

/** A command as it goes to the kernel. */
export type Sent = { kind: Command["kind"]; client: string; number: number } & Record<string, unknown>;

/** The traits of a state, by name. */
export function traitsOf(snapshot: Snapshot): Record<string, unknown> {
  const { panes, ...concerns } = snapshot;
  return { ...concerns, ...Object.fromEntries(Object.entries(panes).map(([name, part]) => [`part_${name}`, part])) };
}

export class FakeModel implements Model {
  readonly sent: Sent[] = [];
  /** Whether the kernel is no more: sending throws, as it does in JupyterLab. */
  dead = false;
  private readonly callbacks = new Map<string, Set<(...values: never[]) => void>>();
  private readonly values: Record<string, unknown>;

  constructor(
    private state: Snapshot | null,
    pane = "explorer",
    side = "both",
  ) {
    this.values = { ...(state === null ? { frame: {} } : traitsOf(state)), pane, side, static_picture: "0a" };
  }
  get(name: string): unknown {
    return this.values[name];
  }
  on(event: string, callback: (...values: never[]) => void): void {
    const found = this.callbacks.get(event) ?? new Set();
    this.callbacks.set(event, found.add(callback));
  }
  off(event: string, callback: (...values: never[]) => void): void {
    this.callbacks.get(event)?.delete(callback);
  }
  disconnect(): void {
    for (const callback of this.callbacks.get("comm_live_update") ?? []) (callback as () => void)();
  }
  set(name: string, value: unknown): void {
    this.values[name] = value;
  }
  send(content: unknown): void {
    if (this.dead) throw new Error("Cannot send");
    this.sent.push(content as Sent);
  }
  get listeners(): number {
    return [...this.callbacks.values()].reduce((sum, found) => sum + found.size, 0);
  }
  /** The kernel publishes; it acknowledges everything sent so far, or up to a number. */
  publish(change: (snapshot: Snapshot) => void, upTo = Infinity): void {
    if (this.state === null) throw new Error("there is no state to change");
    const next = structuredClone(this.state);
    next.frame.revision += 1;
    for (const sent of this.sent) {
      const before = next.frame.acknowledged[sent.client] ?? 0;
      if (sent.number <= upTo) next.frame.acknowledged[sent.client] = Math.max(before, sent.number);
    }
    change(next);
    this.state = next;
    for (const [name, value] of Object.entries(traitsOf(next)))
      if (JSON.stringify(value) !== JSON.stringify(this.values[name])) this.values[name] = value; // no other is sent
    for (const callback of [...(this.callbacks.get("change:frame") ?? [])]) (callback as () => void)();
  }
  say(content: Record<string, unknown>, buffers: readonly DataView[] = []): void {
    for (const callback of [...(this.callbacks.get("msg:custom") ?? [])])
      (callback as (content: unknown, buffers: readonly DataView[]) => void)(content, buffers);
  }
}

/** A state that the kernel half really made (tests/unit/widgets/test_contract.py keeps it true). */
export function aSnapshot(change: (snapshot: Snapshot) => void = () => undefined): Snapshot {
  const copy = structuredClone(example) as unknown as Snapshot;
  change(copy);
  return copy;
}
