// Entries as the session names them (by dimension and field) and as the arithmetic counts them.
import { byName } from "#model/by-name.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import type { ShownEntry } from "#model/types.ts";
import { formatCount } from "#model/units.ts";

/** The entry in numbers; null where the array has no such entry (its sizes or names have changed). */
export function entryFrom(linear: Linearization, shown: ShownEntry | null): Entry | null {
  if (shown === null) return null;
  const index: number[] = [];
  for (const { name, size } of linear.dims) {
    const at = byName(shown.index).get(name);
    if (at === undefined || at < 0 || at >= size) return null;
    index.push(at);
  }
  const field = linear.fields.findIndex((each) => each.name === shown.field);
  return { index, field: Math.max(0, field) };
}

export function shownFrom(linear: Linearization, entry: Entry): ShownEntry {
  return {
    index: linear.dims.map(({ name }, dim) => [name, entry.index[dim] ?? 0]),
    field: linear.fields[entry.field]?.name ?? "",
  };
}

/** "x = 3, y = 5 · re" */
export function entryText(linear: Linearization, entry: Entry): string {
  const index = linear.dims.map(({ name }, dim) => `${name} = ${formatCount(entry.index[dim] ?? 0)}`).join(", ");
  return linear.fields.length > 1 ? `${index} · ${linear.fields[entry.field]?.name ?? ""}` : index;
}
