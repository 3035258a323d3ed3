// The colours of an array of the user: those of a photo, or a scale over the range of each field.

import { useMemo } from "preact/hooks";
import { useDark } from "#lib/hooks.ts";
import { type ArrayValues, entryLevels } from "#model/array-values.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import type { OwnColours } from "#model/picture-way.ts";
import { useView } from "#model/view.ts";
import { neutral, photoColour } from "./paint.ts";
import { offsetScale } from "./scales.ts";

/** The colours of the user's array in terms of a layout; null where there is none, or where it is of other sizes or fields. */
export function ownColours(values: ArrayValues | null, linear: Linearization | null, dark: boolean): OwnColours | null {
  const levels = entryLevels(values, linear);
  if (levels === null) return null;
  const [scale, nothing] = [offsetScale(dark), neutral(dark)];
  const isPhoto = levels.kind === "rgb";
  return {
    adds: isPhoto,
    element: (index, field) => {
      const level = levels.of(index, field);
      if (Number.isNaN(level)) return nothing;
      if (isPhoto) return photoColour(levels.colourOf(index, field), level);
      return scale[Math.round(level * (scale.length - 1))] as number;
    },
  };
}

/** The colours of the array of this explorer in terms of a layout. */
export function useOwnColours(linear: Linearization | null): OwnColours | null {
  const { arrayValues } = useView().connection;
  const dark = useDark();
  return useMemo(() => ownColours(arrayValues, linear, dark), [arrayValues, linear, dark]);
}
