// Pages of one site with the built package in them: each is a tab of one user.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "../../scripts/serve.mjs";
import { launchBrowser } from "./browser.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Chromium's two ways of storing IndexedDB, as switches. */
export const BACK_ENDS = { leveldb: [], sqlite: ["--enable-features=IdbSqliteBackingStore"] };

/**
 * A site and a browser. `script` is run in each page, behind the import of the package as `throughline`; `worker` is the
 * script of `/worker.js`. With `keepPages`, pages that are left can come back as they were.
 */
export async function openSite({ script = "", worker = "", switches = [], keepPages = false } = {}) {
  const site = mkdtempSync(join(tmpdir(), "throughline-pages-"));
  const imported = `import * as throughline from "/throughline/index.js";\n`;
  for (const name of ["index", "other"]) writeFileSync(join(site, `${name}.html`), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
  writeFileSync(join(site, "page.js"), `${imported}globalThis.throughline = throughline;\n${script}\ndocument.title = "ready";`);
  writeFileSync(join(site, "worker.js"), `${imported}${worker}`);
  const server = await serve({ port: 0, mounts: { "/throughline/": join(root, "dist"), "/": site } });
  const browser = await launchBrowser(switches, { keepPages });
  const context = await browser.newContext();
  return {
    url: server.url,
    browser,
    context,
    /** One more tab. What it does not catch fails the test. */
    async openPage(path = "") {
      const page = await context.newPage();
      page.on("pageerror", (error) => assert.fail(error));
      await page.goto(server.url + path);
      await ready(page);
      return page;
    },
    async close() {
      await browser.close();
      await server.close();
      rmSync(site, { recursive: true, force: true });
    },
  };
}

/** The page's script has run. */
export function ready(page) {
  return page.waitForFunction(() => document.title === "ready");
}
