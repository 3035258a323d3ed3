// Where a key leads in the grid.
import type { Linearization } from "#model/layouts/linearization.ts";
import type { Entry } from "#model/layouts/order.ts";
import { nextElement, previousElement } from "#views/linearization/geometry/order.ts";

/** The entry that a key selects, beginning from the selected one (or the first entry); null for keys that mean nothing here. */
export function moved(linear: Linearization, dims: readonly string[], selected: Entry | null, key: string): Entry | null {
  const from: Entry = selected ?? { index: linear.dims.map(() => 0), field: 0 };
  const [across, down] = dims.map((name) => linear.dimension(name));
  const others = linear.dims.map((_, dim) => dim).filter((dim) => dim !== across && dim !== down);
  const by = (dim: number | undefined, way: number): Entry => {
    if (dim === undefined || dim < 0) return from;
    const size = linear.dims[dim]?.size ?? 1;
    return { ...from, index: from.index.map((at, place) => (place === dim ? Math.max(0, Math.min(size - 1, at + way)) : at)) };
  };
  switch (key) {
    case "ArrowRight":
      return selected === null ? from : by(across, 1);
    case "ArrowLeft":
      return by(across, -1);
    case "ArrowDown":
      return selected === null ? from : by(down, 1);
    case "ArrowUp":
      return by(down, -1);
    case "Home":
      return by(across, -Infinity);
    case "End":
      return by(across, Infinity);
    case "PageDown":
      return others.length > 0 ? by(others[0], 1) : by(down, 10);
    case "PageUp":
      return others.length > 0 ? by(others[0], -1) : by(down, -10);
    case "n":
      return selected === null ? from : nextElement(linear, from);
    case "p":
      return previousElement(linear, from);
    case "f":
      return { ...from, field: (from.field + 1) % linear.fields.length };
    default:
      return null;
  }
}
