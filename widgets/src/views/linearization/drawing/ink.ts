// Colours and fonts of what is drawn on a canvas, read from the style sheet, so that both follow the theme.

export interface Ink {
  readonly dark: boolean;
  readonly ink: string;
  readonly paper: string;
  readonly muted: string;
  readonly line: string;
  readonly accent: string;
  readonly run: string;
  readonly hatch: string;
  readonly font: string;
  /** The height of letters in CSS pixels: larger on the whole screen. */
  readonly size: number;
}

export function inkOf(element: Element, dark: boolean): Ink {
  const style = getComputedStyle(element);
  const read = (name: string, otherwise: string): string => style.getPropertyValue(name).trim() || otherwise;
  return {
    dark,
    ink: read("--iv-ink", dark ? "#e8edf3" : "#1f2328"),
    paper: read("--iv-lin-paper", dark ? "#12161c" : "#ffffff"),
    muted: read("--iv-muted", dark ? "#a8b3c0" : "#57606a"),
    line: read("--iv-strong-line", dark ? "#55606e" : "#b3bcc7"),
    accent: read("--iv-accent", dark ? "#6cb8ff" : "#0b62a8"),
    run: read("--iv-lin-run", dark ? "#e3b3ff" : "#7a1fa2"),
    hatch: read("--iv-lin-hatch", dark ? "#4a5563" : "#b9c1cb"),
    font: style.fontFamily || "sans-serif",
    size: Math.max(12, Math.floor(parseFloat(style.fontSize) || 12)),
  };
}

/** A line that is seen on every colour: dark with a light rim, or the other way round. */
export function strokeTwice(context: CanvasRenderingContext2D, path: Path2D, colour: string, rim: string, width: number): void {
  context.lineJoin = "round";
  context.strokeStyle = rim;
  context.lineWidth = width + 2;
  context.stroke(path);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke(path);
}

const patterns = new Map<string, CanvasPattern | null>();

/** Slanted lines, for padding. */
export function hatching(context: CanvasRenderingContext2D, colour: string, ratio: number): CanvasPattern | string {
  const name = `${colour}-${ratio}`;
  let pattern = patterns.get(name);
  if (pattern === undefined) {
    const size = Math.max(4, Math.round(6 * ratio));
    const tile = document.createElement("canvas");
    tile.width = size;
    tile.height = size;
    const pen = tile.getContext("2d");
    if (pen !== null) {
      pen.strokeStyle = colour;
      pen.lineWidth = Math.max(1, ratio);
      pen.beginPath();
      for (const shift of [-size, 0, size]) {
        pen.moveTo(shift - 1, size + 1);
        pen.lineTo(shift + size + 1, -1);
      }
      pen.stroke();
    }
    pattern = context.createPattern(tile, "repeat");
    patterns.set(name, pattern);
  }
  return pattern ?? colour;
}
