// Entries as the session names them (by dimension and field) and as the arithmetic counts them.
import { byName } from "#model/by-name.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { type Entry, entryAt } from "#model/layouts/order.ts";
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

/** "x_in" of "x_in=4". */
export function nameOf(text: string): string {
  return text.replace(/=.*$/, "");
}

/** The entry with one digit turned on; digits go round, and padding is passed over. */
export function turned(linear: Linearization, values: readonly number[], place: number, way: number): Entry | null {
  const extent = linear.digits[place]?.extent ?? 1;
  const weights = linear.digits.map((_, at) => linear.digits.slice(0, at).reduce((product, digit) => product * digit.extent, 1));
  let value = values[place] ?? 0;
  for (let tries = 0; tries < Math.min(extent, 4096); tries += 1) {
    value = (value + way + extent) % extent;
    const position = values.reduce((sum, other, at) => sum + (at === place ? value : other) * (weights[at] ?? 1), 0);
    const found = entryAt(linear, position);
    if (found !== null) return found;
  }
  return null;
}
