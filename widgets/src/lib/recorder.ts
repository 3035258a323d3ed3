// What a canvas shows as SVG: while a picture is taken, everything is drawn once more and written down.
//
// The real context stays in charge of its state; with every stroke the recorder reads it from there. Paths that drawing code makes are
// replaced by paths that remember their text for the moment.

import { type Attributes, element, escaped, number } from "./svg.ts";

/** The parts of a canvas in SVG, in the canvas' own CSS pixels. */
export interface Recording {
  readonly parts: string[];
  readonly defs: string[];
}

interface Active {
  readonly recordings: Map<HTMLCanvasElement, Recording>;
  count: number;
}

let active: Active | null = null;
const draws = new Set<() => void>();

/** Keeps a function that draws a canvas, so that pictures can have it drawn again; returns what ends that. */
export function drawable(draw: () => void): () => void {
  draws.add(draw);
  return () => void draws.delete(draw);
}

/** The context to draw a canvas with: one that is written down while a picture is taken. */
export function penOf(canvas: HTMLCanvasElement, context: CanvasRenderingContext2D | null): CanvasRenderingContext2D | null {
  if (active === null || context === null) return context;
  let recording = active.recordings.get(canvas);
  if (recording === undefined) active.recordings.set(canvas, (recording = { parts: [], defs: [] }));
  return recorder(canvas, context, recording, active);
}

/** What the canvases of the page show, drawn once more. */
export function recorded(): Map<HTMLCanvasElement, Recording> {
  const before = globalThis.Path2D;
  const own: Active = { recordings: new Map(), count: 0 };
  active = own;
  globalThis.Path2D = WrittenPath;
  try {
    for (const draw of [...draws]) draw();
  } finally {
    active = null;
    globalThis.Path2D = before;
  }
  return own.recordings;
}

class Written {
  text = "";
  moveTo(x: number, y: number): void {
    this.text += `M${number(x)} ${number(y)}`;
  }
  lineTo(x: number, y: number): void {
    this.text += `${this.text === "" ? "M" : "L"}${number(x)} ${number(y)}`;
  }
  quadraticCurveTo(a: number, b: number, x: number, y: number): void {
    this.text += `Q${[a, b, x, y].map(number).join(" ")}`;
  }
  bezierCurveTo(a: number, b: number, c: number, d: number, x: number, y: number): void {
    this.text += `C${[a, b, c, d, x, y].map(number).join(" ")}`;
  }
  rect(x: number, y: number, width: number, height: number): void {
    this.text += `M${number(x)} ${number(y)}h${number(width)}v${number(height)}h${number(-width)}z`;
  }
  roundRect(
    x: number,
    y: number,
    width: number,
    height: number,
    radii?: number | DOMPointInit | (number | DOMPointInit)[],
  ): void {
    const given = Array.isArray(radii) ? radii[0] : radii;
    const r = Math.max(0, Math.min(typeof given === "number" ? given : 0, Math.abs(width) / 2, Math.abs(height) / 2));
    const arc = (dx: number, dy: number): string => `a${number(r)} ${number(r)} 0 0 1 ${number(dx)} ${number(dy)}`;
    const [across, down] = [width - 2 * r, height - 2 * r];
    this.text +=
      `M${number(x + r)} ${number(y)}h${number(across)}${arc(r, r)}v${number(down)}${arc(-r, r)}` +
      `h${number(-across)}${arc(-r, -r)}v${number(-down)}${arc(r, -r)}z`;
  }
  arc(x: number, y: number, r: number, from: number, to: number, back = false): void {
    const at = (angle: number): string => `${number(x + r * Math.cos(angle))} ${number(y + r * Math.sin(angle))}`;
    const sweep = back ? 0 : 1;
    const whole = Math.abs(to - from) >= 2 * Math.PI - 1e-6;
    const middle = whole ? from + Math.PI : (from + to) / 2;
    const large = !whole && Math.abs(to - from) > Math.PI ? 1 : 0;
    this.text += `${this.text === "" ? "M" : "L"}${at(from)}`;
    if (whole)
      this.text += `A${number(r)} ${number(r)} 0 0 ${sweep} ${at(middle)}A${number(r)} ${number(r)} 0 0 ${sweep} ${at(from)}z`;
    else this.text += `A${number(r)} ${number(r)} 0 ${large} ${sweep} ${at(to)}`;
  }
  closePath(): void {
    this.text += "z";
  }
}

const STEPS = ["moveTo", "lineTo", "quadraticCurveTo", "bezierCurveTo", "rect", "roundRect", "arc", "closePath"] as const;
type Step = (typeof STEPS)[number];
const isStep = (name: PropertyKey): name is Step => (STEPS as readonly PropertyKey[]).includes(name);
const texts = new WeakMap<Path2D, Written>();

/** A path that remembers its text. */
const WrittenPath = class extends Path2D {
  constructor(path?: Path2D | string) {
    super(path);
    const written = new Written();
    if (typeof path === "string") written.text = path;
    else if (path !== undefined) written.text = texts.get(path)?.text ?? "";
    texts.set(this, written);
    for (const step of STEPS) {
      const real = (super[step] as (...values: never[]) => void).bind(this);
      Object.defineProperty(this, step, {
        value: (...values: never[]): void => {
          real(...values);
          (written[step] as (...values: never[]) => void)(...values);
        },
      });
    }
    const add = super.addPath.bind(this);
    Object.defineProperty(this, "addPath", {
      value: (other: Path2D): void => {
        add(other);
        written.text += texts.get(other)?.text ?? "";
      },
    });
  }
};

function recorder(
  canvas: HTMLCanvasElement,
  real: CanvasRenderingContext2D,
  recording: Recording,
  all: Active,
): CanvasRenderingContext2D {
  let path = new Written();
  let clips: string[] = [];
  const kept: string[][] = [];
  const shown = canvas.clientWidth || canvas.width;
  const scale = canvas.width / shown; // device pixels for each CSS pixel
  const matrix = (): string | undefined => {
    const { a, b, c, d, e, f } = real.getTransform();
    const own = [a, b, c, d, e, f].map((value) => number(value / scale)).join(" ");
    return own === "1 0 0 1 0 0" ? undefined : `matrix(${own})`;
  };
  const emit = (name: string, attributes: Attributes, content = ""): void => {
    const opacity = real.globalAlpha === 1 ? undefined : real.globalAlpha;
    const drawn = element(name, { opacity, transform: matrix(), ...attributes }, content);
    recording.parts.push(clips.reduceRight((inner, clip) => element("g", { "clip-path": `url(#${clip})` }, inner), drawn));
  };
  const paint = (style: string | CanvasGradient | CanvasPattern): string => {
    if (typeof style === "string") return style;
    const id = `iv-hatch-${(all.count += 1)}`;
    const line = element("path", { d: "M0 0v6", stroke: "#98a2ae", "stroke-width": 1.4 });
    const tile = { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
    recording.defs.push(element("pattern", tile, line));
    return `url(#${id})`;
  };
  const stroke = (): Attributes => {
    const dash = real.getLineDash();
    return {
      fill: "none",
      stroke: paint(real.strokeStyle),
      "stroke-width": real.lineWidth,
      "stroke-linejoin": real.lineJoin,
      "stroke-linecap": real.lineCap,
      "stroke-dasharray": dash.length > 0 ? dash.map(number).join(" ") : undefined,
    };
  };
  const textOf = (given: unknown): string => (given instanceof Path2D ? (texts.get(given)?.text ?? "") : path.text);
  const image = (source: HTMLCanvasElement, box: Attributes): void =>
    emit("image", { ...box, preserveAspectRatio: "none", style: "image-rendering:pixelated", href: source.toDataURL() });
  const before: Partial<Record<string, (...values: never[]) => void>> = {
    save: () => void kept.push(clips),
    restore: () => (clips = kept.pop() ?? []),
    beginPath: () => (path = new Written()),
    clip: (given?: unknown) => {
      const id = `iv-clip-${(all.count += 1)}`;
      recording.defs.push(element("clipPath", { id }, element("path", { d: textOf(given), transform: matrix() })));
      clips = [...clips, id];
    },
    clearRect: (x: number, y: number, width: number, height: number) => {
      const { a, d } = real.getTransform();
      if (x <= 0 && y <= 0 && width * a >= canvas.width - 1 && height * d >= canvas.height - 1) recording.parts.length = 0;
    },
    fillRect: (x: number, y: number, width: number, height: number) =>
      emit("rect", {
        x: Math.min(x, x + width),
        y: Math.min(y, y + height),
        width: Math.abs(width),
        height: Math.abs(height),
        fill: paint(real.fillStyle),
      }),
    strokeRect: (x: number, y: number, width: number, height: number) => emit("rect", { x, y, width, height, ...stroke() }),
    fill: (given?: unknown) => {
      const rule = given === "evenodd" ? "evenodd" : undefined;
      emit("path", { d: textOf(given), fill: paint(real.fillStyle), "fill-rule": rule });
    },
    stroke: (given?: unknown) => emit("path", { d: textOf(given), ...stroke() }),
    fillText: (text: string, x: number, y: number) => {
      const anchor = { center: "middle", right: "end", end: "end", left: "start", start: "start" }[real.textAlign];
      const base = {
        middle: "central",
        top: "text-before-edge",
        hanging: "hanging",
        bottom: "text-after-edge",
        ideographic: "ideographic",
        alphabetic: "alphabetic",
      }[real.textBaseline];
      const looks = { style: `font:${real.font}`, "text-anchor": anchor, "dominant-baseline": base, fill: paint(real.fillStyle) };
      emit("text", { x, y, ...looks }, escaped(text));
    },
    putImageData: (data: ImageData, x: number, y: number) => {
      const held = document.createElement("canvas");
      [held.width, held.height] = [data.width, data.height];
      held.getContext("2d")?.putImageData(data, 0, 0);
      const [width, height] = [data.width / scale, data.height / scale];
      image(held, { x: x / scale, y: y / scale, width, height, transform: undefined }); // no transform of the canvas moves pixels
    },
    drawImage: (source: HTMLCanvasElement, ...at: number[]) => {
      if (!(source instanceof HTMLCanvasElement)) return;
      if (at.length < 8) {
        const [x = 0, y = 0, width = source.width, height = source.height] = at;
        return image(source, { x, y, width, height });
      }
      const [sx = 0, sy = 0, sw = 1, sh = 1, x = 0, y = 0, width = 1, height = 1] = at;
      const held = document.createElement("canvas");
      [held.width, held.height] = [Math.max(1, Math.round(sw)), Math.max(1, Math.round(sh))];
      held.getContext("2d")?.drawImage(source, sx, sy, sw, sh, 0, 0, held.width, held.height);
      image(held, { x, y, width, height });
    },
  };
  return new Proxy(real, {
    get(_, name) {
      const value = Reflect.get(real, name) as unknown;
      if (typeof value !== "function") return value;
      return (...values: never[]): unknown => {
        before[String(name)]?.(...values);
        if (isStep(name)) (path[name] as (...given: never[]) => void)(...values);
        return (value as (...given: never[]) => unknown).apply(real, values);
      };
    },
    set(_, name, value) {
      return Reflect.set(real, name, value);
    },
  });
}
