// What is in the npm package: files, entries, sizes, and that it asks for nothing at run time.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { test } from "node:test";
import { measureSizes, readBudget } from "../../scripts/sizes.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
const hasEntry = (file) => existsSync(new URL(`../../dist/${file}`, import.meta.url));

async function command(name, args) {
  try {
    return (await promisify(execFile)(name, args, { cwd: root, maxBuffer: 64 << 20 })).stdout;
  } catch (error) {
    assert.fail(`${name} ${args.join(" ")}\n${error.stdout}\n${error.stderr}`);
  }
}

test("the tarball holds what a user needs and nothing else", async () => {
  const packed = JSON.parse(await command("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"]));
  const [{ files }] = Array.isArray(packed) ? packed : Object.values(packed);
  const paths = files.map(({ path }) => path);
  const allowed = [
    /^package\.json$/, /^README\.md$/, /^LICENSE-(MIT|APACHE)$/,
    /^dist\/engine\.wasm$/, /^dist\/[a-z-]+(\.d)?\.[jt]s$/, /^dist\/types\/[a-z-]+(\.d)?\.[jt]s$/,
    /^dist\/adapters\/([a-z-]+\/)?[a-z-]+(\.d)?\.[jt]s$/,
    /^dist\/import\/(importer|import-reader|import-worker|import-worker-inline)\.js$/,
    /^dist\/client\/[a-z-]+(\.d)?\.[jt]s$/, /^dist\/worker\/index(\.d)?\.[jt]s$/,
    /^dist\/backup\/(exporter|restorer|encrypted-file)\.js$/,
    /^dist\/inline\/(o200k_base|cl100k_base|static-minilm-256)\.js$/,
    /^dist\/vocabularies\/[a-z0-9_]+\.bin\.gz$/, /^dist\/static-minilm-256\.(bin|NOTICE)$/,
  ];
  assert.deepEqual(paths.filter((path) => !allowed.some((pattern) => pattern.test(path))), []);
  for (const needed of ["dist/engine.wasm", "dist/engine-glue.js", "dist/wasm-inline.js", "dist/index.js", "dist/index.d.ts", "LICENSE-MIT", "LICENSE-APACHE"]) {
    assert.ok(paths.includes(needed), `${needed} is missing`);
  }
  assert.equal(paths.filter((path) => path.endsWith(".wasm")).length, 1, "one copy of the engine");
});

test("the package asks for nothing when it is installed or run", () => {
  for (const field of ["dependencies", "optionalDependencies", "bundledDependencies"]) {
    assert.equal(manifest[field], undefined, field);
  }
  // What an adapter works with is the app's to install, or not.
  for (const peer of Object.keys(manifest.peerDependencies ?? {})) {
    assert.equal(manifest.peerDependenciesMeta?.[peer]?.optional, true, `${peer} must be optional`);
  }
  for (const script of ["preinstall", "install", "postinstall", "prepare", "prepublish"]) {
    assert.equal(manifest.scripts[script], undefined, script);
  }
});

test("what is built in from others keeps its licence", () => {
  for (const file of ["import/import-reader.js", "import/import-worker.js", "import/import-worker-inline.js", "worker/index.js"]) {
    const text = readFileSync(new URL(`../../dist/${file}`, import.meta.url), "utf8");
    assert.match(text, /zip\.js/, file);
    assert.match(text, /Redistributions in binary form must reproduce the above copyright/, file);
  }
});

test("every entry names types first, and is there", () => {
  for (const [entry, target] of Object.entries(manifest.exports)) {
    if (entry === "./static-embedder" && !hasEntry("static-embedder.js")) continue;
    const files = typeof target === "string" ? [target] : Object.values(target);
    for (const file of files) assert.ok(existsSync(new URL(`../../${file}`, import.meta.url)), `${entry}: ${file} is missing`);
    if (typeof target === "object") assert.equal(Object.keys(target)[0], "types", entry);
  }
});

test("Parcel, which reads no exports, finds every entry by its alias", () => {
  const entries = Object.entries(manifest.exports).filter(([name, target]) => typeof target === "object" && name !== ".");
  assert.deepEqual(manifest.alias, Object.fromEntries(entries.map(([name, target]) => [name, target.default])));
  assert.equal(manifest.main, manifest.exports["."].default);
});

test("no compiled file waits at its top level, and Node's modules are imported only by what is for Node", async () => {
  const { stdout } = await promisify(execFile)("grep", ["-rnE", "^(await|const .* = await|import .*[\"']node:)", "dist", "--include=*.js", "--exclude-dir=mcp"], { cwd: root }).catch((error) => error);
  assert.equal(stdout, "");
});

test("the engine and the JavaScript stay within their budget", (context) => {
  const sizes = measureSizes();
  const { goalGzipBytes, limitGzipBytes, tolerance, recorded } = readBudget();
  const total = sizes.engineGzipBytes + sizes.javascriptGzipBytes;
  if (total > goalGzipBytes) context.diagnostic(`${total} bytes gzip; the goal is ${goalGzipBytes} (BENCHMARKS.md, "Sizes")`);
  assert.ok(total <= limitGzipBytes, `${total} bytes gzip; the limit is ${limitGzipBytes}`);
  for (const [name, bytes] of Object.entries(recorded ?? {})) {
    assert.ok(
      sizes[name] <= bytes * (1 + tolerance),
      `${name} grew from ${bytes} to ${sizes[name]}. If that is wanted: node scripts/sizes.mjs --record, and say why in the commit.`,
    );
  }
});

test("publint finds nothing", { skip: !hasEntry("static-embedder.js") && "the static embedder is not built" }, async () => {
  await command("node_modules/.bin/publint", ["--strict", "--pack", "npm"]);
});

test("the types resolve for every consumer of an ESM-only package", async () => {
  const absent = hasEntry("static-embedder.js") ? [] : ["./static-embedder"];
  await command("node_modules/.bin/attw", ["--pack", ".", "--profile", "esm-only", "--format", "ascii", "--exclude-entrypoints", "./engine.wasm", "./import-worker.js", ...absent]);
});
