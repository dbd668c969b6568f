// A page over real IndexedDB and a Node server over PostgreSQL (PGlite) exchange over HTTP, and find the same.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { createMemory } from "../../dist/index.js";
import { migratePostgres, postgresStorage } from "../../dist/adapters/postgres.js";
import { syncHandler } from "../../dist/adapters/sync.js";
import { openPglite } from "../postgres/pglite.mjs";
import { openSite, ready } from "./pages.mjs";
/* global Request, memory, exchange */

let site;
let database;
let server;
let memoryOnServer;

before(async () => {
  const opened = await openPglite();
  database = opened.database;
  await migratePostgres({ pool: opened.pool });
  memoryOnServer = await createMemory({ userId: "alex", tokenizer: "estimate", storage: postgresStorage({ pool: opened.pool }) });
  server = await listening(syncHandler({ memoryFor: () => memoryOnServer }));
  site = await openSite({
    script: `import { createMemory } from "/throughline/index.js";
      import { syncMemory } from "/throughline/adapters/sync.js";
      globalThis.memory = await createMemory({ userId: "alex", tokenizer: "estimate" });
      globalThis.exchange = () => syncMemory(memory, {
        exchange: async (body, { signal }) => (await fetch("http://127.0.0.1:${server.address().port}/", { method: "POST", body, signal })).text(),
      });`,
  });
});

after(async () => {
  await site?.close();
  server?.close();
  await memoryOnServer?.close();
  await database?.close();
});

/** A fetch handler behind Node's own server, for pages of any origin. */
function listening(handler) {
  const serving = createServer(async (incoming, outgoing) => {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const response = await handler(new Request("http://server/", { method: incoming.method, body: Buffer.concat(chunks) }));
    outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), "access-control-allow-origin": "*" });
    outgoing.end(await response.text());
  });
  return new Promise((resolve) => serving.listen(0, "127.0.0.1", () => resolve(serving)));
}

const found = (groups) => groups.map(({ messages }) => messages.map(({ content }) => content));

test("a page and a server exchange, and answer the same recall, before and after an erasure", async () => {
  const page = await site.openPage();
  await page.evaluate(async () => {
    await memory.conversations.create({ id: "birds", title: "Birds" });
    await memory.append("birds", [
      { role: "user", content: "Which colour has the kingfisher?" },
      { role: "assistant", content: "Turquoise, and orange below." },
    ]);
  });
  await memoryOnServer.conversations.create({ id: "fish" });
  await memoryOnServer.append("fish", [{ role: "user", content: "What does the kingfisher eat?" }, { role: "assistant", content: "Minnows." }]);
  await page.evaluate(() => exchange());
  const inPage = (query) => page.evaluate((text) => memory.recall(text), query);
  for (const query of ["kingfisher", "minnows", "orange"]) {
    const there = found(await memoryOnServer.recall(query));
    assert.ok(there.length > 0, query);
    assert.deepEqual(found(await inPage(query)), there);
  }
  // A page that is opened anew goes on from where it was.
  await page.reload();
  await ready(page);
  assert.deepEqual((await page.evaluate(() => exchange())).received, { conversations: 0, messages: 0 });
  await memoryOnServer.conversations.delete("fish");
  await page.evaluate(() => exchange());
  assert.deepEqual(await inPage("minnows"), []);
  assert.deepEqual(found(await inPage("kingfisher")), found(await memoryOnServer.recall("kingfisher")));
});
