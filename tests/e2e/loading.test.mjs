// The built package in a real page and worker, under the ways in which it can be served.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { CONTENT_SECURITY_POLICY, serve } from "../../scripts/serve.mjs";
import { launchBrowser } from "./browser.mjs";

const dist = fileURLToPath(new URL("../../dist", import.meta.url));
const USE = `
  export async function use(options) {
    try {
      const memory = await createMemory({ tokenizer: "estimate", userId: crypto.randomUUID(), ...options });
      const { id } = await memory.conversations.create();
      await memory.append(id, { role: "user", content: "hello" });
      const [message] = await memory.history(id);
      await memory.close();
      return message.content;
    } catch (error) {
      return error.code + ": " + error.message;
    }
  }
`;
let browser;
let site;
let server;
let strict;

before(async () => {
  site = mkdtempSync(join(tmpdir(), "throughline-loading-"));
  writeFileSync(join(site, "index.html"), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
  writeFileSync(
    join(site, "page.js"),
    `import * as throughline from "/throughline/index.js"; const { createMemory } = throughline; ${USE} Object.assign(globalThis, { throughline, use }); document.title = "ready";`,
  );
  writeFileSync(
    join(site, "worker.js"),
    `import { createMemory } from "/throughline/index.js"; ${USE} onmessage = async ({ data }) => postMessage(await use(data));`,
  );
  await build({
    stdin: { contents: `import { createMemory } from "throughline"; ${USE} globalThis.use = use; document.title = "ready";`, resolveDir: dist },
    alias: { throughline: join(dist, "index.js") },
    bundle: true, splitting: true, format: "esm", outdir: join(site, "bundle"), entryNames: "app", logLevel: "error",
  });
  writeFileSync(join(site, "bundled.html"), `<!doctype html><title>t</title><script type="module" src="bundle/app.js"></script>`);
  const mounts = { "/throughline/": dist, "/": site };
  server = await serve({ port: 0, mounts });
  strict = await serve({ port: 0, mounts, headers: { "Content-Security-Policy": CONTENT_SECURITY_POLICY.replace(" 'wasm-unsafe-eval'", "") } });
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  await Promise.all([server?.close(), strict?.close()]);
  rmSync(site, { recursive: true, force: true });
});

async function openPage({ base = server.url, path = "/", wasm } = {}) {
  const page = await browser.newPage();
  const requests = [];
  page.on("request", (request) => requests.push(new URL(request.url()).pathname));
  page.on("pageerror", (error) => assert.fail(error));
  if (wasm !== undefined) await page.route("**/engine.wasm", wasm);
  await page.goto(base + path);
  await page.waitForFunction(() => document.title === "ready");
  return { page, requested: (name) => requests.filter((each) => each.endsWith(name)).length };
}

test("in a page under the demo's policy the engine is streamed, once for many callers", async () => {
  const { page, requested } = await openPage();
  assert.equal(requested("engine.wasm"), 0, "importing fetches nothing");
  const answers = await page.evaluate(() => Promise.all([1, 2, 3, 4].map(() => globalThis.use({}))));
  assert.deepEqual(answers, ["hello", "hello", "hello", "hello"]);
  assert.equal(requested("engine.wasm"), 1);
  assert.equal(requested("wasm-inline.js"), 0);
  await page.close();
});

test("a policy without wasm-unsafe-eval is told in words, and the fallback is not downloaded", async () => {
  const { page, requested } = await openPage({ base: strict.url });
  assert.match(await page.evaluate(() => globalThis.use({})), /^wasm_blocked_by_csp: .*'wasm-unsafe-eval'/);
  assert.equal(requested("wasm-inline.js"), 0);
  await page.close();
});

const replies = {
  "is missing": [(route) => route.fulfill({ status: 404, body: "" }), 1],
  "is answered with the site's page": [(route) => route.fulfill({ status: 200, contentType: "text/html", body: "<!doctype html>" }), 1],
  "is answered with the site's page as wasm": [(route) => route.fulfill({ status: 200, contentType: "application/wasm", body: "<!doctype html>" }), 1],
  "cannot be reached": [(route) => route.abort(), 1],
  "has the wrong type": [async (route) => route.fulfill({ response: await route.fetch(), headers: { "content-type": "application/octet-stream" } }), 0],
};
for (const [what, [wasm, fallbacks]] of Object.entries(replies)) {
  test(`the engine loads where engine.wasm ${what}`, async () => {
    const { page, requested } = await openPage({ wasm });
    assert.equal(await page.evaluate(() => globalThis.use({})), "hello");
    assert.equal(requested("wasm-inline.js"), fallbacks);
    await page.close();
  });
}

test("a failed load is forgotten: the next call tries again", async () => {
  const { page } = await openPage({ wasm: (route) => route.abort() });
  await page.route("**/wasm-inline.js", (route) => route.abort());
  assert.match(await page.evaluate(() => globalThis.use({})), /^wasm_load_failed: /);
  await page.unroute("**/engine.wasm");
  assert.equal(await page.evaluate(() => globalThis.use({})), "hello");
  await page.close();
});

test("a worker of the app loads the engine, and takes a compiled one that is posted to it", async () => {
  const { page, requested } = await openPage();
  const answers = await page.evaluate(async () => {
    const policy = globalThis.trustedTypes.createPolicy("test", { createScriptURL: (address) => address });
    const ask = (options) => {
      const worker = new Worker(policy.createScriptURL("/worker.js"), { type: "module" });
      return new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => { worker.terminate(); resolve(data); };
        worker.onerror = (event) => reject(new Error(event.message));
        worker.postMessage(options);
      });
    };
    const alone = await ask({});
    const wasm = await WebAssembly.compileStreaming(fetch("/throughline/engine.wasm"));
    return [alone, await ask({ wasm })];
  });
  assert.deepEqual(answers, ["hello", "hello"]);
  assert.equal(requested("engine.wasm"), 2, "one of the first worker, one of the page");
  await page.close();
});

test("bundled without any plugin it works: the file is lost, the fallback is not", async () => {
  const { page } = await openPage({ path: "/bundled.html" });
  assert.equal(await page.evaluate(() => globalThis.use({})), "hello");
  await page.close();
});

test("after a trap in a page the engine is replaced, and what was stored is still there", async () => {
  const { page } = await openPage();
  const answer = await page.evaluate(async () => {
    const { guardedQueueMicrotask } = await import("/throughline/microtask-guard.js");
    const memory = await globalThis.throughline.createMemory({ tokenizer: "estimate", userId: crypto.randomUUID() });
    const { id } = await memory.conversations.create();
    await memory.append(id, { role: "user", content: "before" });
    guardedQueueMicrotask(() => { throw new WebAssembly.RuntimeError("unreachable"); });
    await new Promise((done) => setTimeout(done));
    await memory.append(id, { role: "user", content: "after" });
    const contents = (await memory.history(id)).map(({ content }) => content);
    await memory.close();
    return contents;
  });
  assert.deepEqual(answer, ["before", "after"]);
  await page.close();
});
