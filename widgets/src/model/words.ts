// Words for the transfer and its path: what a title says, what a stop shows of its layout, what is selected of a plan.
import { type Part, parse } from "#model/layouts/notation.ts";
import type {
  MenuEntry,
  PlanPart,
  ShownHop,
  ShownMachineChoice,
  ShownPath,
  ShownSelection,
  ShownSettings,
  ShownStop,
} from "./types.ts";
import { formatBytes, formatSeconds, parseCount } from "./units.ts";

/** A hop of a plan with its number; with several paths, numbers go on from path to path. */
export interface PlacedHop {
  number: number;
  hop: ShownHop;
  path: ShownPath;
}

/** A stop of a plan with its number; with several paths, numbers go on from path to path. */
export interface PlacedStop {
  number: number;
  /** Its place on its path, from 0. */
  place: number;
  stop: ShownStop;
  path: ShownPath;
}

export function hopsOf(plan: PlanPart): PlacedHop[] {
  return plan.paths.flatMap((path) => path.hops.map((hop) => ({ hop, path }))).map((each, number) => ({ ...each, number }));
}

/** The seconds of a start in the mean of `reuse`, the first of which takes `first` and every later one `again`. */
export function meanOf(first: number, again: number, reuse: number): number {
  return again + (first - again) / reuse;
}

export function stopsOf(plan: PlanPart): PlacedStop[] {
  return plan.paths
    .flatMap((path) => path.stops.map((stop, place) => ({ stop, place, path })))
    .map((each, number) => ({ ...each, number }));
}

/** Where a stop is, and whether main memory stands in for its memory. */
export const whereOf = (stop: Pick<ShownStop, "where" | "emulated">): string =>
  stop.emulated ? `${stop.where}, emulated` : stop.where;

/** What the inspector is about: the selected stop or hop where the plan has it, else the slowest hop. */
export function inspected(plan: PlanPart, selection: ShownSelection): { stop: PlacedStop } | { hop: PlacedHop } | null {
  const stop = selection.stop === null ? undefined : stopsOf(plan)[selection.stop];
  if (stop !== undefined) return { stop };
  const hops = hopsOf(plan);
  const hop = (selection.hop === null ? undefined : hops[selection.hop]) ?? slowest(hops);
  return hop === undefined ? null : { hop };
}

function slowest(hops: readonly PlacedHop[]): PlacedHop | undefined {
  return hops.find(({ hop }) => hop.bottleneck) ?? hops[0];
}

const LOW = ["₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉"];

/** A layout in a few characters: `<F, x_in=256, y_in=128, y_out, x_out>` → "F x₂₅₆ y₁₂₈ …". */
export function shortLayout(text: string): string {
  const { parts } = parse(text);
  if (parts === null) return text;
  const words = parts.map(shortPart);
  let end = words.length;
  while (end > 0 && words[end - 1]?.endsWith("…")) end -= 1;
  return end === words.length ? words.join(" ") : [...words.slice(0, end), "…"].join(" ");
}

function shortPart(part: Part): string {
  if (part === "F") return "F";
  if (part.label === "") return part.dim;
  return part.extent === null ? `${part.dim}…` : part.dim + [...String(part.extent)].map((digit) => LOW[Number(digit)]).join("");
}

/** The transfer in words: "Transpose 8,192 × 8,192 complex128". */
export function titleOf(settings: Pick<ShownSettings, "dimensions" | "fields" | "source" | "destination">): string {
  const sizes = settings.dimensions.map((row) => grouped(row.value));
  const [only] = settings.fields;
  const verb = verbOf(settings.source.layout, settings.destination.layout);
  const what = settings.fields.length === 1 && only !== undefined ? ` ${only.value}` : ` of ${settings.fields.length} fields`;
  // Where the fields are what it is about, their number is not told once more: the title has one short line.
  return `${verb} ${sizes.join(" × ")}${verb.endsWith(":") ? "" : what}`;
}

/** A whole number in groups of three digits, of any length; other text as it is. */
const grouped = (text: string): string =>
  parseCount(text)
    ?.toString()
    .replace(/\B(?=(\d{3})+$)/g, ",") ??
  (text.trim() || "?");

const setOf = (parts: readonly Part[]): string =>
  [...new Set(parts.map((part) => (part === "F" ? part : part.dim)))].sort().join();

function verbOf(source: string, destination: string): string {
  const [from, to] = [parse(source).parts, parse(destination).parts];
  if (from === null || to === null) return "Move";
  const names = (parts: readonly Part[]): string[] => parts.map(shortPart);
  const isSplit = (parts: readonly Part[]): boolean => parts.some((part) => part !== "F" && part.label !== "");
  const dims = (parts: readonly Part[]): string => names(parts.filter((part) => part !== "F")).join();
  if (names(from).join() === names(to).join()) return "Copy";
  if (setOf(from) !== setOf(to)) return "Move"; // one of them names a dimension that the other does not have
  if (isSplit(to)) return isSplit(from) ? "Reblock" : "Block";
  if (isSplit(from)) return "Unblock";
  if (dims(from) === dims(to)) {
    if (from[0] === "F" && to.at(-1) === "F") return "Structs to fields:";
    if (to[0] === "F" && from.at(-1) === "F") return "Fields to structs:";
    return "Reorder fields of";
  }
  return from.length === 3 ? "Transpose" : "Permute";
}

/** A memory in words with its name: "GPU memory · node0.fbm0". */
export function memoryTitle(entry: MenuEntry): string {
  return entry.title !== entry.name || entry.about === "" ? entry.title : `${entry.about} · ${entry.name}`;
}

/** A run in words: in the mean of all, it need not be a whole number of bytes. */
export function runText(run: number): string {
  const whole = Math.max(1, Math.round(run));
  return `${Math.abs(whole - run) > 1e-3 * run ? "about " : ""}${formatBytes(whole)} runs`;
}

/** What kind of memory that is, in words; its name where nobody knows. */
export function memoryWords(memories: readonly MenuEntry[], name: string): string {
  const entry = memories.find((each) => each.name === name);
  return entry === undefined || entry.about === "" ? (entry?.title ?? name) : entry.about;
}

/** What a machine is called: the one that was measured is this computer, whatever its preset is named. */
export function machineWords(machine: ShownMachineChoice): string {
  return machine.kind === "measured" ? "this computer" : machine.name;
}

/** Where a memory is beside its node: "node 0 · fbm0" → "fbm0". */
export function within(where: string): string {
  return where.split(" · ").slice(1).join(" · ");
}

/** The range of a predicted time; where earlier runs erred so much that the prediction lies outside of it, that is said. */
export function intervalText(seconds: number, { low, high }: { low: number; high: number }): string {
  const range = formatInterval(low, high);
  return seconds < low || seconds > high ? `likely ${range}` : range;
}

/** What the range means, and what it is known from. */
export function intervalAbout(seconds: number, { low, high, origin }: { low: number; high: number; origin: string }): string {
  const range = `Nine runs in ten should fall in this range, judging ${origin}.`;
  if (seconds >= low && seconds <= high) return range;
  return `${range} The prediction lies outside of it: earlier runs took ${seconds < low ? "longer" : "less time"} than predicted. Run it, and the trial corrects the prediction.`;
}

/** Two durations with their unit once where they share it: "340 – 380 ms". */
export function formatInterval(low: number, high: number): string {
  const [first = "", unit] = formatSeconds(low).split(" ");
  const last = formatSeconds(high);
  return last.endsWith(` ${unit}`) ? `${first} – ${last}` : `${first} ${unit} – ${last}`;
}

/** Points in time to the minute: "measured 2026-11-23T21:40:57+00:00" → "measured 2026-11-23 21:40 UTC". */
export function plainTimes(text: string): string {
  return text.replace(/(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?(?:\+00:00|Z)/g, "$1 $2 UTC");
}
