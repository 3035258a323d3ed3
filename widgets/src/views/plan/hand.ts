// A path by hand: what the controls make of it. Pure functions.
import type { ByName } from "#model/by-name.ts";
import { type Component, layoutText, type Part, parse } from "#model/layouts/notation.ts";
import type { PlanPart, ShownByHand, ShownPath } from "#model/types.ts";

/** The plan as it is, by hand: its channels, the layouts of its buffers and its chunk; of several paths also their shares. */
export function fromPlan(plan: PlanPart): ShownByHand | null {
  const [path, another] = plan.paths;
  if (path === undefined) return null;
  if (another !== undefined)
    return {
      path: [],
      layouts: [],
      chunk: "",
      target: null,
      paths: plan.paths.map((each) => ({ share: each.share, ...asGiven(each) })),
      name: "",
    };
  return { ...asGiven(path), target: null, paths: [], name: "" };
}

const asGiven = (path: ShownPath): Pick<ShownByHand, "path" | "layouts" | "chunk"> => ({
  path: path.hops.map((hop) => hop.channel),
  layouts: path.stops.slice(1, -1).map((stop) => stop.layout),
  chunk: path.stops.length > 2 ? `${Math.round(path.chunkBytes)}` : "",
});

/** The number of the hop on its path that converts, or else of the one that changes the layout with the shortest runs; -1 for none. */
export function convertingHop(path: ShownPath): number {
  const turns = path.hops.find((hop) => hop.order === "converts") ?? path.hops.find((hop) => hop.converts);
  return turns?.index ?? -1;
}

/** The path with one hop more; the buffer before it has the layout of the one before, or else of the source. */
export function withHop(hand: ShownByHand, channel: string, source: string): ShownByHand {
  const path = [...hand.path, channel];
  const layouts =
    path.length > 1
      ? [...hand.layouts.slice(0, path.length - 2), hand.layouts[path.length - 2] ?? hand.layouts.at(-1) ?? source]
      : [];
  return { ...hand, path, layouts };
}

/** The path without its last hop. */
export function withoutHop(hand: ShownByHand): ShownByHand {
  const path = hand.path.slice(0, -1);
  return { ...hand, path, layouts: hand.layouts.slice(0, Math.max(0, path.length - 1)) };
}

/** A digit of the buffers with a block that can be moved: its name, its block, and the largest one. */
export interface HandBlock {
  name: string;
  dim: string;
  rank: number;
  block: number;
  most: number;
}

const digitsOf = (parts: readonly Part[]): Component[] => parts.filter((part): part is Component => part !== "F");

/** The blocks of the buffers: each digit once, with the block that it has in the first buffer that has it. */
export function blocksOf(layouts: readonly string[], sizes: ByName<number>): HandBlock[] {
  const found = new Map<string, HandBlock>();
  for (const text of layouts) {
    const { parts } = parse(text);
    for (const part of digitsOf(parts ?? [])) {
      if (part.extent === null || found.has(`${part.dim}_${part.label}`)) continue;
      const below = digitsOf(parts ?? []).filter((each) => each.dim === part.dim && each.extent !== null && each !== part);
      const most = Math.max(1, Math.floor((sizes.get(part.dim) ?? 1) / below.reduce((all, each) => all * (each.extent ?? 1), 1)));
      found.set(`${part.dim}_${part.label}`, {
        name: `${part.dim}_${part.label}`,
        dim: part.dim,
        rank: part.rank,
        block: part.extent,
        most,
      });
    }
  }
  return [...found.values()];
}

/** Layouts with other blocks of digits, by their names, wherever they have these digits. */
export function withBlocks(layouts: readonly string[], blocks: ByName<number>): string[] {
  return layouts.map((text) => {
    const { parts } = parse(text);
    if (parts === null) return text;
    return layoutText(
      parts.map((part) => {
        const block = part === "F" || part.extent === null ? undefined : blocks.get(`${part.dim}_${part.label}`);
        return block === undefined || part === "F" ? part : { ...part, extent: block };
      }),
    );
  });
}

/** Sizes worth stopping at: powers of two with the halves between them, and the largest. */
export function blockStops(most: number, own: number): number[] {
  const found = new Set<number>([most, own]);
  for (let power = 1; power <= most; power *= 2) {
    found.add(power);
    if (power >= 4 && power * 1.5 <= most) found.add(power * 1.5);
  }
  return [...found].sort((one, other) => one - other);
}

/** Sizes of chunks to stop at: powers of two from 512 bytes up to `most`. */
export function chunkStops(most: number, own: number): number[] {
  const found = new Set<number>([own]);
  for (let size = 512; size <= most; size *= 2) found.add(size);
  return [...found].sort((one, other) => one - other);
}
