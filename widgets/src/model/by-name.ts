// Values by names that users choose. A map holds them: an object has a `constructor`, a `toString` and a `__proto__` before anybody
// names a dimension so.
import type { Named } from "./types.ts";

export type ByName<Value> = ReadonlyMap<string, Value>;

const made = new WeakMap<object, ByName<unknown>>();

/** What the kernel says by name, as a map: the same one each time. */
export function byName<Value>(pairs: Named<Value>): ByName<Value> {
  let found = made.get(pairs);
  if (found === undefined) made.set(pairs, (found = new Map(pairs)));
  return found as ByName<Value>;
}

/** The pairs with another value of a name. */
export function withName<Value>(pairs: Named<Value>, name: string, value: Value): Named<Value> {
  return [...new Map(pairs).set(name, value)];
}
