// Pages of one site with the built package in them: each is a tab of one user.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "../../scripts/serve.mjs";
import { launchBrowser } from "./browser.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * The package as the pages see it: with THROUGH_WORKER=1 `createMemory` is that of the client, so that what is tested of the engine
 * in a page is tested of one in a worker (`npm run test:long -- client`).
 */
const IMPORTS = process.env.THROUGH_WORKER === "1"
  ? `import * as inPage from "/throughline/index.js";
     import { createMemoryClient } from "/throughline/client/index.js";
     const workers = globalThis.trustedTypes?.createPolicy("pages", { createScriptURL: (address) => address });
     const newWorker = () => new Worker(workers.createScriptURL("/throughline/worker/index.js"), { type: "module" });
     const throughline = { ...inPage, createMemory: (options) => createMemoryClient(newWorker, options) };\n`
  : `import * as throughline from "/throughline/index.js";\n`;

/** Chromium's two ways of storing IndexedDB, as switches. */
export const BACK_ENDS = { leveldb: [], sqlite: ["--enable-features=IdbSqliteBackingStore"] };

/**
 * A site and a browser. `script` is run in each page, behind the import of the package as `throughline`; `worker` is the
 * script of `/worker.js`. With `keepPages`, pages that are left can come back as they were.
 */
export async function openSite({ script = "", worker = "", switches = [], keepPages = false } = {}) {
  const site = mkdtempSync(join(tmpdir(), "throughline-pages-"));
  for (const name of ["index", "other"]) writeFileSync(join(site, `${name}.html`), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
  writeFileSync(join(site, "page.js"), `${IMPORTS}globalThis.throughline = throughline;\n${script}\ndocument.title = "ready";`);
  writeFileSync(join(site, "worker.js"), `import * as throughline from "/throughline/index.js";\n${worker}`);
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
