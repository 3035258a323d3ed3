// The colours of an array of the user: those of a photo, or a scale over the range of each field.

import { useMemo } from "preact/hooks";
import { useDark } from "#lib/hooks.ts";
import { type ArrayValues, entryLevels, NO_LEVEL } from "#model/array-values.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { OwnColours } from "#model/picture-way.ts";
import { useView } from "#model/view.ts";
import { neutral, photoColour } from "./paint.ts";
import { offsetScale } from "./scales.ts";

const known = new WeakMap<ArrayValues, Map<string, OwnColours | null>>();

/**
 * The colours of the user's array in terms of a layout; null where there is none, or where it is of other sizes or fields. All layouts
 * of one array have the same.
 */
export function ownColours(values: ArrayValues | null, linear: Linearization | null, dark: boolean): OwnColours | null {
  if (values === null || linear === null) return null;
  const all = known.get(values) ?? new Map<string, OwnColours | null>();
  known.set(values, all);
  const key = JSON.stringify([linear.dims, linear.fields, dark]);
  let colours = all.get(key);
  if (colours === undefined) all.set(key, (colours = coloursOf(values, linear, dark)));
  return colours;
}

function coloursOf(values: ArrayValues, linear: Linearization, dark: boolean): OwnColours | null {
  const levels = entryLevels(values, linear);
  if (levels === null) return null;
  const { columns, along, colours, sample } = levels;
  const made = new Map<string, Uint32Array>();
  const tableOf = (colour: string): Uint32Array => {
    let table = made.get(colour);
    if (table === undefined) made.set(colour, (table = colourTable(colour, dark)));
    return table;
  };
  return {
    adds: colours.length > 0,
    samples: levels.samples,
    painter: (indices, fields) => {
      const samples = indices.map((own, dim) => Int32Array.from(own, (index) => sample(dim, index)));
      const bytes = fields.map((field) => columns[field] ?? null);
      const tables = fields.map((field) => tableOf(colours[field] ?? ""));
      const tablesAlong = along < 0 ? null : Array.from(indices[along] ?? [], (index) => tableOf(colours[index] ?? ""));
      const nothing = neutral(dark);
      return (at, field) => {
        const column = bytes[field];
        if (!column) return nothing;
        let place = 0;
        for (let dim = 0; dim < samples.length; dim += 1) place += (samples[dim] as Int32Array)[at[dim] as number] as number;
        const table = tablesAlong === null ? tables[field] : tablesAlong[at[along] as number];
        return (table as Uint32Array)[column[place] as number] as number;
      };
    },
  };
}

/** The colour of each level: of a byte of a photo, or on the scale where it is no colour. */
function colourTable(colour: string, dark: boolean): Uint32Array {
  const scale = offsetScale(dark);
  const most = NO_LEVEL - 1;
  const table = Uint32Array.from({ length: NO_LEVEL + 1 }, (_, level) =>
    colour === "" ? (scale[Math.round((level / most) * (scale.length - 1))] ?? 0) : photoColour(colour, level / most),
  );
  table[NO_LEVEL] = neutral(dark);
  return table;
}

/** The colours of the array of this explorer in terms of a layout. */
export function useOwnColours(linear: Linearization | null): OwnColours | null {
  const { arrayValues } = useView().connection;
  const dark = useDark();
  return useMemo(() => ownColours(arrayValues, linear, dark), [arrayValues, linear, dark]);
}
