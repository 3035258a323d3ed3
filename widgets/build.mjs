// Builds the browser half: the loader that a notebook keeps, the script in parts (ES modules that import each other), one style
// sheet, the table of parts and the licences of what is bundled.
//
//   node build.mjs           writes isoviz/widgets/static/
//   node build.mjs --check   fails where that folder does not hold exactly what would be written
//   node build.mjs --dev     serves a page with every view, which is loaded again when a source changes
//   node build.mjs --tests [FOLDER [NAME…]]   bundles the tests for node's test runner and for a page, into .tests/ unless a folder is
//                                             named; of the tests, those whose files have one of these names, such as trace
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "isoviz", "widgets", "static");
/** Bytes: of the loader, of what the first view needs (compressed), of all parts (compressed), and of any one file. */
const limits = { loader: 8 * 1024, core: 144 * 1024, all: 300 * 1024, file: 1_000_000 };

const common = {
  absWorkingDir: here,
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  logLevel: "warning",
  plugins: [everyFile("panes", "panes"), everyFile("shapes", "views/network/shapes")],
};

/** The parts that the tests of the loader play with. */
const testParts = { "core.js": [], "explorer.css": [], "explorer.js": ["core.js"], "later.js": ["core.js"] };

const testsAt = process.argv.indexOf("--tests");
if (process.argv.includes("--dev")) {
  await serve();
} else if (testsAt >= 0) {
  await buildTests(resolve(process.argv[testsAt + 1] ?? join(here, ".tests")), process.argv.slice(testsAt + 2));
} else {
  const { files, core } = await built();
  const there = new Map();
  await mkdir(target, { recursive: true });
  for (const name of await readdir(target)) there.set(name, await readFile(join(target, name)));
  const wrong = [...new Set([...there.keys(), ...Object.keys(files)])].filter(
    (name) => !files[name]?.equals(there.get(name) ?? Buffer.of()),
  );
  if (process.argv.includes("--check")) {
    if (wrong.length > 0) {
      console.error(`isoviz/widgets/static is not what the sources give: ${wrong.join(", ")}; run: npm run build`);
      process.exit(1);
    }
  } else {
    for (const name of wrong) {
      if (files[name] === undefined) await rm(join(target, name));
      else await writeFile(join(target, name), files[name]);
    }
  }
  const zipped = (names) => names.reduce((sum, name) => sum + gzipSync(files[name]).length, 0);
  const sizes = {
    loader: files["loader.js"].length,
    core: zipped(["loader.js", ...core]),
    all: zipped(Object.keys(files).filter((name) => /\.(js|css)$/.test(name))),
    file: Math.max(...Object.values(files).map((bytes) => bytes.length)),
  };
  for (const [what, size] of Object.entries(sizes)) {
    if (size > limits[what]) {
      console.error(`the script is too large: ${what} has ${size} bytes, at most ${limits[what]} are allowed`);
      process.exit(1);
    }
  }
  console.log(`script: loader ${sizes.loader} bytes; compressed, core ${sizes.core} and all ${sizes.all} bytes`);
}

async function serve() {
  const context = await esbuild.context({
    ...common,
    entryPoints: ["dev/page.ts"],
    outdir: "dev",
    write: false,
    sourcemap: "inline",
  });
  await context.watch();
  const { hosts, port } = await context.serve({ servedir: "dev", host: "127.0.0.1" });
  console.log(`every view: http://${hosts[0]}:${port}/`);
}

// Tests without a document run in node (node/*.test.mjs); all of them run in a page (page/index.html), where stand-ins take the
// place of node's modules and `window.results` has what became of each test.
async function buildTests(out, named) {
  const tests = (await readdir(join(here, "tests")))
    .filter((name) => /\.test\.tsx?$/.test(name) && (named.length === 0 || named.includes(name.split(".")[0])))
    .sort();
  await rm(out, { recursive: true, force: true });
  await esbuild.build({
    ...common,
    entryPoints: tests.filter((name) => name.endsWith(".ts")).map((name) => join("tests", name)),
    outdir: join(out, "node"),
    outExtension: { ".js": ".mjs" },
    platform: "node",
    packages: "external",
  });
  const files = tests.map((name) => `[${JSON.stringify(name)}, () => import(${JSON.stringify(`./${name}`)})]`);
  await esbuild.build({
    ...common,
    stdin: {
      contents: `
        import { runFile } from "node:test";
        const results = [];
        for (const [file, load] of [${files.join(", ")}]) results.push(...(await runFile(file, load)));
        window.results = results;
      `,
      resolveDir: join(here, "tests"),
      sourcefile: "all-tests.js",
    },
    outfile: join(out, "page", "tests.js"),
    alias: { "node:test": "./tests/browser/test.ts", "node:assert/strict": "./tests/browser/assert.ts" },
    define: { HASH: JSON.stringify("of tests"), IMPORTS: JSON.stringify(testParts) },
    external: ["node:fs/promises", "node:child_process", "node:os", "node:path"],
    sourcemap: "inline",
  });
  await writeFile(
    join(out, "page", "index.html"),
    `<!doctype html><meta charset="utf-8"><title>tests</title><link rel="icon" href="data:,"><link rel="stylesheet" href="tests.css">
<body><script type="module" src="tests.js"></script></body>\n`,
  );
}

/** `import "isoviz:<name>"` imports every file of a folder of src: a pane, or a shape of networks, is there as soon as its file is. */
function everyFile(name, folder) {
  const path = join(here, "src", folder);
  return {
    name: `every file of ${folder}`,
    setup(build) {
      build.onResolve({ filter: new RegExp(`^isoviz:${name}$`) }, () => ({ path: name, namespace: name }));
      build.onLoad({ filter: /.*/, namespace: name }, async () => {
        const files = (await readdir(path)).filter((file) => /\.tsx?$/.test(file)).sort();
        const contents = files.map((file) => `import "#${folder}/${file}";`).join("\n");
        return { contents, resolveDir: here, watchDirs: [path] };
      });
    },
  };
}

/** The files by name, and the names of those that the first view needs. */
async function built() {
  const entry = "src/index.tsx";
  const { outputFiles, metafile } = await esbuild.build({
    ...common,
    plugins: [...common.plugins, partsHaveTheCore()],
    entryPoints: { explorer: entry },
    splitting: true,
    outdir: target,
    minify: true,
    legalComments: "none",
    metafile: true,
    write: false,
  });
  const outputs = Object.entries(metafile.outputs).map(([path, about]) => [path.split("/").pop(), about]);
  const scripts = outputs.filter(([name]) => name.endsWith(".js"));
  const names = named(scripts, entry);
  const files = {};
  for (const { path, contents } of outputFiles) {
    const name = names.get(path.split(/[\\/]/).pop());
    if (name === undefined) continue; // a sheet of a part: the sheet of the entry has all of them
    let text = Buffer.from(contents).toString();
    for (const [before, after] of names) text = text.replaceAll(`"./${before}"`, `"./${after}"`);
    files[name] = Buffer.from(text);
  }
  const imports = Object.fromEntries(
    scripts.map(([name, about]) => [
      names.get(name),
      about.imports
        .filter(({ kind }) => kind === "import-statement")
        .map(({ path }) => names.get(path.split("/").pop()))
        .sort(),
    ]),
  );
  imports["explorer.css"] = [];
  const parts = Object.keys(imports).sort();
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part).update(files[part]);
  hash.update(await readFile(join(here, "src", "loader.ts")));
  const table = {
    hash: hash.digest("hex").slice(0, 16),
    imports: Object.fromEntries(parts.map((part) => [part, imports[part]])),
  };
  const loader = await esbuild.build({
    ...common,
    entryPoints: ["src/loader.ts"],
    define: { HASH: JSON.stringify(table.hash), IMPORTS: JSON.stringify(table.imports) },
    minify: true,
    legalComments: "none",
    write: false,
  });
  const [{ contents }] = loader.outputFiles;
  return {
    files: {
      ...files,
      "loader.js": Buffer.from(contents),
      "parts.json": Buffer.from(`${JSON.stringify(table, null, 1)}\n`),
      "THIRD-PARTY-LICENSES.txt": Buffer.from(await licences(Object.keys(metafile.inputs))),
    },
    core: ["explorer.js", ...imports["explorer.js"], "explorer.css"],
  };
}

/** Names without digests: "core.js" is what every part imports, and what several parts share is named after them. */
function named(scripts, entry) {
  const about = new Map(scripts);
  const isPart = ({ entryPoint, inputs }) => entryPoint !== undefined && entryPoint !== entry && inputs[entry] === undefined;
  const needs = (name) => {
    const own = about
      .get(name)
      .imports.filter(({ kind }) => kind === "import-statement")
      .map(({ path }) => path.split("/").pop());
    return new Set([...own, ...own.flatMap((other) => [...needs(other)])]);
  };
  const plain = (name) => name.replace(/-[A-Z0-9]{8}\.js$/, "");
  const users = scripts.filter(([, each]) => isPart(each)).map(([name]) => [plain(name), needs(name)]);
  const names = new Map([["explorer.css", "explorer.css"]]);
  for (const [name, each] of scripts) {
    const of = users.filter(([, needed]) => needed.has(name)).map(([user]) => user);
    const isCore = each.inputs[entry] !== undefined;
    names.set(
      name,
      isCore
        ? "core.js"
        : each.entryPoint === entry
          ? "explorer.js"
          : `${isPart(each) ? plain(name) : `of-${of.sort().join("-")}`}.js`,
    );
  }
  if (new Set(names.values()).size < names.size) throw new Error(`two parts have one name: ${[...names.values()].join(", ")}`);
  return names;
}

/**
 * What is imported when it is needed (`import("…")`) becomes a part of its own. Each part imports the entry, which is there before any
 * part is: so all that the entry has lies in one file, and parts share their own code alone.
 */
function partsHaveTheCore() {
  return {
    name: "parts have the core",
    setup(build) {
      build.onResolve({ filter: /.*/ }, async ({ path, kind, pluginData, ...rest }) => {
        if (kind !== "dynamic-import" || pluginData === "resolved") return undefined;
        const found = await build.resolve(path, { kind, ...rest, pluginData: "resolved" });
        return { ...found, namespace: "part" };
      });
      build.onLoad({ filter: /.*/, namespace: "part" }, ({ path }) => ({
        contents: `import ${JSON.stringify(join(here, "src", "index.tsx"))};\nexport * from ${JSON.stringify(path)};`,
        resolveDir: here,
      }));
    },
  };
}

async function licences(inputs) {
  const names = new Set(
    inputs.map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter((name) => name !== undefined),
  );
  const parts = ["The script contains the following packages, each under its own licence.\n"];
  for (const name of [...names].sort()) {
    const folder = join(here, "node_modules", name);
    const about = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no licence file`);
    const text = (await readFile(join(folder, file), "utf8")).replaceAll("\r\n", "\n").trim();
    parts.push(`${"-".repeat(72)}\n${name} ${about.version} (${about.license})\n\n${text}\n`);
  }
  return parts.join("\n");
}
