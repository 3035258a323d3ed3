// A model without a kernel: the state of a saved page, and the answers that are embedded in it.
import type { Model } from "#model/types.ts";

/** What is said where a page does not hold an answer. */
export const NO_KERNEL = "This is a saved page. It has no kernel that could answer.";

interface Answer {
  message: Record<string, unknown>;
  buffers: string[];
}

/** What an answer is looked up by: the members of its command in the order of their names (`command_key` of the kernel half). */
export function commandKey(command: Record<string, unknown>): string {
  const own = Object.entries(command).filter(([name]) => name !== "client" && name !== "number");
  return JSON.stringify(own.sort(([a], [b]) => (a < b ? -1 : 1)));
}

export class StaticModel implements Model {
  private readonly callbacks = new Map<string, Set<(...values: never[]) => void>>();
  private answers: Promise<Record<string, Answer>> | null = null;

  constructor(
    private readonly traits: Record<string, unknown>,
    /** Unpacks the embedded data of that name. */
    private readonly bytes: (name: string) => Promise<ArrayBuffer>,
  ) {}

  get(name: string): unknown {
    return name === "offline" ? true : this.traits[name];
  }

  on(event: string, callback: (...values: never[]) => void): void {
    const found = this.callbacks.get(event) ?? new Set();
    this.callbacks.set(event, found.add(callback));
  }

  off(event: string, callback: (...values: never[]) => void): void {
    this.callbacks.get(event)?.delete(callback);
  }

  /** Answers a command from what is embedded. Commands that would change something change nothing. */
  send(content: unknown): void {
    void this.answer(content as Record<string, unknown>);
  }

  private async answer(command: Record<string, unknown>): Promise<void> {
    this.answers ??= this.bytes("answers").then((found) => JSON.parse(new TextDecoder().decode(found)) as Record<string, Answer>);
    const { kind, number } = command;
    let told: [unknown, DataView[]] = [{ kind, number, error: NO_KERNEL }, []];
    try {
      const found = (await this.answers)[commandKey(command)];
      if (found !== undefined) {
        const buffers = await Promise.all(found.buffers.map((name) => this.bytes(name)));
        told = [{ ...found.message, number }, buffers.map((buffer) => new DataView(buffer))];
      }
    } catch (error) {
      told = [{ kind, number, error: `The data of this page cannot be read: ${String(error)}` }, []];
    }
    for (const callback of [...(this.callbacks.get("msg:custom") ?? [])]) (callback as (...values: unknown[]) => void)(...told);
  }
}
