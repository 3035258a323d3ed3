// The paths of a plan as tracks: what each carries, through which proxies, over which links; and how much every link carries.
import type { NetworkPart, PlanPart, ShownLeg, ShownLink, ShownPath, ShownSelection } from "./types.ts";

/** Colours of the style sheet for tracks (`--iv-track-0` and so on), in turn. */
const COLOURS = 9;

/** A hop of a track; `leg` has its links where it goes over a network. */
export interface TrackHop {
  /** Counts the hops of all paths. */
  readonly number: number;
  readonly source: string;
  readonly destination: string;
  readonly leg: ShownLeg | null;
}

export interface Track {
  /** From 0, as the paths of the plan. */
  readonly number: number;
  readonly path: ShownPath;
  /** The memories between source and destination. */
  readonly proxies: readonly string[];
  readonly hops: readonly TrackHop[];
  /** The number of its first stop and of its first hop among those of all paths. */
  readonly firstStop: number;
  readonly firstHop: number;
  /** The links that it takes, on all networks. */
  readonly links: number;
}

export const trackColour = (number: number): string => `--iv-track-${number % COLOURS}`;

export function tracksOf(plan: Pick<PlanPart, "paths">, network: Pick<NetworkPart, "legs"> | null): Track[] {
  const legs = new Map((network?.legs ?? []).map((leg) => [leg.hop, leg]));
  let [firstStop, firstHop] = [0, 0];
  return plan.paths.map((path, number) => {
    const hops = path.hops.map((hop, place) => ({
      number: firstHop + place,
      source: hop.source,
      destination: hop.destination,
      leg: legs.get(firstHop + place) ?? null,
    }));
    const track: Track = {
      number,
      path,
      proxies: path.stops.slice(1, -1).map(({ memory }) => memory),
      hops,
      firstStop,
      firstHop,
      links: hops.reduce((count, { leg }) => count + (leg?.links.length ?? 0), 0),
    };
    firstStop += path.stops.length;
    firstHop += path.hops.length;
    return track;
  });
}

/** The track of the selected stop or hop; null where none is selected. */
export function selectedTrack(tracks: readonly Track[], { stop, hop }: Pick<ShownSelection, "stop" | "hop">): Track | null {
  const found = tracks.find(({ firstStop, firstHop, path }) =>
    stop !== null
      ? stop >= firstStop && stop < firstStop + path.stops.length
      : hop !== null && hop >= firstHop && hop < firstHop + path.hops.length,
  );
  return found ?? null;
}

/** The hop that stands for a track where it is selected as a whole: its slowest one. */
export function hopOfTrack({ firstHop, path }: Pick<Track, "firstHop" | "path">): number {
  return (
    firstHop +
    Math.max(
      0,
      path.hops.findIndex(({ bottleneck }) => bottleneck),
    )
  );
}

/** A link with the share of what it can carry that it carries, from 0 to 1. */
export interface Load {
  readonly network: number;
  readonly link: ShownLink;
  /** The hop that it is drawn for: a link of a memory begins or ends where the hop does. */
  readonly hop: TrackHop;
  readonly share: number;
}

/** How full the links are that the plan uses, where hop n moves `rateOf(n)` bytes per second. */
export function loadsOf(tracks: readonly Track[], rateOf: (hop: number) => number): Load[] {
  const loads = new Map<string, { network: number; link: ShownLink; hop: TrackHop; share: number }>();
  for (const { hops } of tracks)
    for (const hop of hops)
      for (const link of hop.leg?.links ?? []) {
        const more = rateOf(hop.number) / link.capacity;
        const known = loads.get(link.name);
        if (known === undefined) loads.set(link.name, { network: hop.leg?.network ?? 0, link, hop, share: more });
        else known.share += more;
      }
  return [...loads.values()].map((load) => ({ ...load, share: Math.min(1, load.share) }));
}

/** "3 proxies" or "no proxy". */
export const proxyWords = (count: number): string => (count === 0 ? "direct" : count === 1 ? "1 proxy" : `${count} proxies`);
