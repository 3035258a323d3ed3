// Ids of elements.
import { useState } from "preact/hooks";

/** An id of its own on the whole page: those of Preact count afresh for every explorer on it. */
export function useId(): string {
  const [id] = useState(() => `iv-${Math.random().toString(36).slice(2)}`);
  return id;
}
