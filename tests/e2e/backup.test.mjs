// Backups in real pages, over IndexedDB, in both of Chromium's back ends: the same again, and a tab that is closed while it
// imports leaves nothing.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { serve } from "../../scripts/serve.mjs";
import { launchBrowser } from "./browser.mjs";

const dist = fileURLToPath(new URL("../../dist", import.meta.url));
const BACK_ENDS = { LevelDB: [], SQLite: ["--enable-features=IdbSqliteBackingStore"] };
let site;
let server;

before(async () => {
  site = mkdtempSync(join(tmpdir(), "throughline-backup-"));
  writeFileSync(join(site, "index.html"), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
  writeFileSync(
    join(site, "page.js"),
    `import { createMemory } from "/throughline/index.js";
    const open = (userId) => createMemory({ tokenizer: "estimate", userId });
    const digest = async (file) => Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()))).join();
    let file;
    globalThis.fill = async (count) => {
      const memory = await open("from");
      for (let chat = 0; chat < 5; chat += 1) {
        const { id } = await memory.conversations.create({ id: "chat-" + chat });
        await memory.append(id, Array.from({ length: count / 5 }, (_, at) => ({ id: "m" + at, role: at % 2 ? "assistant" : "user", content: "message " + at + " of " + chat })));
        await memory.edit(id, "m0", { role: "user", content: "said in another way" });
      }
      await memory.facts.add({ fact: "Likes tea" });
      file = await memory.export();
      const encrypted = await memory.export({ encrypt: { passphrase: "p" } });
      await memory.close();
      return { digest: await digest(file), report: file.report, encrypted: encrypted.size };
    };
    globalThis.take = async (userId, bytes) => {
      const memory = await open(userId);
      const report = await memory.import(bytes ? new Uint8Array(bytes) : file, { trusted: true });
      const again = await memory.import(bytes ? new Uint8Array(bytes) : file, { trusted: true });
      const exported = await memory.export();
      await memory.close();
      return { imported: report.imported, messages: report.messages, unchanged: again.unchanged, digest: await digest(exported) };
    };
    globalThis.begin = async (userId, bytes) => {
      const memory = await open(userId);
      return new Promise((resolve) => {
        const onProgress = ({ phase, messages }) => phase === "import" && messages > 100 && resolve("halfway");
        memory.import(new Uint8Array(bytes), { trusted: true, onProgress }).then(() => resolve("done"), (error) => resolve(error.code));
      });
    };
    globalThis.look = async (userId) => {
      // As a tab that the browser has not ended yet: its lock is held when the store is opened, and for a while after.
      const held = Promise.withResolvers();
      const taken = new Promise((resolve) => navigator.locks.request("throughline:throughline:" + userId + ":import", () => (resolve(), held.promise)));
      await taken;
      const memory = await open(userId);
      const { items } = await memory.conversations.list();
      setTimeout(held.resolve, 500);
      await memory.settled();
      await memory.close();
      const name = (await indexedDB.databases()).map((each) => each.name).find((each) => each.endsWith(":" + userId));
      const database = await new Promise((resolve) => { const opening = indexedDB.open(name); opening.onsuccess = () => resolve(opening.result); });
      const counted = await new Promise((resolve) => { const counting = database.transaction("messages").objectStore("messages").count(); counting.onsuccess = () => resolve(counting.result); });
      database.close();
      return { conversations: items.length, messages: counted };
    };
    globalThis.bytes = async () => Array.from(new Uint8Array(await file.arrayBuffer()));
    document.title = "ready";`,
  );
  server = await serve({ port: 0, mounts: { "/throughline/": dist, "/": site } });
});

after(async () => {
  await server?.close();
  rmSync(site, { recursive: true, force: true });
});

async function openPage(browser) {
  const page = await browser.newPage();
  page.on("pageerror", (error) => assert.fail(error));
  await page.goto(server.url);
  await page.waitForFunction(() => document.title === "ready");
  return page;
}

for (const [name, switches] of Object.entries(BACK_ENDS)) {
  test(`exported, imported, exported; and a tab that is closed meanwhile (${name})`, async () => {
    const browser = await launchBrowser(switches);
    const context = await browser.newContext();
    try {
      const page = await openPage(context);
      const { digest, report, encrypted } = await page.evaluate(() => globalThis.fill(4_000));
      assert.deepEqual(report, { conversations: 5, messages: 4_005, facts: 1, skipped: [] });
      assert.ok(encrypted > 1_000);
      const taken = await page.evaluate(() => globalThis.take("to"));
      assert.deepEqual(taken, { imported: 5, messages: 4_005, unchanged: 5, digest });
      const bytes = await page.evaluate(() => globalThis.bytes());
      const closing = await openPage(context);
      assert.equal(await closing.evaluate((given) => globalThis.begin("cut", given), bytes), "halfway");
      await closing.close();
      assert.deepEqual(await page.evaluate(() => globalThis.look("cut")), { conversations: 0, messages: 0 });
      const { imported } = await page.evaluate((given) => globalThis.take("cut", given), bytes);
      assert.equal(imported, 5);
    } finally {
      await browser.close();
    }
  });
}
