// The importers in a real page: in a worker, without one where the page's policy forbids it, cancelled, and refused.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { serve } from "../../scripts/serve.mjs";
import { chatGpt, node, smallChat, zipOf } from "../js/import-support.mjs";
import { launchBrowser } from "./browser.mjs";

const dist = fileURLToPath(new URL("../../dist", import.meta.url));
let browser;
let site;
let free;
let strict;

before(async () => {
  site = mkdtempSync(join(tmpdir(), "throughline-import-"));
  writeFileSync(join(site, "index.html"), `<!doctype html><title>t</title><input type="file"><script type="module" src="page.js"></script>`);
  writeFileSync(
    join(site, "page.js"),
    `import { createMemory } from "/throughline/index.js";
    const open = () => createMemory({ tokenizer: "estimate", userId: crypto.randomUUID() });
    globalThis.run = async (options = {}, abortAt) => {
      const memory = await open();
      const abort = new AbortController();
      if (abortAt !== undefined) memory.on("append", () => { abortAt -= 1; if (abortAt === 0) abort.abort(); });
      const phases = new Set();
      try {
        const report = await memory.import(document.querySelector("input").files[0], { signal: abort.signal, onProgress: ({ phase }) => phases.add(phase), ...options });
        const again = await memory.import(document.querySelector("input").files[0], options);
        return { report, again, phases: [...phases] };
      } catch (error) {
        return { code: error.code, details: error.details, counts: (await memory.conversations.list()).items.map(({ messageCount }) => messageCount) };
      } finally {
        await memory.close();
      }
    };
    document.title = "ready";`,
  );
  const mounts = { "/throughline/": dist, "/": site };
  free = await serve({ port: 0, mounts, headers: {} });
  strict = await serve({ port: 0, mounts });
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  await Promise.all([free?.close(), strict?.close()]);
  rmSync(site, { recursive: true, force: true });
});

async function openPage(server, buffer) {
  const page = await browser.newPage();
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("pageerror", (error) => assert.fail(error));
  await page.goto(server.url);
  await page.waitForFunction(() => document.title === "ready");
  assert.deepEqual(requests.filter((url) => url.includes("/import/")), [], "nothing of it is loaded before it is used");
  await page.setInputFiles("input", { name: "export", mimeType: "application/octet-stream", buffer: Buffer.from(buffer) });
  return { page, loaded: () => requests.filter((url) => url.includes("/import/")).map((url) => url.split("/").at(-1)) };
}

/** Waits until no worker of the page is left; the test's own time-out says where one stays. */
async function allEnded(page) {
  while (page.workers().length > 0) await new Promise((done) => setTimeout(done, 20));
}

const export_ = () => zipOf({ "conversations.json": JSON.stringify([smallChat("a"), smallChat("b"), null]) });
const long = (id) => chatGpt(id, Array.from({ length: 200 }, (_, at) => node(`m${at}`, at === 0 ? "root" : `m${at - 1}`, at % 2 ? "assistant" : "user", `text ${at}`)));

test("in a worker, of which the page sees only messages", async () => {
  const { page, loaded } = await openPage(free, export_());
  const workers = [];
  page.on("worker", (worker) => workers.push(worker.url()));
  const { report, again, phases } = await page.evaluate(() => globalThis.run());
  assert.deepEqual([report.imported, report.messages, report.source, again.unchanged], [2, 4, "chatgpt", 2]);
  assert.deepEqual(report.skipped.map(({ where, reason }) => [where.split(" at")[0], reason]), [["export/conversations.json[2]", "not_a_conversation"]]);
  assert.deepEqual(phases, ["scan", "import"]);
  assert.deepEqual(loaded(), ["importer.js", "import-worker-inline.js"]);
  assert.equal(workers.length, 2);
  await allEnded(page);
  await page.close();
});

test("where the page's policy forbids the worker, in the page itself", async () => {
  const { page, loaded } = await openPage(strict, export_());
  const { report, again } = await page.evaluate(() => globalThis.run());
  assert.deepEqual([report.imported, report.messages, again.unchanged], [2, 4, 2]);
  assert.ok(loaded().includes("import-reader.js"));
  await page.close();
});

test("cancelled in a worker: whole conversations stay, the new one goes, the worker ends", async () => {
  const { page } = await openPage(free, JSON.stringify([long("a"), long("b")]));
  const answer = await page.evaluate(() => globalThis.run({}, 10));
  assert.deepEqual([answer.code, answer.counts], ["aborted", [200]]);
  await allEnded(page);
  await page.close();
});

test("a damaged file is told with its place, through the worker too", async () => {
  for (const worker of [true, false]) {
    const { page } = await openPage(free, JSON.stringify([smallChat("a"), smallChat("b")]).slice(0, -3));
    const answer = await page.evaluate((options) => globalThis.run(options), { worker });
    assert.deepEqual([answer.code, answer.counts, answer.details.file], ["invalid_argument", [], "export"]);
    assert.ok(answer.details.position > 1000);
    await page.close();
  }
});
