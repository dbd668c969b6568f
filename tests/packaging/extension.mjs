// A Chrome extension (Manifest V3) without a bundler: the package's files lie in it as they are.
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { browserOptions } from "../e2e/browser.mjs";

const JOB_MS = 90_000;

/** Opens a browser with the extension and asks its service worker for an outcome. */
async function inExtension(app, ask) {
  cpSync(join(app.folder, "node_modules/throughline/dist"), join(app.folder, "throughline"), { recursive: true });
  // Browsers know no names of packages: a bundler, or this.
  app.write("job.js", readFileSync(join(app.folder, "job.js"), "utf8").replace('"throughline"', '"./throughline/index.js"').replace('"throughline/static-embedder"', '"./throughline/static-embedder.js"'));
  const profile = mkdtempSync(join(tmpdir(), "throughline-extension-"));
  const switches = [`--disable-extensions-except=${app.folder}`, `--load-extension=${app.folder}`];
  const context = await chromium.launchPersistentContext(profile, { ...browserOptions(switches), channel: "chromium", headless: true });
  try {
    const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker", { timeout: JOB_MS }));
    return await Promise.race([
      worker.evaluate(ask),
      new Promise((_, reject) => setTimeout(() => reject(new Error("The extension gave no outcome.")), JOB_MS).unref()),
    ]);
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

export const extension = {
  name: "Chrome extension (MV3)", packages: false, needs: "`content_security_policy` in its manifest",
  modes: {
    "service worker": (app) => inExtension(app, () => globalThis.inServiceWorker()),
    "offscreen page": (app) => inExtension(app, () => globalThis.inOffscreenPage()),
  },
};
