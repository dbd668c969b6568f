// Builds the package into dist/: the engine's WebAssembly and its glue, the TypeScript, the fallback chunk, the
// importer, the vocabularies. A step whose inputs have not changed is skipped.

import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { withOrderedNames } from "./function-order.mjs";
import {
  ROOT, TOOLS, Stop, ensurePackages, ensureRust, ensureWasmBindgen, main, output, pinnedWasmBindgen, run, say, step, targetDirectory,
} from "./toolchain.mjs";

const DIST = join(ROOT, "dist");
const WORK = join(TOOLS, "build");
const RUST_SOURCES = ["src", "Cargo.toml", "Cargo.lock", ".cargo"];
const MADE_WITH_THE_ENGINE = ["engine-glue.js", "wasm-inline.js"];
/** Folders of dist/ that hold no compiled code. */
const DATA_FOLDERS = ["vocabularies", "inline"];
const OWN_SCRIPTS = ["scripts/build.mjs", "scripts/function-order.mjs", "scripts/toolchain.mjs"];

/** Brings dist/ up to date. */
export async function build() {
  const begin = Date.now();
  await ensurePackages();
  await ensureRust();
  await ensureWasmBindgen();
  mkdirSync(DIST, { recursive: true });
  await buildEngine();
  await buildTypeScript();
  await buildVocabularies();
  await copyStaticEmbedder();
  await writeInlineFiles();
  say(`The package is built (dist/, ${((Date.now() - begin) / 1000).toFixed(1)} s).`);
}

async function buildEngine() {
  await step(
    "Build the engine (Rust to WebAssembly)",
    {
      inputs: [...RUST_SOURCES, ...OWN_SCRIPTS, "js/microtask-guard.ts"],
      extra: pinnedWasmBindgen(),
      outputs: ["dist/engine.wasm", "dist/engine-glue.js", "dist/wasm-inline.js"],
    },
    async () => {
      const target = "wasm32-unknown-unknown";
      // The crates must be there before their folder is asked for.
      await run("cargo", ["fetch", "--locked", "--target", target]);
      // Only the cdylib: beside an rlib cargo leaves link-time optimisation out without a word.
      await run("cargo", [...withoutLocalPaths(target), "rustc", "--locked", "--release", "--target", target, "--features", "wasm", "--lib", "--crate-type", "cdylib"]);
      rmSync(WORK, { recursive: true, force: true });
      await run("wasm-bindgen", [
        join(targetDirectory(), target, "release", "throughline.wasm"),
        "--target", "web", "--out-dir", WORK, "--out-name", "engine", "--no-typescript",
        // The loader is ours (js/wasm-loader.ts); the reset function gives a fresh instance after a trap.
        "--omit-default-module-path", "--experimental-reset-state-function",
      ]);
      await optimise(join(WORK, "engine_bg.wasm"), join(DIST, "engine.wasm"));
      await bundleGlue();
      writeChunk("engine.wasm", "wasm-inline.js");
    },
  );
}

/**
 * Panic messages name source files: without this they would carry the paths of the machine that built the engine, those of the
 * crates and, where rust-src is installed, of the standard library too; and another folder would make another file.
 */
function withoutLocalPaths(target) {
  const crates = join(process.env.CARGO_HOME ?? join(homedir(), ".cargo"), "registry", "src");
  const registries = existsSync(crates) ? readdirSync(crates).map((name) => [join(crates, name), "crates"]) : [];
  const flags = [...registries, standardLibrary(), [ROOT, "throughline"]].map(([from, to]) => `--remap-path-prefix=${from}=${to}`);
  return ["--config", `target.${target}.rustflags=${JSON.stringify(flags)}`];
}

/** Where the standard library's sources are, and the name that they have in a compiler without them. */
function standardLibrary() {
  const [, commit] = /^commit-hash: (\w+)$/m.exec(output("rustc", ["--version", "--verbose"]) ?? "") ?? [];
  return [join(output("rustc", ["--print", "sysroot"]) ?? "", "lib/rustlib/src/rust"), `/rustc/${commit}`];
}

/** wasm-opt, for size: once more after the first time, in the order in which the functions pack best. */
export async function optimise(from, to) {
  const named = `${from}.named`;
  await wasmOpt(from, named, ["-Oz", "-g"]);
  writeFileSync(named, withOrderedNames(readFileSync(named)));
  await wasmOpt(named, to, ["-Oz", "--reorder-functions-by-name", "--strip-debug", "--strip-producers"]);
  rmSync(named);
}

/** wasm-opt with the features that the engine is built with. */
function wasmOpt(from, to, passes) {
  return run(process.execPath, [
    join(ROOT, "node_modules/binaryen/bin/wasm-opt"), from, "-o", to, ...passes,
    // What has one caller stays a function: put into it, chains of async functions become one that packs worse.
    "--one-caller-inline-max-function-size=100",
    // Nothing lies below 1024 but the far end of the stack: small offsets go into the loads and stores.
    "--low-memory-unused",
    "--enable-simd", "--enable-bulk-memory", "--enable-nontrapping-float-to-int", "--enable-sign-ext",
    "--enable-mutable-globals", "--enable-reference-types", "--enable-multivalue",
  ]);
}

/** The glue's `queueMicrotask` becomes the guarded one of js/microtask-guard.ts; comments and white space go. */
async function bundleGlue() {
  const esbuild = await import("esbuild");
  const inject = join(WORK, "inject.js");
  writeFileSync(inject, `export { guardedQueueMicrotask as queueMicrotask } from "./microtask-guard.js";\n`);
  const result = await esbuild.build({
    entryPoints: [join(WORK, "engine.js")],
    outfile: join(DIST, "engine-glue.js"),
    inject: [inject],
    bundle: true,
    external: ["./microtask-guard.js"],
    format: "esm",
    target: "es2022",
    minify: true,
    legalComments: "none",
    write: false,
  });
  const [file] = result.outputFiles;
  if (!file.text.includes("guardedQueueMicrotask")) {
    throw new Stop("The generated glue no longer calls queueMicrotask: scripts/build.mjs must guard what it calls instead (see js/microtask-guard.ts).");
  }
  writeFileSync(join(DIST, "engine-glue.js"), withoutStaleThrow(file.text));
}

/**
 * After a trap the instance is replaced, and events and timers that it still waits for reach closures of the former one.
 * Nobody waits for those, so they do nothing instead of throwing where the page would see an error of its own.
 */
function withoutStaleThrow(glue) {
  const stale = 'throw new Error("Cannot invoke closure from previous WASM instance")';
  if (glue.split(stale).length !== 2) {
    throw new Stop("The generated glue no longer refuses closures of a former instance in the known words: look at withoutStaleThrow in scripts/build.mjs.");
  }
  return glue.replace(stale, "return");
}

/** A file as a module that holds it as text, gzip in base64: what js/package-file.ts reads where a bundler loses the file. */
function writeChunk(from, to) {
  const bytes = readFileSync(join(DIST, from));
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const packed = isPacked ? bytes : gzipSync(bytes, { level: 9 });
  writeFileSync(join(DIST, to), `export const base64 = "${packed.toString("base64")}";\n`);
}

/** The vocabularies and the embedder's table once more, as chunks. */
async function writeInlineFiles() {
  const files = ["vocabularies/o200k_base.bin.gz", "vocabularies/cl100k_base.bin.gz", "static-minilm-256.bin"].filter((name) => existsSync(join(DIST, name)));
  const chunk = (name) => `inline/${name.replace("vocabularies/", "").replace(/\.bin(\.gz)?$/, "")}.js`;
  await step("Make the fallback chunks", { inputs: [...files.map((name) => `dist/${name}`), ...OWN_SCRIPTS], outputs: files.map((name) => `dist/${chunk(name)}`) }, () => {
    mkdirSync(join(DIST, "inline"), { recursive: true });
    for (const name of files) writeChunk(name, chunk(name));
  });
}

async function buildTypeScript() {
  await step(
    "Compile the TypeScript",
    // The engine's glue is in the worker's file.
    { inputs: ["js", "tsconfig.json", "package-lock.json", "dist/engine-glue.js", ...OWN_SCRIPTS], outputs: ["dist/index.js", "dist/index.d.ts", "dist/import/importer.js", "dist/import/import-reader.js", "dist/import/import-worker-inline.js", "dist/client/index.js", "dist/worker/index.js", "dist/backup/exporter.js", "dist/backup/restorer.js"] },
    async () => {
      removeCompiled();
      await run(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.json"]);
      await stripComments();
      // In this order: each needs parts that the next bundles away.
      await bundleWorker();
      await bundleBackup();
      await bundleImporter();
      copyFileSync(join(ROOT, "js/engine-glue.d.ts"), join(DIST, "engine-glue.d.ts"));
      copyFileSync(join(ROOT, "js/wasm-inline.d.ts"), join(DIST, "wasm-inline.d.ts"));
    },
  );
}

/** The comments stay in the declarations, where editors show them; pages need not download them. */
async function stripComments() {
  const { transform } = await import("esbuild");
  for (const name of readdirSync(DIST, { recursive: true }).filter(isCompiled)) {
    // Without this, esbuild keeps the comments inside of classes and functions.
    const options = { format: "esm", target: "es2022", minifyWhitespace: true, legalComments: "none" };
    const { code } = await transform(readFileSync(join(DIST, name), "utf8"), options);
    writeFileSync(join(DIST, name), code);
  }
}

function isCompiled(name) {
  return name.endsWith(".js") && !MADE_WITH_THE_ENGINE.includes(name) && !DATA_FOLDERS.some((folder) => name.startsWith(folder + sep));
}

/**
 * The importer is loaded when an app calls `import`: one file that stores, and what reads: as a module, as the text of a
 * worker, and as the worker's file. Only one of the three is ever downloaded. The zip library is in each, with its licence.
 */
async function bundleImporter() {
  const { build } = await import("esbuild");
  const folder = join(DIST, "import");
  const banner = zipLicence();
  const shared = { bundle: true, target: "es2022", minify: true, legalComments: "none", write: false };
  const bundled = async (entry, options) => (await build({ ...shared, ...options, entryPoints: [join(folder, entry)] })).outputFiles[0].text;
  const importer = await bundled("importer.js", { format: "esm", external: ["../errors.js", "../arguments.js", "./import-reader.js", "./import-worker-inline.js", "../backup/restorer.js"] });
  const reader = await bundled("import-reader.js", { format: "esm", external: ["../errors.js", "../arguments.js"], banner });
  const worker = await bundled("import-worker.js", { format: "iife", banner });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  writeFileSync(join(folder, "importer.js"), importer);
  writeFileSync(join(folder, "import-reader.js"), reader);
  writeFileSync(join(folder, "import-worker.js"), worker);
  writeFileSync(join(folder, "import-worker-inline.js"), `export const code = ${JSON.stringify(worker)};\n`);
}

/**
 * The worker with the engine is one file that loads nothing by itself: bundlers build workers without splitting them, and find
 * no files from there. The page compiles the engine and gives it; imports are read in this worker, so it needs no other.
 */
async function bundleWorker() {
  const { build } = await import("esbuild");
  const folder = join(DIST, "worker");
  const instead = { "wasm-loader.js": join(folder, "given-engine.js"), "import-worker-inline.js": undefined };
  const plugin = {
    name: "the page gives the engine",
    setup(build) {
      build.onResolve({ filter: /(wasm-loader|import-worker-inline)\.js$/ }, ({ path }) => {
        const file = instead[path.split("/").at(-1)];
        return file === undefined ? { path, namespace: "absent" } : { path: file };
      });
      build.onLoad({ filter: /./, namespace: "absent" }, () => ({ contents: "" }));
    },
  };
  const options = { bundle: true, format: "esm", target: "es2022", minify: true, legalComments: "none", write: false, banner: zipLicence() };
  const { outputFiles } = await build({ ...options, entryPoints: [join(folder, "index.js")], plugins: [plugin] });
  const [{ text }] = outputFiles;
  if (/\bimport\s*\(\s*["'`]|new URL\([^)]*import\.meta/.test(text)) throw new Stop("The worker's file must load nothing by itself: see bundleWorker in scripts/build.mjs.");
  for (const name of readdirSync(folder).filter((each) => !each.startsWith("index."))) rmSync(join(folder, name));
  writeFileSync(join(folder, "index.js"), text);
}

/** The zip library's licence, for each file that it is built into. */
function zipLicence() {
  const licence = readFileSync(join(ROOT, "node_modules/@zip.js/zip.js/LICENSE"), "utf8");
  return { js: `/*! This file contains zip.js (https://github.com/gildas-lormeau/zip.js).\n${licence.trim()}\n*/` };
}

/** What exports and imports backups is loaded when an app does so; what encrypts, when it wants that. */
async function bundleBackup() {
  const { build } = await import("esbuild");
  const folder = join(DIST, "backup");
  const external = ["../errors.js", "../arguments.js", "../session.js", "./encrypted-file.js"];
  const parts = ["exporter.js", "restorer.js", "encrypted-file.js"];
  const bundled = [];
  for (const part of parts) {
    const entryPoints = [join(folder, part)];
    const { outputFiles } = await build({ entryPoints, bundle: true, external, format: "esm", target: "es2022", minify: true, legalComments: "none", write: false });
    bundled.push(outputFiles[0].text);
  }
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  parts.forEach((part, index) => writeFileSync(join(folder, part), bundled[index]));
}

/** What was compiled from a source file that is gone must not be shipped. */
function removeCompiled() {
  const folders = readdirSync(DIST, { withFileTypes: true }).filter((entry) => entry.isDirectory() && !DATA_FOLDERS.includes(entry.name));
  for (const { name } of folders) rmSync(join(DIST, name), { recursive: true, force: true });
  for (const name of readdirSync(DIST)) {
    if (/\.[jt]s$/.test(name) && !MADE_WITH_THE_ENGINE.includes(name)) rmSync(join(DIST, name));
  }
}

async function buildVocabularies() {
  await step(
    "Make the vocabularies",
    { inputs: ["src/tokens", "Cargo.lock", ...OWN_SCRIPTS], outputs: ["dist/vocabularies/o200k_base.bin.gz", "dist/vocabularies/cl100k_base.bin.gz"] },
    async () => {
      const plain = join(WORK, "vocabularies");
      const packed = join(DIST, "vocabularies");
      rmSync(plain, { recursive: true, force: true });
      rmSync(packed, { recursive: true, force: true });
      mkdirSync(plain, { recursive: true });
      mkdirSync(packed, { recursive: true });
      // Not a release build: linking it would take longer than all that it saves.
      await run("cargo", ["run", "--locked", "-p", "throughline-tokens", "--features", "tiktoken", "--", plain]);
      for (const name of readdirSync(plain).filter((each) => each.endsWith(".bin"))) {
        writeFileSync(join(packed, `${name}.gz`), gzipSync(readFileSync(join(plain, name)), { level: 9 }));
      }
    },
  );
}

/** The static embedder's table, and the notice of what it was made from, beside the code that loads it. */
async function copyStaticEmbedder() {
  const from = "assets/static-minilm";
  const table = "static-minilm-256.bin";
  if (!existsSync(join(ROOT, from))) return;
  await step("Copy the static embedder's table", { inputs: [from, ...OWN_SCRIPTS], outputs: [`dist/${table}`, "dist/static-minilm-256.NOTICE"] }, () => {
    copyFileSync(join(ROOT, from, table), join(DIST, table));
    copyFileSync(join(ROOT, from, "NOTICE"), join(DIST, "static-minilm-256.NOTICE"));
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main(build);
