// SVG as text.

/** A number, rounded to hundredths. */
export const number = (value: number): string => String(Math.round(value * 100) / 100);

/** Text that stands in SVG for itself. */
export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "");
}

export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** An element. Attributes are escaped, numbers rounded, and those without a value left out; `content` is SVG. */
export function element(name: string, attributes: Attributes, content = ""): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${typeof value === "number" ? number(value) : escaped(value ?? "")}"`)
    .join("");
  return content === "" ? `<${name}${written}/>` : `<${name}${written}>${content}</${name}>`;
}
