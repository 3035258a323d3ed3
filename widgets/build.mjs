// Builds the browser half: one ES module, one style sheet and the licences of what is bundled.
//
//   node build.mjs           writes isoviz/widgets/static/
//   node build.mjs --check   fails where that folder does not hold exactly what would be written
//   node build.mjs --dev     serves a page with every view, which is loaded again when a source changes
//   node build.mjs --tests [FOLDER [NAME…]]   bundles the tests for node's test runner and for a page, into .tests/ unless a folder is
//                                             named; of the tests, those whose files have one of these names, such as trace
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "isoviz", "widgets", "static");
const limits = { raw: 700 * 1024, gzip: 200 * 1024 };

const common = {
  absWorkingDir: here,
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  logLevel: "warning",
  plugins: [everyPane()],
};

const testsAt = process.argv.indexOf("--tests");
if (process.argv.includes("--dev")) {
  await serve();
} else if (testsAt >= 0) {
  await buildTests(resolve(process.argv[testsAt + 1] ?? join(here, ".tests")), process.argv.slice(testsAt + 2));
} else {
  const files = await built();
  const wrong = [];
  await mkdir(target, { recursive: true });
  for (const [name, bytes] of Object.entries(files)) {
    const path = join(target, name);
    if (process.argv.includes("--check")) {
      const there = await readFile(path).catch(() => Buffer.alloc(0));
      if (!there.equals(bytes)) wrong.push(name);
    } else {
      await writeFile(path, bytes);
    }
  }
  if (wrong.length > 0) {
    console.error(`isoviz/widgets/static is not what the sources give: ${wrong.join(", ")}; run: npm run build`);
    process.exit(1);
  }
  const raw = Object.values(files).reduce((sum, bytes) => sum + bytes.length, 0);
  const gzip = Object.values(files).reduce((sum, bytes) => sum + gzipSync(bytes).length, 0);
  if (raw > limits.raw || gzip > limits.gzip) {
    console.error(`bundle too large: ${raw} bytes raw (limit ${limits.raw}), ${gzip} gzip (limit ${limits.gzip})`);
    process.exit(1);
  }
  console.log(`bundle: ${raw} bytes, ${gzip} bytes gzip`);
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
    external: ["node:fs/promises", "node:child_process", "node:os", "node:path"],
    sourcemap: "inline",
  });
  await writeFile(
    join(out, "page", "index.html"),
    `<!doctype html><meta charset="utf-8"><title>tests</title><link rel="icon" href="data:,"><link rel="stylesheet" href="tests.css">
<body><script type="module" src="tests.js"></script></body>\n`,
  );
}

/** `import "isoviz:panes"` imports every file of src/panes: a pane is there as soon as its file is. */
function everyPane() {
  const folder = join(here, "src", "panes");
  return {
    name: "every pane",
    setup(build) {
      build.onResolve({ filter: /^isoviz:panes$/ }, ({ path }) => ({ path, namespace: "panes" }));
      build.onLoad({ filter: /.*/, namespace: "panes" }, async () => {
        const files = (await readdir(folder)).filter((name) => name.endsWith(".tsx")).sort();
        const contents = files.map((name) => `import "#panes/${name}";`).join("\n");
        return { contents, resolveDir: here, watchDirs: [folder] };
      });
    },
  };
}

async function built() {
  const { outputFiles, metafile } = await esbuild.build({
    ...common,
    entryPoints: ["src/index.tsx"],
    outfile: "explorer.js",
    minify: true,
    legalComments: "none",
    metafile: true,
    write: false,
  });
  const output = (ending) => Buffer.from(outputFiles.find(({ path }) => path.endsWith(ending)).contents);
  return {
    "explorer.js": output(".js"),
    "explorer.css": output(".css"),
    "THIRD-PARTY-LICENSES.txt": Buffer.from(await licences(Object.keys(metafile.inputs))),
  };
}

async function licences(inputs) {
  const names = new Set(
    inputs.map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter((name) => name !== undefined),
  );
  const parts = ["explorer.js contains the following packages, each under its own licence.\n"];
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
