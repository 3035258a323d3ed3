// The sentence that leads: how long the transfer takes, what sets the pace, and where the order turns. Words that lead to what they
// name are links.
import { parse } from "./layouts/notation.ts";
import { measuredOf } from "./measured.ts";
import type { PlanPart, ShownPath, ShownSettings, Snapshot } from "./types.ts";
import { counted, formatBytes, formatRate, formatSeconds } from "./units.ts";
import { hopsOf, type PlacedHop } from "./words.ts";

/** What a link leads to: a hop by its number in the plan, or a tab of the dock. */
export type Aim = { readonly hop: number } | { readonly tab: "timeline" | "run" };

export interface Link {
  readonly text: string;
  readonly aim: Aim;
  /** What it is, for those who look for it. */
  readonly name: string;
}

export type Piece = string | Link;

type Phrase = readonly Piece[];

/** The parts of the sentence; between them stands a dot. */
export function leadingPhrases(
  plan: PlanPart,
  snapshot: Snapshot,
  settings: Pick<ShownSettings, "beside" | "name" | "byHand">,
): Phrase[] {
  const hand = plan.planner === "by hand";
  const named = (hand && settings.byHand?.name) || "";
  const of = settings.beside.length > 0 ? `${settings.name} alone: ` : named === "" ? "" : `${named}: `;
  const time = [of, ...timePhrase(plan, snapshot), hand && named === "" ? " by hand" : ""];
  const [pace, turn] = [pacePhrase(plan), turnPhrase(plan)];
  if (pace.length === 0) return [time, turn];
  // One colon in a sentence.
  const more = time.some((piece) => typeof piece === "string" && /[:,]/.test(piece));
  return more ? [time, pace, turn] : [[...time, ": ", ...pace], turn];
}

const toTimeline = (text: string, name: string): Link => ({ text, name, aim: { tab: "timeline" } });

function timePhrase(plan: PlanPart, snapshot: Snapshot): Phrase {
  const size = formatBytes(plan.bytes);
  const time = toTimeline(formatSeconds(plan.seconds), "figure-seconds");
  const measured = measuredOf(snapshot);
  // What main memory measured in the place of other hardware does not stand beside the plan for that hardware.
  if (measured !== null && !measured.emulated) {
    const tried = measured.tried === null ? "" : `, ${formatSeconds(measured.tried)} after the trial`;
    const link: Link = { text: formatSeconds(measured.seconds), name: "figure-measured", aim: { tab: "run" } };
    return [`${size}: planned `, time, `${tried}, measured `, link];
  }
  const again: Phrase = plan.reuse > 1 ? [", then ", toTimeline(formatSeconds(plan.again), "figure-again"), " each time"] : [];
  return [`${size} in `, time, ...again];
}

function pacePhrase(plan: PlanPart): Phrase {
  const hops = hopsOf(plan);
  const [path] = plan.paths;
  if (path === undefined || hops.length === 0) return [];
  if (plan.paths.length > 1) {
    const slowest = Math.max(
      0,
      hops.findIndex((each) => each.hop.bottleneck),
    );
    const paths: Link = { text: `${plan.paths.length} paths`, name: "leading-pace", aim: { hop: slowest } };
    return [paths, ` carry ${formatRate(plan.throughput)} together`];
  }
  const { pace } = path;
  const setting = hops.filter(({ hop }) => pace.hops.includes(hop.index));
  const rate = formatRate(pace.rate);
  if (pace.words !== "" && setting.length > 1)
    return [...listed(setting), ` ${pace.takesTurns ? "take turns" : "slow each other down"}, together ${rate}`];
  const slow = distinct(setting);
  const [first] = slow;
  if (first === undefined) return [];
  const [one, many] = setsThePace(plan, path) ? [" sets the pace at ", " set the pace at "] : [" is slowest, ", " are slowest, "];
  if (slow.length > 2)
    return [{ text: `${slow.length} hops`, name: "leading-pace", aim: { hop: first.number } }, `${many}${rate}`];
  return [...listed(slow), `${slow.length === 1 ? one : many}${rate}`];
}

/** Whether the slowest hop is at work for most of the time: a few chunks, or latencies, take longer than its bytes. */
const setsThePace = (plan: PlanPart, path: ShownPath): boolean =>
  path.chunks > 1 && plan.throughput > 0 && plan.bytes / plan.throughput >= plan.seconds / 2;

/** The first hop of each kind. */
function distinct(hops: readonly PlacedHop[]): PlacedHop[] {
  return hops.filter(({ hop }, place) => hops.findIndex((other) => other.hop.words === hop.words) === place);
}

const hopLink = ({ number, hop }: PlacedHop, name: string): Link => ({ text: hop.words, name, aim: { hop: number } });

/** "the file read and the memory copy" */
function listed(hops: readonly PlacedHop[]): Phrase {
  return hops.flatMap((hop, place) => {
    const before = place === 0 ? "the " : place === hops.length - 1 ? " and the " : ", the ";
    return [before, hopLink(hop, place === 0 ? "leading-pace" : `leading-pace-${place}`)];
  });
}

function turnPhrase(plan: PlanPart): Phrase {
  const hops = hopsOf(plan);
  const turning = distinct(hops.filter(({ hop }) => hop.order === "converts"));
  const [first] = turning;
  if (first === undefined) {
    const [moving] = hops.filter(({ hop }) => hop.order === "reorders blocks");
    return moving === undefined ? ["nothing turns"] : ["blocks reordered ", ...placeWords(moving)];
  }
  const verb = turns(first) ? "turned " : "converted ";
  if (turning.length > 2)
    return [verb, "at ", { text: counted(turning.length, "hop"), name: "leading-turn", aim: { hop: first.number } }];
  return [verb, ...turning.flatMap((each, place) => [place === 0 ? "" : " and ", ...placeWords(each)])];
}

/** Where a hop works: "in main memory", "on the network", "by the GPU read". */
function placeWords(placed: PlacedHop): Phrase {
  const { hop, number } = placed;
  const link = (text: string): Link => ({ text, name: "leading-turn", aim: { hop: number } });
  if (hop.words === "memory copy") return ["in ", link("main memory")];
  if (hop.words === "GPU copy") return ["on the ", link("GPU")];
  return [hop.words === "network" ? "on the " : "by the ", link(hop.words)];
}

/** Whether dimensions change places at a hop, and not only fields. */
function turns({ hop }: PlacedHop): boolean {
  const order = (layout: string): string =>
    [...new Set((parse(layout).parts ?? []).flatMap((part) => (part === "F" ? [] : [part.dim])))].join();
  return order(hop.sourceLayout) !== order(hop.destinationLayout);
}
