// The part of node:test that the tests use, for pages: tests are collected by file and run one after the other.

type Action = () => unknown;

interface Hooks {
  readonly before: Action[];
  readonly after: Action[];
  readonly beforeEach: Action[];
  readonly afterEach: Action[];
}

interface Collected {
  readonly name: string;
  readonly action: Action;
  readonly hooks: readonly Hooks[];
}

/** What became of one test; `error` is null where it passed. */
export interface Result {
  readonly file: string;
  readonly name: string;
  readonly error: string | null;
  readonly milliseconds: number;
}

const PATIENCE = 60_000; // milliseconds that one test may take

let hooks: Hooks[] = [noHooks()];
let names: string[] = [];
let collected: Collected[] = [];

function noHooks(): Hooks {
  return { before: [], after: [], beforeEach: [], afterEach: [] };
}

/** A test; options between the name and the function are as node:test has them, and only `skip` matters. */
export function test(name: string, ...rest: [Action] | [{ skip?: boolean | string }, Action]): void {
  const [first, second] = rest;
  if (typeof first !== "function" && first.skip) return;
  const action = typeof first === "function" ? first : (second as Action);
  collected.push({ name: [...names, name].join(" › "), action, hooks: [...hooks] });
}
export const it = test;

/** Tests that share a name and hooks. */
export function describe(name: string, body: () => void): void {
  [names, hooks] = [
    [...names, name],
    [...hooks, noHooks()],
  ];
  body();
  [names, hooks] = [names.slice(0, -1), hooks.slice(0, -1)];
}
export const suite = describe;

export const before = (action: Action): void => void hooks.at(-1)?.before.push(action);
export const after = (action: Action): void => void hooks.at(-1)?.after.push(action);
export const beforeEach = (action: Action): void => void hooks.at(-1)?.beforeEach.push(action);
export const afterEach = (action: Action): void => void hooks.at(-1)?.afterEach.push(action);
export default test;

/** Run the tests that loading a file collects. */
export async function runFile(file: string, load: () => Promise<unknown>): Promise<Result[]> {
  [hooks, names, collected] = [[noHooks()], [], []];
  const results: Result[] = [];
  const attempt = async (name: string, action: Action): Promise<void> => {
    const started = performance.now();
    const error = await outcome(action);
    results.push({ file, name, error, milliseconds: performance.now() - started });
  };
  await attempt("(loading the file)", load);
  const groups = new Set(collected.flatMap((found) => found.hooks));
  const begun = new Set<Hooks>();
  for (const found of collected)
    await attempt(found.name, async () => {
      for (const group of found.hooks)
        if (!begun.has(group)) {
          begun.add(group);
          await all(group.before);
        }
      for (const group of found.hooks) await all(group.beforeEach);
      try {
        await found.action();
      } finally {
        for (const group of [...found.hooks].reverse()) await all(group.afterEach);
      }
    });
  const ends = [...groups].flatMap((group) => group.after);
  if (ends.length > 0) await attempt("(after all tests)", () => all(ends));
  return results;
}

async function all(actions: readonly Action[]): Promise<void> {
  for (const action of actions) await action();
}

/** The error of an action, with errors that nobody caught meanwhile; null where it passed. */
async function outcome(action: Action): Promise<string | null> {
  const stray: string[] = [];
  const note = (event: ErrorEvent | PromiseRejectionEvent): void => {
    stray.push(words("reason" in event ? event.reason : (event.error ?? event.message)));
  };
  globalThis.addEventListener("error", note);
  globalThis.addEventListener("unhandledrejection", note);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it takes more than ${PATIENCE / 1000} s`)), PATIENCE);
  });
  try {
    await Promise.race([(async () => action())(), late]);
  } catch (error) {
    return words(error);
  } finally {
    clearTimeout(timer);
    globalThis.removeEventListener("error", note);
    globalThis.removeEventListener("unhandledrejection", note);
  }
  return stray.length === 0 ? null : `uncaught: ${stray.join("\n")}`;
}

function words(error: unknown): string {
  return error instanceof Error ? (error.stack ?? String(error)) : String(error);
}
