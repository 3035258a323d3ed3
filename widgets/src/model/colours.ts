// Colours of dimensions, constant everywhere.
import type { CSSProperties } from "preact";
import { byName } from "./by-name.ts";
import type { Named, ShownColour } from "./types.ts";

/** The style of a chip or a swatch of a dimension, or of F. */
export function dimensionColour(palette: Named<ShownColour>, dim: string): CSSProperties {
  const colour = byName(palette).get(dim);
  return colour === undefined ? {} : { "--iv-chip-light": colour.light, "--iv-chip-dark": colour.dark };
}
