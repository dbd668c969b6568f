// A folder with everything that the benchmark's pages load, a server for it, and Chromium.

import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { optimise } from "../scripts/build.mjs";
import { serve } from "../scripts/serve.mjs";
import { ROOT, TOOLS, ensureChromium, installPackages, run, step, targetDirectory } from "../scripts/toolchain.mjs";
import { watchWorkerHeap } from "./heap.mjs";

const BENCH = join(ROOT, "bench");
const INDEXES = join(TOOLS, "bench-indexes");
const TARGET = "wasm32-unknown-unknown";
const SWITCHES = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
// Isolated, so that the clock has steps of 5 microseconds.
const HEADERS = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  // As a built site's hashed files are served: browsers then keep the engine's optimised code from one visit to the next.
  "Cache-Control": "public, max-age=31536000, immutable",
};

/** The peers' packages, from the lock file of this folder. */
export function installPeers() {
  return installPackages("bench", {
    name: "Install the benchmark's peers",
    advice: "The peers could not be installed: run without --peers, or check the network.",
  });
}

/** The engine's indexes in WebAssembly, built with the profile of the engine. */
export function buildIndexes() {
  const inputs = ["src", "Cargo.toml", "Cargo.lock", ".cargo", "bench/indexes", "scripts/build.mjs"];
  const name = "throughline-bench-indexes";
  return step("Build the benchmark's indexes", { inputs, outputs: [] }, async () => {
    await run("cargo", ["rustc", "--release", "-p", name, "--target", TARGET, "--lib", "--crate-type", "cdylib"]);
    rmSync(INDEXES, { recursive: true, force: true });
    const wasm = join(targetDirectory(), TARGET, "release", `${name.replaceAll("-", "_")}.wasm`);
    await run("wasm-bindgen", [wasm, "--target", "web", "--out-dir", INDEXES, "--out-name", "indexes", "--no-typescript"]);
    await optimise(join(INDEXES, "indexes_bg.wasm"), join(INDEXES, "indexes_bg.wasm"));
  });
}

/**
 * Opens the site in Chromium.
 *
 * @param {{ engines: string[], files?: Record<string, string>, data?: string }} options `engines`: files of `engines/`
 * without ending; `files`: further files by name; `data`: the folder of measuring data, served at /data/.
 */
export async function openSite({ engines, files = {}, data }) {
  const { browser: executablePath } = await ensureChromium();
  const folder = mkdtempSync(join(tmpdir(), "throughline-bench-"));
  await bundle(folder, engines);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const mounts = { "/throughline/": join(ROOT, "dist"), "/bench/": join(folder, "bench"), "/": folder, ...(existsSync(INDEXES) ? { "/bench/indexes/": INDEXES } : {}), ...(data === undefined ? {} : { "/data/": data }) };
  const server = await serve({ port: 0, mounts, headers: HEADERS });
  const { chromium } = await import("playwright-core");
  const launch = { executablePath, chromiumSandbox: process.getuid?.() !== 0, args: SWITCHES };
  const browser = await chromium.launch(launch);
  return {
    version: browser.version(),
    url: server.url,
    newPage: (name) => newPage(() => chromium.launchPersistentContext(mkdtempSync(join(folder, "profile-")), launch), `${server.url}/${name}`),
    withWorker: (until, use) => withWorker(browser, `${server.url}/worker.html`, until, use),
    close: async () => {
      await browser.close();
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function bundle(folder, engines) {
  const { build } = await import("esbuild");
  mkdirSync(join(folder, "bench/peers"), { recursive: true });
  const entryPoints = [join(BENCH, "worker.mjs"), join(BENCH, "whole-engine-page.mjs"), ...engines.map((name) => join(BENCH, "engines", `${name}.mjs`))];
  await build({
    entryPoints, outdir: join(folder, "bench"), outbase: BENCH, outExtension: { ".js": ".js" },
    bundle: true, splitting: true, format: "esm", target: "es2022", platform: "browser", external: ["/bench/*", "/throughline/*"], logLevel: "error",
  });
  const edgevec = join(BENCH, "node_modules/edgevec/edgevec_bg.wasm");
  if (engines.includes("edgevec")) copyFileSync(edgevec, join(folder, "bench/peers/edgevec_bg.wasm"));
  const page = (script) => `<!doctype html><title>t</title><script type="module">${script}</script>`;
  writeFileSync(join(folder, "worker.html"), page(`new Worker("/bench/worker.js", { type: "module" }); document.title = "ready";`));
  writeFileSync(join(folder, "engine.html"), page(`import "/bench/whole-engine-page.js";`));
}

/** A page in a profile of its own, on disk as a user's is. */
async function newPage(openProfile, url) {
  const context = await openProfile();
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForFunction(() => document.title === "ready");
  return { page, context };
}

/** A worker of its own: nothing of one engine is left when the next is measured. It ends, at work or not, when `until` rejects. */
async function withWorker(browser, url, until, use) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const heap = await watchWorkerHeap(page);
  page.on("pageerror", (error) => console.error(error));
  try {
    const starting = page.waitForEvent("worker");
    await page.goto(url);
    const worker = await starting;
    while (!(await worker.evaluate(() => globalThis.isReady === true))) await new Promise((done) => setTimeout(done, 20));
    const used = use({ step: (name, options) => worker.evaluate(([step, given]) => globalThis.step(step, given), [name, options]), memoryBytes: async () => (await heap.bytes()) + (await worker.evaluate(() => globalThis.wasmBytes())) });
    // What it was about to answer when it is ended is no failure of its own.
    used.catch(() => undefined);
    return await Promise.race([used, until]);
  } finally {
    await context.close();
  }
}

/** Names of the engines in `engines/`. */
export function engineNames() {
  return readdirSync(join(BENCH, "engines")).map((name) => name.replace(/\.mjs$/, ""));
}
