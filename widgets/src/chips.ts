// Moving the components of a layout about.

/** The items with the one at `from` moved to `to`; the others keep their order. */
export function moved<T>(items: readonly T[], from: number, to: number): T[] {
  const rest = items.filter((_, place) => place !== from);
  const item = items[from];
  if (item === undefined) return [...items];
  rest.splice(Math.max(0, Math.min(to, rest.length)), 0, item);
  return rest;
}

/** The text of a layout with these components, fastest first. */
export function layoutText(components: readonly string[]): string {
  return `<${components.join(", ")}>`;
}

/** Where a chip dragged to `x` belongs, given the middles of the others from left to right. */
export function dropPlace(middles: readonly number[], x: number): number {
  return middles.filter((middle) => middle < x).length;
}

/** The text up to an offending character and a caret below it, as two lines. */
export function caret(text: string, position: number): string {
  // Characters beyond the basic plane are one place for the kernel and two for the browser.
  const before = [...text].slice(0, position);
  return `${text}\n${" ".repeat(before.length)}^`;
}
