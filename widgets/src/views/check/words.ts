// What has something judged, and what a verdict is called: pure functions.
import type { AskVerdict, ShownEntry, ShownSettings, ShownVerdict } from "#model/types.ts";

/** The command that has what is on screen judged: it carries all of it. */
export function askVerdict(settings: ShownSettings, entry: ShownEntry | null): AskVerdict {
  const { dimensions, fields, source, destination, byHand } = settings;
  return { kind: "check", dimensions, fields, source: source.layout, destination: destination.layout, byHand, entry };
}

const NAMES: Readonly<Record<ShownVerdict["kind"], string>> = {
  right: "Right",
  wrong: "Not yet",
  unread: "Not counted",
  open: "",
};

/** The name of a kind of verdict; "" where the text says it, or where there is none. */
export function verdictName({ kind, text }: Pick<ShownVerdict, "kind" | "text">): string {
  const name = NAMES[kind];
  return text.toLowerCase().includes(name.toLowerCase()) ? "" : name;
}
