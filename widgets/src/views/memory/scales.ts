// Colour scales: perceptually uniform, safe for colour-blind eyes, with variants for dark pages. Packed colours are what an ImageData
// holds as 32-bit numbers (little-endian: alpha, blue, green, red).

export type Rgb = readonly [number, number, number];

/** The place of a colour in OKLCH, where equal distances look equal: lightness, chroma, hue in degrees. */
type Lch = readonly [number, number, number];

/** The first byte is light yellow, the last one indigo; on dark pages indigo is lifted off the background. */
const OFFSET: Record<"light" | "dark", readonly Lch[]> = {
  light: [
    [0.972, 0.06, 100],
    [0.87, 0.085, 150],
    [0.76, 0.09, 190],
    [0.62, 0.1, 225],
    [0.47, 0.12, 262],
    [0.32, 0.115, 284],
  ],
  dark: [
    [0.955, 0.08, 100],
    [0.86, 0.1, 150],
    [0.77, 0.1, 190],
    [0.67, 0.105, 225],
    [0.57, 0.125, 262],
    [0.465, 0.14, 286],
  ],
};

export const STEPS = 1024;

/** Fields: light enough for dark letters on them, apart from each other for every kind of colour vision (after Paul Tol's "light"). */
const FIELDS: readonly string[] = ["#f5a3c0", "#44bb99", "#eedd88", "#77aadd", "#ee8866", "#aaaa00", "#99ddff", "#bbcc33"];

const known = new Map<string, Uint32Array>();

/** The scale of offsets as packed colours, first byte to last. */
export function offsetScale(dark: boolean): Uint32Array {
  return cached(`offset-${dark}`, () => uniform(OFFSET[dark ? "dark" : "light"]));
}

/** The scale of the values of a digit: the colour of its dimension, from faint to full. */
export function dimensionScale(colour: string, dark: boolean): Uint32Array {
  return cached(`${colour}-${dark}`, () => {
    const [lightness, chroma, hue] = toLch(rgbOf(colour));
    return dark
      ? uniform([
          [0.3, chroma * 0.45, hue],
          [Math.max(lightness, 0.75), chroma, hue],
        ])
      : uniform([
          [0.955, chroma * 0.2, hue],
          [Math.min(lightness, 0.5), chroma, hue],
        ]);
  });
}

/** Fields of a photo have the colours that they are called. */
const OF_PHOTO = new Map([
  ["red", "#ee6a63"],
  ["green", "#4fb36b"],
  ["blue", "#6f9df0"],
  ["alpha", "#b9b9b9"],
  ["grey", "#a8a8a8"],
]);

/** The colour of a field. More than eight fields go through the colours again, darker each time. */
export function fieldColour(field: number, name = ""): string {
  const own = OF_PHOTO.get(name);
  if (own !== undefined) return own;
  const colour = rgbOf(FIELDS[field % FIELDS.length] ?? "#999999");
  const round = Math.floor(field / FIELDS.length);
  if (round === 0) return hex(colour);
  const [lightness, chroma, hue] = toLch(colour);
  return hex(toRgb([lightness - 0.15 * (1 + ((round - 1) % 2)), chroma, hue + 20 * Math.floor(round / 3)]));
}

/** Colours that go round, for cache lines: neighbours differ. The last one stands for several lines in one pixel. */
export function lineColours(dark: boolean): Uint32Array {
  return cached(`lines-${dark}`, () => {
    const colours: readonly Lch[] = dark
      ? [
          [0.72, 0.09, 220],
          [0.48, 0.1, 262],
          [0.8, 0.1, 150],
          [0.58, 0.1, 190],
          [0.62, 0.1, 320],
        ]
      : [
          [0.86, 0.07, 220],
          [0.66, 0.1, 262],
          [0.92, 0.08, 130],
          [0.76, 0.09, 185],
          [0.8, 0.08, 320],
        ];
    const mixed: Lch = dark ? [0.42, 0.012, 250] : [0.86, 0.008, 250];
    return Uint32Array.from([...colours, mixed], (colour) => packed(toRgb(colour)));
  });
}

/** A scale with every second step a little off, so that neighbouring chunks can be told apart. */
export function alternating(scale: Uint32Array, dark: boolean): Uint32Array {
  return cached(`other-${dark}`, () =>
    scale.map((colour) => {
      const [lightness, chroma, hue] = toLch(unpacked(colour));
      return packed(toRgb([lightness + (lightness > 0.6 ? -0.09 : 0.09), chroma, hue]));
    }),
  );
}

/** Black or white, whichever reads better on a packed colour: small letters on blue are read better in white than their contrast says. */
export function inkOn(colour: number): string {
  return luminance(unpacked(colour)) > 0.25 ? "#000000" : "#ffffff";
}

export function packed([red, green, blue]: Rgb): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function unpacked(colour: number): Rgb {
  return [colour & 255, (colour >> 8) & 255, (colour >> 16) & 255];
}

export function cssOf(colour: number): string {
  return hex(unpacked(colour));
}

/** `#rrggbb` in numbers; whatever else is grey. */
export function rgbOf(colour: string): Rgb {
  const found = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour.trim());
  if (found === null) return [128, 128, 128];
  return [parseInt(found[1] ?? "0", 16), parseInt(found[2] ?? "0", 16), parseInt(found[3] ?? "0", 16)];
}

/** The share of light that a colour gives back, as WCAG counts it. */
export function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map(linearised) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The distance of two packed colours as it looks (OKLab). */
export function difference(one: number, other: number): number {
  const [a, b] = [toLab(unpacked(one)), toLab(unpacked(other))];
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

function cached(name: string, make: () => Uint32Array): Uint32Array {
  let scale = known.get(name);
  if (scale === undefined) {
    scale = make();
    known.set(name, scale);
  }
  return scale;
}

/** A scale through colours, with steps that look equally large from end to end. */
function uniform(anchors: readonly Lch[]): Uint32Array {
  const fine = Array.from({ length: 2049 }, (_, i) => {
    const place = (i / 2048) * (anchors.length - 1);
    const lower = Math.min(Math.floor(place), anchors.length - 2);
    const share = place - lower;
    const [a, b] = [anchors[lower] ?? [0, 0, 0], anchors[lower + 1] ?? [0, 0, 0]];
    return labOf([a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share]);
  });
  const walked = [0];
  for (let i = 1; i < fine.length; i += 1) {
    const [a, b] = [fine[i - 1] ?? [0, 0, 0], fine[i] ?? [0, 0, 0]];
    walked.push((walked[i - 1] ?? 0) + Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]));
  }
  const whole = walked[walked.length - 1] ?? 1;
  let at = 0;
  return Uint32Array.from({ length: STEPS }, (_, step) => {
    const wanted = (step / (STEPS - 1)) * whole;
    while (at < fine.length - 1 && (walked[at + 1] ?? 0) <= wanted) at += 1;
    return packed(fromLab(fine[at] ?? [0, 0, 0]));
  });
}

function labOf([lightness, chroma, hue]: Lch): Rgb {
  const angle = (hue * Math.PI) / 180;
  return [lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)];
}

function toRgb(colour: Lch): Rgb {
  return fromLab(labOf(colour));
}

function toLch(colour: Rgb): Lch {
  const [lightness, a, b] = toLab(colour);
  return [lightness, Math.hypot(a, b), (Math.atan2(b, a) * 180) / Math.PI];
}

function fromLab([lightness, a, b]: Rgb): Rgb {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    coded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    coded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    coded(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

function toLab(colour: Rgb): Rgb {
  const [red, green, blue] = colour.map(linearised) as [number, number, number];
  const l = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const m = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const s = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function linearised(value: number): number {
  const share = value / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

function coded(value: number): number {
  const share = Math.max(0, Math.min(1, value));
  return Math.round(255 * (share <= 0.0031308 ? 12.92 * share : 1.055 * share ** (1 / 2.4) - 0.055));
}

function hex(colour: Rgb): string {
  return `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}
