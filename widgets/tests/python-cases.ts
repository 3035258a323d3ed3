// The cases that layout_cases.py writes: a page is given them as a file; node has Python write them.

/** The cases as data. */
export async function pythonCases<T>(): Promise<T> {
  if (typeof document !== "undefined") return (await fetch("layout-cases.json")).json() as Promise<T>;
  const { execFileSync } = await import("node:child_process");
  const { mkdtemp, readFile, rm } = await import("node:fs/promises");
  const { tmpdir } = await import("node:os");
  const { join } = await import("node:path");
  const folder = await mkdtemp(join(tmpdir(), "isoviz-"));
  try {
    const path = join(folder, "layout-cases.json");
    execFileSync("python", ["layout_cases.py", path], { stdio: ["ignore", "inherit", "inherit"] }); // npm runs in widgets/
    return JSON.parse(await readFile(path, "utf8")) as T;
  } finally {
    await rm(folder, { recursive: true });
  }
}
