// Colours of dimensions, constant everywhere.
import type { CSSProperties } from "preact";
import type { ShownColour } from "./types.ts";

/** The style of a chip or a swatch of a dimension, or of F. */
export function dimensionColour(palette: Record<string, ShownColour>, dim: string): CSSProperties {
  const colour = palette[dim];
  return colour === undefined ? {} : { "--iv-chip-light": colour.light, "--iv-chip-dark": colour.dark };
}
