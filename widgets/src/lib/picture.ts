// What an element of the page shows, as SVG: boxes, borders, text, drawings and canvases, where and as they are seen.
import { type Recording, recorded } from "./recorder.ts";
import { type Attributes, escaped, number, element as svgElement } from "./svg.ts";

/** Pixels around a picture. */
const MARGIN = 12;
/** What is not part of a picture: controls that act, and what only readers of screens hear. */
const LEFT_OUT = ".iv-hidden, [data-no-picture], .iv-menu, .iv-lin-tools, .iv-button, dialog";
/** Properties of drawings that may come from style sheets. */
const DRAWN = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "stroke-opacity",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "font-style",
  "text-anchor",
  "dominant-baseline",
  "visibility",
  "display",
  "paint-order",
  "marker-end",
  "marker-start",
] as const;

export interface Picture {
  readonly svg: string;
  readonly width: number;
  readonly height: number;
}

/** The picture of an element as it is seen now. `title` names it. */
export function pictureOf(root: HTMLElement, title: string): Picture {
  const release = unstuck(root);
  try {
    return pictureAtRest(root, title);
  } finally {
    release();
  }
}

/** Puts what sticks to an edge while its page scrolls where it stands by itself; returns what undoes that. */
function unstuck(root: HTMLElement): () => void {
  const stuck = [root, ...root.querySelectorAll<HTMLElement>("*")].filter((each) => getComputedStyle(each).position === "sticky");
  const before = stuck.map(({ style }) => style.cssText);
  for (const { style } of stuck) [style.position, style.inset] = ["relative", "auto"];
  return () => {
    for (const [place, { style }] of stuck.entries()) style.cssText = before[place] ?? "";
  };
}

function pictureAtRest(root: HTMLElement, title: string): Picture {
  const recordings = recorded();
  const box = root.getBoundingClientRect();
  const [width, height] = [
    Math.ceil(Math.max(box.width, root.scrollWidth)) + 2 * MARGIN,
    Math.ceil(Math.max(box.height, root.scrollHeight)) + 2 * MARGIN,
  ];
  const out: Out = { parts: [], defs: [], clips: 0, left: box.left - MARGIN, top: box.top - MARGIN, recordings };
  add(root, out);
  const paper = svgElement("rect", { width, height, fill: ground(root) });
  const defs = out.defs.length === 0 ? "" : `<defs>${out.defs.join("")}</defs>`;
  const frame = { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, role: "img" };
  const svg = svgElement("svg", frame, `<title>${escaped(title)}</title>${defs}${paper}${out.parts.join("")}`);
  return { svg, width, height };
}

interface Out {
  readonly parts: string[];
  readonly defs: string[];
  clips: number;
  readonly left: number;
  readonly top: number;
  readonly recordings: Map<HTMLCanvasElement, Recording>;
}

/** Whether nothing is seen of a colour; "rgb(168, 67, 0)" is one without blue. */
export const isClear = (colour: string): boolean =>
  colour === "transparent" || /^rgba\(.*,\s*0\)$/.test(colour) || /\/\s*0\)$/.test(colour);

/** The colour behind an element. */
function ground(element: HTMLElement): string {
  for (let each: HTMLElement | null = element; each !== null; each = each.parentElement) {
    const colour = getComputedStyle(each).backgroundColor;
    if (!isClear(colour)) return colour;
  }
  return "#ffffff";
}

function add(element: Element, out: Out): void {
  if (element.matches(LEFT_OUT) || element.matches("details:not([open]) > :not(summary)")) return;
  const style = getComputedStyle(element);
  if (style.display === "none" || style.visibility === "hidden" || style.opacity === "0") return;
  const box = element.getBoundingClientRect();
  const [x, y] = [box.left - out.left, box.top - out.top];
  if (element instanceof SVGSVGElement) return void out.parts.push(drawing(element, x, y, box));
  addBox(style, x, y, box, out);
  addFrames(style, x, y, box, out);
  if (element instanceof HTMLCanvasElement) return void canvas(element, x, y, out);
  addHead(element, x, y, out);
  if (element instanceof HTMLInputElement || element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement)
    return void control(element, style, x, y, box, out);
  const cut =
    /hidden|auto|scroll|clip/.test(style.overflowX + style.overflowY) &&
    (element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1);
  const from = out.parts.length;
  for (const child of element.childNodes) {
    if (child instanceof Element) add(child, out);
    else if (child instanceof Text) addText(child, style, out);
  }
  if (!cut || element.parentElement === null || out.parts.length === from) return;
  const id = `iv-cut-${(out.clips += 1)}`;
  out.defs.push(svgElement("clipPath", { id }, svgElement("rect", { x, y, width: box.width, height: box.height })));
  const inside = out.parts.splice(from).join("");
  out.parts.push(svgElement("g", { "clip-path": `url(#${id})` }, inside));
}

function addBox(style: CSSStyleDeclaration, x: number, y: number, box: DOMRect, out: Out): void {
  if (box.width === 0 || box.height === 0) return;
  const radius = Math.min(parseFloat(style.borderTopLeftRadius) || 0, box.width / 2, box.height / 2);
  const rect = (inset: number, looks: Attributes): void => {
    const [width, height] = [Math.max(0, box.width - 2 * inset), Math.max(0, box.height - 2 * inset)];
    out.parts.push(
      svgElement("rect", { x: x + inset, y: y + inset, width, height, rx: radius > 0 ? radius : undefined, ...looks }),
    );
  };
  const gradient = gradientOf(style.backgroundImage, `iv-ramp-${out.clips + 1}`);
  if (gradient !== null) {
    out.defs.push(gradient);
    rect(0, { fill: `url(#iv-ramp-${(out.clips += 1)})` });
  }
  if (!isClear(style.backgroundColor)) rect(0, { fill: style.backgroundColor });
  const sides = (["Top", "Right", "Bottom", "Left"] as const).map((side) => {
    const kind = style[`border${side}Style`];
    const width = kind === "none" ? 0 : parseFloat(style[`border${side}Width`]) || 0;
    return { width, colour: style[`border${side}Color`], ...dashOf(kind, width) };
  });
  const [top, right, bottom, left] = sides;
  if (top === undefined || right === undefined || bottom === undefined || left === undefined) return;
  const seen = sides.filter((side) => side.width > 0 && !isClear(side.colour));
  if (seen.length === 0) return;
  if (seen.length === 4 && seen.every((side) => side.width === top.width && side.colour === top.colour))
    return rect(top.width / 2, { fill: "none", stroke: top.colour, "stroke-width": top.width, ...dashed(top) });
  const line = (side: Side, x0: number, y0: number, x1: number, y1: number): void => {
    if (side.width > 0 && !isClear(side.colour))
      out.parts.push(
        svgElement("path", {
          d: `M${number(x0)} ${number(y0)}L${number(x1)} ${number(y1)}`,
          stroke: side.colour,
          "stroke-width": side.width,
          ...dashed(side),
        }),
      );
  };
  const [far, low] = [x + box.width, y + box.height];
  line(top, x, y + top.width / 2, far, y + top.width / 2);
  line(right, far - right.width / 2, y, far - right.width / 2, low);
  line(bottom, x, low - bottom.width / 2, far, low - bottom.width / 2);
  line(left, x + left.width / 2, y, x + left.width / 2, low);
}

interface Side {
  readonly width: number;
  readonly colour: string;
  /** The lengths of dashes and gaps; absent where the line is solid. */
  readonly dash?: string;
  readonly round?: boolean;
}

/** The dashes of a border. */
function dashOf(kind: string, width: number): Pick<Side, "dash" | "round"> {
  if (kind === "dotted") return { dash: `0 ${number(2 * width)}`, round: true };
  return kind === "dashed" ? { dash: `${number(2 * width)} ${number(width)}` } : {};
}

const dashed = ({ dash, round }: Side): Attributes => ({
  "stroke-dasharray": dash,
  "stroke-linecap": round === true ? "round" : undefined,
});

const COLOUR = String.raw`(?:rgba?|color|oklab|oklch)\([^)]*\)|#[0-9a-f]{3,8}|transparent`;
const STOPS = new RegExp(String.raw`(${COLOUR})(?:\s+([\d.]+)%)?`, "gi");
/** A shadow without blur, which is a frame around the box or, `inset`, along its inside. */
const RINGS = new RegExp(String.raw`(${COLOUR}) 0px 0px 0px ([\d.]+)px( inset)?`, "gi");

/** The SVG of a linear gradient along one side of the page; null for other backgrounds. */
function gradientOf(image: string, id: string): string | null {
  if (!image.startsWith("linear-gradient(")) return null;
  const stops = [...image.matchAll(STOPS)];
  if (stops.length < 2) return null;
  const [x1, y1, x2, y2] = image.includes("to right") ? [0, 0, 1, 0] : image.includes("to top") ? [0, 1, 0, 0] : [0, 0, 0, 1];
  const written = stops.map(([, colour = "", at], step) => {
    const offset = at === undefined ? step / (stops.length - 1) : Number(at) / 100;
    const opacity = isClear(colour) ? ' stop-opacity="0"' : "";
    return `<stop offset="${number(offset)}" stop-color="${escaped(colour)}"${opacity}/>`;
  });
  return `<linearGradient id="${id}" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}">${written.join("")}</linearGradient>`;
}

/** What frames a box without taking room: its outline, and shadows without blur. */
function addFrames(style: CSSStyleDeclaration, x: number, y: number, box: DOMRect, out: Out): void {
  if (box.width === 0 || box.height === 0) return;
  const radius = parseFloat(style.borderTopLeftRadius) || 0;
  const frame = (outwards: number, width: number, colour: string): void => {
    if (width === 0 || isClear(colour)) return;
    const round = radius + outwards > 0 && radius > 0 ? ` rx="${number(radius + outwards)}"` : "";
    out.parts.push(
      `<rect x="${number(x - outwards)}" y="${number(y - outwards)}" width="${number(Math.max(0, box.width + 2 * outwards))}" height="${number(Math.max(0, box.height + 2 * outwards))}"${round} fill="none" stroke="${escaped(colour)}" stroke-width="${number(width)}"/>`,
    );
  };
  for (const [, colour = "", spread, inset] of style.boxShadow.matchAll(RINGS)) {
    const width = Number(spread);
    frame(inset === undefined ? width / 2 : -width / 2, width, colour);
  }
  const width = style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth) || 0;
  frame((parseFloat(style.outlineOffset) || 0) + width / 2, width, style.outlineColor);
}

/** The head of an arrow: a triangle that a style sheet makes of the left border of what follows an element. */
function addHead(element: Element, x: number, y: number, out: Out): void {
  const style = getComputedStyle(element, "::after");
  if (style.content === "none" || style.position !== "absolute" || isClear(style.borderLeftColor)) return;
  const [left, top, length, above, below] = [
    style.left,
    style.top,
    style.borderLeftWidth,
    style.borderTopWidth,
    style.borderBottomWidth,
  ].map(parseFloat);
  if (left === undefined || top === undefined || length === undefined || above === undefined || below === undefined) return;
  if (Number.isNaN(left) || Number.isNaN(top) || length === 0 || parseFloat(style.width) > length + 1) return;
  const shift = style.transform === "none" ? 0 : new DOMMatrix(style.transform).f;
  const [from, at] = [x + left, y + top + shift];
  const d = `M${number(from)} ${number(at)}l${number(length)} ${number(above)}l${number(-length)} ${number(below)}z`;
  out.parts.push(svgElement("path", { d, fill: style.borderLeftColor }));
}

/** A text, line by line: a range says where the browser has broken it. */
function addText(node: Text, style: CSSStyleDeclaration, out: Out): void {
  if (node.data.trim() === "") return;
  const range = document.createRange();
  let line = "";
  let at: DOMRect | null = null;
  const end = cutAt(node);
  const finish = (): void => {
    if (at !== null && line.trim() !== "") out.parts.push(textAt(line, style, at.left - out.left, at.top - out.top, at.height));
  };
  // Words are enough where lines break between words; a word that is itself broken goes letter by letter.
  for (const { index, 0: word } of node.data.slice(0, end).matchAll(/\S+\s*|\s+/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const rects = range.getClientRects();
    const [first] = rects;
    if (first === undefined || first.width === 0) continue;
    if (line === "" && word.trim() === "" && !style.whiteSpace.startsWith("pre")) continue; // SVG would leave it out, but not its room
    if (at === null || Math.abs(first.top - at.top) > 2) {
      finish();
      [line, at] = ["", first];
    }
    line += style.whiteSpace.startsWith("pre") ? word : word.replace(/\s+/g, " ");
  }
  if (end < node.data.length) line = `${line.trimEnd()}…`;
  finish();
}

/** The place from which on a text is replaced by an ellipsis; its length where all of it is seen. */
function cutAt(node: Text): number {
  const length = node.data.length;
  let holder = node.parentElement;
  for (let up = 0; up < 3 && holder !== null && getComputedStyle(holder).textOverflow !== "ellipsis"; up += 1)
    holder = holder.parentElement;
  if (holder === null || getComputedStyle(holder).textOverflow !== "ellipsis" || holder.scrollWidth <= holder.clientWidth)
    return length;
  const style = getComputedStyle(holder);
  const right = holder.getBoundingClientRect().right - (parseFloat(style.paddingRight) || 0);
  const range = document.createRange();
  const ends = (count: number): number => {
    range.setStart(node, 0);
    range.setEnd(node, count);
    return range.getBoundingClientRect().right;
  };
  if (ends(length) <= right + 0.5) return length;
  let count = length;
  while (count > 0 && ends(count) > right - (parseFloat(style.fontSize) || 12)) count -= 1;
  return count;
}

function textAt(text: string, style: CSSStyleDeclaration, x: number, y: number, height: number): string {
  const shown = style.textTransform === "uppercase" ? text.toUpperCase() : text;
  const isPre = style.whiteSpace.startsWith("pre");
  const font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const looks = {
    "dominant-baseline": "central",
    fill: style.color,
    "text-decoration": style.textDecorationLine.includes("underline") ? "underline" : undefined,
    style: `font:${font}${isPre ? ";white-space:pre" : ""}`,
  };
  return svgElement("text", { x, y: y + height / 2, ...looks }, escaped(isPre ? shown.replace(/\n$/, "") : shown.trimEnd()));
}

function control(
  element: HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement,
  style: CSSStyleDeclaration,
  x: number,
  y: number,
  box: DOMRect,
  out: Out,
): void {
  if (element instanceof HTMLInputElement && element.type === "range") {
    const [low, high, value] = [Number(element.min || 0), Number(element.max || 100), Number(element.value)];
    const to = x + 6 + ((value - low) / (high - low || 1)) * Math.max(0, box.width - 12);
    const middle = y + box.height / 2;
    const d = `M${number(x)} ${number(middle)}H${number(x + box.width)}`;
    const fill = style.accentColor === "auto" ? style.color : style.accentColor;
    out.parts.push(svgElement("path", { d, stroke: "#98a2ae", "stroke-width": 4, "stroke-linecap": "round" }));
    out.parts.push(svgElement("circle", { cx: to, cy: middle, r: 6, fill }));
    return;
  }
  if (element instanceof HTMLInputElement && (element.type === "checkbox" || element.type === "radio")) return;
  const text = element instanceof HTMLSelectElement ? (element.selectedOptions[0]?.text ?? "") : element.value;
  const padding = parseFloat(style.paddingLeft) || 0;
  out.parts.push(textAt(text, style, x + padding + 1, y, box.height));
}

function canvas(element: HTMLCanvasElement, left: number, top: number, out: Out): void {
  const recording = out.recordings.get(element);
  // What it shows lies within its border.
  const place = `translate(${number(left + element.clientLeft)} ${number(top + element.clientTop)})`;
  if (recording !== undefined && recording.parts.length > 0) {
    out.defs.push(...recording.defs);
    out.parts.push(svgElement("g", { transform: place }, recording.parts.join("")));
    return;
  }
  if (element.width === 0 || element.height === 0) return;
  const [width, height] = [element.clientWidth, element.clientHeight];
  out.parts.push(
    svgElement("image", { transform: place, width, height, preserveAspectRatio: "none", href: element.toDataURL() }),
  );
}

/** A drawing of the page, with the colours that style sheets give it written into it. */
function drawing(element: SVGSVGElement, x: number, y: number, box: DOMRect): string {
  const copy = element.cloneNode(true) as SVGSVGElement;
  const [originals, copies] = [
    [element, ...element.querySelectorAll("*")],
    [copy, ...copy.querySelectorAll("*")],
  ];
  originals.forEach((original, place) => {
    const target = copies[place];
    if (target === undefined || !(original instanceof SVGElement)) return;
    const style = getComputedStyle(original);
    const written = DRAWN.map((name) => [name, style.getPropertyValue(name)] as const).filter(([, value]) => value !== "");
    target.setAttribute("style", written.map(([name, value]) => `${name}:${value}`).join(";"));
    for (const name of ["class", "tabindex", "data-testid", "role"]) target.removeAttribute(name);
  });
  for (const text of copy.querySelectorAll("style")) text.remove();
  copy.setAttribute("x", number(x));
  copy.setAttribute("y", number(y));
  copy.setAttribute("width", number(box.width));
  copy.setAttribute("height", number(box.height));
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copy);
}

/** The picture in pixels, `scale` for each CSS pixel. */
export async function pixels({ svg, width, height }: Picture, scale = 2): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const target = document.createElement("canvas");
  [target.width, target.height] = [Math.round(width * scale), Math.round(height * scale)];
  target.getContext("2d")?.drawImage(image, 0, 0, target.width, target.height);
  return new Promise((resolve, reject) =>
    target.toBlob((blob) => (blob === null ? reject(new Error("the browser made no picture")) : resolve(blob)), "image/png"),
  );
}
