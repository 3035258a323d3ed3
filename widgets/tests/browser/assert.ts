// The part of node:assert/strict that the tests use, for pages.

export class AssertionError extends Error {
  override readonly name = "AssertionError";
}

function fail(message: string | Error | undefined, otherwise: string): never {
  if (message instanceof Error) throw message;
  throw new AssertionError(message === undefined ? otherwise : `${message}\n${otherwise}`);
}

/** A value as a failure shows it. */
function shown(value: unknown): string {
  if (value instanceof RegExp || value instanceof Error || typeof value === "function") return String(value);
  if (value instanceof Element) return value.outerHTML.slice(0, 300);
  if (value === undefined || typeof value === "number" || typeof value === "bigint") return String(value);
  try {
    const text = JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? `${part}n` : part));
    return text.length <= 1500 ? text : `${text.slice(0, 1500)}…`;
  } catch {
    return String(value);
  }
}

/** Whether two values are equal in depth: the same kinds with the same parts; numbers as Object.is has it. */
function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (a instanceof Date) return a.getTime() === (b as Date).getTime();
  if (a instanceof RegExp) return String(a) === String(b);
  if (a instanceof Set || a instanceof Map) return same([...a], [...(b as Set<unknown>)]);
  if (a instanceof Element) return false;
  const [left, right] = [a as Record<PropertyKey, unknown>, b as Record<PropertyKey, unknown>];
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length && keys.every((key) => Object.hasOwn(right, key) && same(left[key], right[key]))
  );
}

/** Whether an error is the expected one: by its class, by a pattern in its text, by its properties, or as a function says. */
function fits(error: unknown, expected: unknown): boolean {
  if (expected === undefined) return true;
  if (expected instanceof RegExp) return expected.test(String(error));
  if (typeof expected === "function") {
    const named = expected as { prototype?: unknown } & ((error: unknown) => unknown);
    if (typeof named.prototype === "object" && error instanceof (expected as unknown as new () => object)) return true;
    return !(expected === Error || expected.prototype instanceof Error) && named(error) === true;
  }
  return Object.entries(expected as object).every(([key, value]) => {
    const found = (error as Record<string, unknown>)[key];
    return value instanceof RegExp ? value.test(String(found)) : same(found, value);
  });
}

function ok(value: unknown, message?: string | Error): asserts value {
  if (!value) fail(message, `${shown(value)} is not true`);
}

function thrownBy(action: () => unknown): { error: unknown } | null {
  try {
    action();
    return null;
  } catch (error) {
    return { error };
  }
}

function checkThrown(thrown: { error: unknown } | null, expected: unknown, message?: string): void {
  const [pattern, words] = typeof expected === "string" ? [undefined, expected] : [expected, message];
  if (thrown === null) fail(words, "nothing was thrown");
  if (!fits(thrown.error, pattern)) fail(words, `${shown(thrown.error)} was thrown, not ${shown(pattern)}`);
}

const assert = Object.assign((value: unknown, message?: string | Error): void => ok(value, message), {
  AssertionError,
  ok,
  fail: (message?: string | Error): never => fail(message, "failed"),
  equal(actual: unknown, expected: unknown, message?: string | Error): void {
    if (!Object.is(actual, expected)) fail(message, `actual: ${shown(actual)}\nexpected: ${shown(expected)}`);
  },
  notEqual(actual: unknown, expected: unknown, message?: string | Error): void {
    if (Object.is(actual, expected)) fail(message, `both are ${shown(actual)}`);
  },
  deepEqual(actual: unknown, expected: unknown, message?: string | Error): void {
    if (!same(actual, expected)) fail(message, `actual: ${shown(actual)}\nexpected: ${shown(expected)}`);
  },
  notDeepEqual(actual: unknown, expected: unknown, message?: string | Error): void {
    if (same(actual, expected)) fail(message, `both are ${shown(actual)}`);
  },
  match(text: string, pattern: RegExp, message?: string | Error): void {
    if (!pattern.test(text)) fail(message, `${shown(text)} does not match ${pattern}`);
  },
  doesNotMatch(text: string, pattern: RegExp, message?: string | Error): void {
    if (pattern.test(text)) fail(message, `${shown(text)} matches ${pattern}`);
  },
  throws(action: () => unknown, expected?: unknown, message?: string): void {
    checkThrown(thrownBy(action), expected, message);
  },
  doesNotThrow(action: () => unknown): void {
    action();
  },
  async rejects(action: Promise<unknown> | (() => Promise<unknown>), expected?: unknown, message?: string): Promise<void> {
    const promise = typeof action === "function" ? action() : action;
    const thrown = await promise.then(
      () => null,
      (error: unknown) => ({ error }),
    );
    checkThrown(thrown, expected, message);
  },
});

export default assert;
export { ok };
export const { equal, notEqual, deepEqual, notDeepEqual, match, doesNotMatch, throws, doesNotThrow, rejects } = assert;
