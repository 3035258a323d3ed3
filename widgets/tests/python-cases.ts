// Cases that Python writes (layout_cases.py, trace_cases.py, …): a page is given them as a file; node has Python write them.

/** The cases as data. */
export async function pythonCases<T>(script = "layout_cases.py", name = "layout-cases.json"): Promise<T> {
  if (typeof document !== "undefined") return (await fetch(name)).json() as Promise<T>;
  const { execFileSync } = await import("node:child_process");
  const { mkdtemp, readFile, rm } = await import("node:fs/promises");
  const { tmpdir } = await import("node:os");
  const { join } = await import("node:path");
  const folder = await mkdtemp(join(tmpdir(), "isoviz-"));
  try {
    const path = join(folder, name);
    execFileSync("python", [script, path], { stdio: ["ignore", "inherit", "inherit"] }); // npm runs in widgets/
    return JSON.parse(await readFile(path, "utf8")) as T;
  } finally {
    await rm(folder, { recursive: true });
  }
}
