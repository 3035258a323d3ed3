// The cases that layout_cases.py wrote: a page holds them, a process reads them from the file that ISOVIZ_LAYOUT_CASES names.

/** The cases as data. */
export async function pythonCases<T>(): Promise<T> {
  if (typeof document !== "undefined") return (await fetch("layout-cases.json")).json() as Promise<T>;
  const { readFile } = await import("node:fs/promises");
  const path = process.env["ISOVIZ_LAYOUT_CASES"];
  if (path === undefined) throw new Error("ISOVIZ_LAYOUT_CASES names no file; write one with: python widgets/layout_cases.py PATH");
  return JSON.parse(await readFile(path, "utf8")) as T;
}
