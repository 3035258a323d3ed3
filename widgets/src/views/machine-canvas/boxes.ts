// Boxes in boxes: what a node consists of, by the boxes that its memories and its shared resources lie in.
import type { DrawnMemory, DrawnResource } from "#model/types.ts";

/** A node, or a part of one: a socket, a PCIe switch, a GPU. */
export interface Box {
  /** Its node, and the names of the boxes from there on: "0", "0/socket 1/GPU 4". */
  readonly key: string;
  readonly node: number;
  readonly within: readonly string[];
  /** The boxes directly inside. */
  readonly inner: Box[];
  /** The memories directly inside; `all` has those of inner boxes as well. */
  readonly memories: DrawnMemory[];
  readonly all: DrawnMemory[];
  /** The places of the shared resources directly inside. */
  readonly resources: number[];
}

export const keyOf = (node: number, within: readonly string[]): string => [node, ...within].join("/");

/** The key of the box around a box; null for a node. */
export const outerOf = (key: string): string | null => (key.includes("/") ? key.slice(0, key.lastIndexOf("/")) : null);

/** The boxes around a memory by their keys, the node first. */
export const chainOf = ({ node, within }: { node: number; within: readonly string[] }): string[] =>
  [0, ...within].map((_, depth) => keyOf(node, within.slice(0, depth)));

/** The boxes of these memories by their keys, in order of the nodes, outer ones first. Resources on other nodes are left out. */
export function boxesOf(memories: readonly DrawnMemory[], resources: readonly (DrawnResource | null)[]): Map<string, Box> {
  const found = new Map<string, Box>();
  const boxAt = (node: number, within: readonly string[]): Box => {
    const key = keyOf(node, within);
    let box = found.get(key);
    if (box === undefined) {
      const outer = within.length === 0 ? null : boxAt(node, within.slice(0, -1));
      box = { key, node, within, inner: [], memories: [], all: [], resources: [] };
      outer?.inner.push(box);
      found.set(key, box);
    }
    return box;
  };
  for (const memory of [...memories].sort((a, b) => a.node - b.node)) {
    boxAt(memory.node, memory.within).memories.push(memory);
    for (const key of chainOf(memory)) found.get(key)?.all.push(memory);
  }
  resources.forEach((resource, place) => {
    if (resource !== null && resource.node !== null && found.has(String(resource.node)))
      boxAt(resource.node, resource.within).resources.push(place);
  });
  return found;
}

/** The nodes among boxes. */
export const nodesAmong = (boxes: ReadonlyMap<string, Box>): Box[] =>
  [...boxes.values()].filter(({ within }) => within.length === 0);

/** A shared resource in the head of its box: one, or the two directions of one. */
export interface Tag {
  readonly places: readonly number[];
  readonly name: string;
}

/** The resources of a box as tags: those of one capacity whose names differ in their last word only are one. */
export function tagsOf(box: Box, resources: readonly DrawnResource[]): Tag[] {
  const tags = new Map<string, { places: number[]; name: string }>();
  for (const place of box.resources) {
    const resource = resources[place];
    if (resource === undefined) continue;
    const short = resource.name.replace(/^node\d+\./, "");
    const stem = short.replace(/[. ](up|down|in|out)$/, "");
    const key = `${stem} ${resource.capacity}`;
    const tag = tags.get(key);
    if (tag === undefined) tags.set(key, { places: [place], name: short });
    else {
      tag.places.push(place);
      tag.name = stem;
    }
  }
  return [...tags.values()];
}
