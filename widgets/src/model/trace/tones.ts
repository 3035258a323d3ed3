// Colours of chunks: four in turn where there is one transfer; where there are several, two tones of a colour for each.
import type { TraceData } from "./trace-data.ts";

const FAMILIES = 4;

/** The variable of the style sheet that has the colour of a chunk. */
export function toneOf(trace: Pick<TraceData, "transfers">, transfer: number, chunk: number): string {
  return trace.transfers.length <= 1 ? `--iv-tone-${chunk % 4}` : `--iv-tone-${"abcd"[transfer % FAMILIES]}${chunk % 2}`;
}

/** The variable with the colour of a transfer as a whole. */
export function toneOfTransfer(trace: Pick<TraceData, "transfers">, transfer: number): string {
  return toneOf(trace, transfer, 0);
}

/** Black or white, whichever is easier to read on a colour such as "#4c78a8". */
export function textOn(colour: string): string {
  const part = (at: number): number => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5) > 0.21 ? "#000000" : "#ffffff";
}
