// What was given and stays: its controls are not there, or say so.
import type { ShownFixed, Snapshot } from "./types.ts";

/** Why a control that would change something given does nothing. */
export const GIVEN = "This is given: it stays as it is";

/** Whether a part of the settings stays as it was given. */
export function stays(snapshot: Snapshot, part: ShownFixed["parts"][number]): boolean {
  return snapshot.frame.fixed?.parts.includes(part) ?? false;
}

/** Whether something other than the plan by hand stays, so that what is tried cannot become settings. */
export function keepsNothing(snapshot: Snapshot): boolean {
  return stays(snapshot, "transfer") || stays(snapshot, "machine");
}

/** Whether a part of the machine stays as it was given. */
export function isGiven(snapshot: Snapshot, kind: "memory" | "channel" | "resource", name: string): boolean {
  const { fixed } = snapshot.frame;
  if (fixed === null) return false;
  return { memory: fixed.memories, channel: fixed.channels, resource: fixed.resources }[kind].includes(name);
}
