// A stand-in for the anywidget model: what the view sends is kept, what the kernel says is set by the test.
import type { Command, Model, Snapshot } from "../src/types.ts";
import example from "./snapshot.json";

/** A command as it goes to the kernel. */
export type Sent = { kind: Command["kind"]; client: string; number: number } & Record<string, unknown>;

export class FakeModel implements Model {
  readonly sent: Sent[] = [];
  private readonly callbacks = new Map<string, Set<(...values: never[]) => void>>();
  private readonly values: Record<string, unknown>;

  constructor(snapshot: Snapshot | null, pictures: Record<string, string> = {}, pane = "explorer") {
    this.values = { snapshot: snapshot ?? {}, pictures, pane, static_picture: "0a" };
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
  /** Whether the kernel is no more: sending throws, as it does in JupyterLab. */
  dead = false;
  disconnect(): void {
    for (const callback of this.callbacks.get("comm_live_update") ?? []) (callback as () => void)();
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
    const next = structuredClone(this.values["snapshot"]) as Snapshot;
    next.revision += 1;
    const last = this.sent.at(-1);
    if (last !== undefined) next.acknowledged = { [last.client]: Math.min(last.number, upTo) };
    change(next);
    this.values["snapshot"] = next;
    for (const callback of this.callbacks.get("change:snapshot") ?? []) (callback as () => void)();
  }
  say(content: Record<string, unknown>, buffers: DataView[] = []): void {
    for (const callback of this.callbacks.get("msg:custom") ?? [])
      (callback as (content: unknown, buffers: unknown) => void)(content, buffers);
  }
}

/** A snapshot that the kernel half really made (tests/unit/widgets/test_contract.py keeps it true). */
export function aSnapshot(change: (snapshot: Snapshot) => void = () => undefined): Snapshot {
  const copy = structuredClone(example) as unknown as Snapshot;
  change(copy);
  return copy;
}
