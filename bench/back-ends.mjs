// A page of its own on each of Chromium's two IndexedDB back ends, with a fresh profile on disk: a disk in memory waits for
// nothing. Build the package first.

import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { serve } from "../scripts/serve.mjs";
import { ROOT, ensureChromium } from "../scripts/toolchain.mjs";

const BACK_ENDS = { LevelDB: [], SQLite: ["--enable-features=IdbSqliteBackingStore"] };
const SWITCHES = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
// Isolated, so that the clock has steps of 5 microseconds.
const HEADERS = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };

/**
 * Calls `measure(title, run, page)` once for each back end; `run(name, ...given)` calls a global function of the page.
 *
 * @param {string} page the page's script: it sets its title to "ready", and may import /timing.js, /random.js and the package
 */
export async function onEachBackEnd(page, measure) {
  const { browser: executablePath } = await ensureChromium();
  const site = mkdtempSync(join(tmpdir(), "throughline-bench-"));
  writeFileSync(join(site, "index.html"), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
  writeFileSync(join(site, "page.js"), page);
  for (const name of ["timing", "random"]) copyFileSync(join(ROOT, `bench/${name}.mjs`), join(site, `${name}.js`));
  const server = await serve({ port: 0, headers: HEADERS, mounts: { "/throughline/": join(ROOT, "dist"), "/": site } });
  try {
    for (const [name, switches] of Object.entries(BACK_ENDS)) await onOne(executablePath, switches, server.url, (run, page) => measure(`${name}, load ${loadavg()[0].toFixed(1)}`, run, page));
  } finally {
    await server.close();
    rmSync(site, { recursive: true, force: true });
  }
}

async function onOne(executablePath, switches, url, measure) {
  const profile = mkdtempSync(join(tmpdir(), "throughline-bench-"));
  const context = await chromium.launchPersistentContext(profile, { executablePath, chromiumSandbox: process.getuid?.() !== 0, args: [...SWITCHES, ...switches] });
  try {
    const page = await context.newPage();
    await page.goto(url);
    await page.waitForFunction(() => document.title === "ready");
    await measure((method, ...given) => page.evaluate(([method, given]) => globalThis[method](...given), [method, given]), page);
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

/** The time that a share, 0 to 1, of all times is below. */
export const at = (times, share) => [...times].sort((one, other) => one - other)[Math.min(times.length - 1, Math.floor(times.length * share))];

/** Milliseconds as they stand in a table. */
export const shown = (ms) => (ms < 10 ? ms.toFixed(2) : ms.toFixed(0));
