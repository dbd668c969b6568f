// Pages in Chromium with a bundle of an app that uses the package and real libraries. Each page is a tab of one user.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { serve } from "../../scripts/serve.mjs";
import { launchBrowser } from "../e2e/browser.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const PACKAGE = join(HERE, "node_modules/throughline/dist");

/** The app's script and a browser. `alias`: other packages in place of those that are named. `body`: what stands in the page. `mounts`: further folders. */
export async function openSite({ entry, alias = {}, body = "", styles = "", mounts = {} }) {
  const site = mkdtempSync(join(tmpdir(), "throughline-integrations-"));
  await bundle(join(HERE, entry), join(site, "app.js"), alias);
  writeFileSync(join(site, "styles.css"), styles);
  writeFileSync(join(site, "index.html"), `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>t</title><link rel="icon" href="data:,"><link rel="stylesheet" href="styles.css"><body><div id="root">${body}</div><script type="module" src="app.js"></script>`);
  const server = await serve({ port: 0, mounts: { "/throughline/": PACKAGE, ...mounts, "/": site } });
  const browser = await launchBrowser();
  const context = await browser.newContext();
  return {
    browser,
    url: server.url,
    /** One more tab. What it does not catch, or complains of, is in `complaints`. */
    async openPage({ context: own = context } = {}) {
      const page = await own.newPage();
      page.complaints = [];
      page.on("pageerror", (error) => page.complaints.push(error.message));
      page.on("console", (message) => message.type() === "error" && page.complaints.push(message.text()));
      await page.goto(server.url);
      await page.waitForFunction(() => document.title === "ready");
      return page;
    },
    async close() {
      await browser.close();
      await server.close();
      rmSync(site, { recursive: true, force: true });
    },
  };
}

/** Nothing was thrown or complained of. */
export function assertQuiet(page) {
  assert.deepEqual(page.complaints, []);
}

/** The core of the package stays as it is served, once for every adapter, with its WebAssembly beside it. */
async function bundle(entry, outfile, alias) {
  const core = {
    name: "core",
    setup({ onResolve }) {
      onResolve({ filter: /^throughline$/ }, () => ({ path: "/throughline/index.js", external: true }));
      onResolve({ filter: /^(\.\.\/)+[a-z-]+\.js$/ }, ({ path, resolveDir }) => {
        const full = join(resolveDir, path);
        return full.startsWith(PACKAGE) && !full.startsWith(join(PACKAGE, "adapters")) ? { path: `/throughline/${full.slice(PACKAGE.length + 1)}`, external: true } : undefined;
      });
    },
  };
  const define = { "process.env.NODE_ENV": JSON.stringify("development") };
  await build({ entryPoints: [entry], outfile, bundle: true, format: "esm", target: "es2022", plugins: [core], alias, define, absWorkingDir: HERE, logLevel: "error" });
}
