// Sealed segments of the search index in IndexedDB: a page that is loaded anew answers the same from them, and from the
// messages where they are damaged.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { serve } from "../../scripts/serve.mjs";
import { launchBrowser } from "./browser.mjs";

const dist = fileURLToPath(new URL("../../dist", import.meta.url));
const PAGE = String.raw`
  import { createMemory } from "/throughline/index.js";
  const words = ["port", "server", "garden", "invoice", "train", "kitchen", "vector", "piano", "review", "lamp", "ticket"];
  const embed = (texts) => texts.map((text) => words.map((word) => text.split(word).length - 1 + 0.01));
  const embedder = { id: "words", dimensions: words.length, maxBatchSize: 64, embed: async (texts) => embed(texts) };
  const text = (index) => words[index % 11] + " and " + words[(index * 7 + 3) % 11] + ", item " + index;
  globalThis.open = () => createMemory({ tokenizer: "estimate", userId: "reader", embedder });
  globalThis.fill = async (memory) => {
    for (const id of ["a", "b"]) {
      await memory.conversations.create({ id });
      const message = (_, index) => ({ role: index % 2 ? "assistant" : "user", content: text(index + (id === "b" ? 400 : 0)), createdAt: 1.7e12 + index * 60_000 });
      await memory.append(id, Array.from({ length: 400 }, message));
    }
    await memory.settled();
  };
  globalThis.answers = async (memory) => {
    const found = [];
    for (const query of ["which port has the server?", "item 333 garden", "piano review"]) found.push(await memory.recall(query, { topK: 6 }));
    return JSON.stringify(found);
  };
  globalThis.damage = async () => {
    const { name } = (await indexedDB.databases())[0];
    const database = await new Promise((resolve) => { indexedDB.open(name).onsuccess = ({ target }) => resolve(target.result); });
    const transaction = database.transaction("segment_chunks", "readwrite");
    const store = transaction.objectStore("segment_chunks");
    store.openCursor().onsuccess = ({ target: { result: cursor } }) => {
      if (!cursor) return;
      cursor.value.blob[5] ^= 1;
      cursor.update(cursor.value);
      cursor.continue();
    };
    await new Promise((resolve) => { transaction.oncomplete = resolve; });
    database.close();
  };
  // What no version ever wrote, under a key that none has.
  globalThis.litter = async () => {
    const { name } = (await indexedDB.databases())[0];
    const database = await new Promise((resolve) => { indexedDB.open(name).onsuccess = ({ target }) => resolve(target.result); });
    const transaction = database.transaction(["segments", "segment_chunks"], "readwrite");
    transaction.objectStore("segments").put("junk", "weird");
    transaction.objectStore("segment_chunks").put("junk", [1, 0]);
    await new Promise((resolve) => { transaction.oncomplete = resolve; });
    database.close();
  };
  document.title = "ready";
`;
let browser;
let site;
let server;

before(async () => {
  site = mkdtempSync(join(tmpdir(), "throughline-segments-"));
  writeFileSync(join(site, "index.html"), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
  writeFileSync(join(site, "page.js"), PAGE);
  server = await serve({ port: 0, mounts: { "/throughline/": dist, "/": site } });
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  await server?.close();
  rmSync(site, { recursive: true, force: true });
});

test("a page that is loaded anew answers the same from segments, and from the messages where they are damaged", async () => {
  const context = await browser.newContext();
  const page = async () => {
    const opened = await context.newPage();
    await opened.goto(server.url);
    await opened.waitForFunction(() => document.title === "ready");
    return opened;
  };
  const first = await page();
  const filled = await first.evaluate(async () => {
    const memory = await globalThis.open();
    await globalThis.fill(memory);
    const result = { answers: await globalThis.answers(memory), segments: (await memory.stats()).segments };
    await memory.close();
    return result;
  });
  assert.ok(filled.segments.count > 0 && filled.segments.bytes > 0, JSON.stringify(filled.segments));
  await first.close();
  const reload = async () => {
    const opened = await page();
    const result = await opened.evaluate(async () => {
      const memory = await globalThis.open();
      const result = { answers: await globalThis.answers(memory) };
      await memory.settled();
      result.segments = (await memory.stats()).segments;
      await memory.close();
      return result;
    });
    await opened.close();
    return result;
  };
  assert.equal((await reload()).answers, filled.answers);
  const second = await page();
  await second.evaluate(() => globalThis.damage());
  await second.close();
  const repaired = await reload();
  assert.equal(repaired.answers, filled.answers);
  assert.ok(repaired.segments.messages >= 512, "sealed again");
  assert.equal((await reload()).answers, filled.answers);
  const third = await page();
  await third.evaluate(() => globalThis.litter());
  await third.close();
  const cleaned = await reload();
  assert.equal(cleaned.answers, filled.answers);
  assert.ok(cleaned.segments.messages >= 512, "sealed again");
  await context.close();
});
