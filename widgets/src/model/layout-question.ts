// What is asked of Find a layout: changes of the question, and its uses in words.
import type { ShownLayoutQuestion, ShownSettings, ShownTypedUse } from "./types.ts";

/** The question with another text of one of its further uses. */
export function withUse(question: ShownLayoutQuestion, place: number, change: Partial<ShownTypedUse>): ShownLayoutQuestion {
  return { ...question, uses: question.uses.map((use, at) => (at === place ? { ...use, ...change } : use)) };
}

/** The question with a use of another kind: a copy needs a layout, an access along a dimension needs its name. */
export function withKind(
  question: ShownLayoutQuestion,
  place: number,
  kind: ShownTypedUse["kind"],
  settings: ShownSettings,
): ShownLayoutQuestion {
  const use = question.uses[place];
  if (use === undefined || use.kind === kind) return question;
  if (kind === "along") return withUse(question, place, { kind, memory: "", what: settings.dimensions.at(-1)?.name ?? "" });
  const own = settings[question.side];
  const what = use.kind === "along" ? own.layout : use.what;
  return withUse(question, place, { kind, memory: use.memory === "" ? own.memory : use.memory, what });
}

/** The question with one more use: the array is read along the dimension that is the slowest of those that nothing reads along. */
export function withMoreUse(question: ShownLayoutQuestion, settings: ShownSettings): ShownLayoutQuestion {
  const taken = question.uses.filter((use) => use.kind === "along").map((use) => use.what);
  const names = settings.dimensions.map((row) => row.name).reverse();
  const what = names.find((name) => !taken.includes(name)) ?? names[0] ?? "";
  return { ...question, uses: [...question.uses, { kind: "along", memory: "", what, weight: "1" }] };
}

/** The uses in a few words, the transfer itself first. */
export function useNames(question: ShownLayoutQuestion): string[] {
  const first = question.side === "destination" ? "arrives" : "leaves";
  return [first, ...question.uses.map(({ kind, memory, what }) => (kind === "along" ? `along ${what}` : `${kind} ${memory}`))];
}

/** How much less one time is than another, such as "2.4 times as fast" or "3 % less time"; "" where both are about equal. */
export function gainWords(now: number, best: number): string {
  if (!(best > 0) || now <= best * 1.001) return "";
  return now >= best * 1.5
    ? `${(now / best).toPrecision(2)} times as fast`
    : `${((1 - best / now) * 100).toPrecision(2)} % less time`;
}

/** A layout for people: `<F, x>` → "⟨F, x⟩". */
export function prettyLayout(text: string): string {
  return text.replace("<", "⟨").replace(">", "⟩");
}
