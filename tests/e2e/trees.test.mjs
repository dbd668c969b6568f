// Trees on real IndexedDB: two pages of one origin, a reload, and nothing left on disk of a removed message.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { serve } from "../../scripts/serve.mjs";
import { launchBrowser } from "./browser.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
let browser;
let server;
let site;

before(async () => {
  site = mkdtempSync(join(tmpdir(), "throughline-trees-"));
  writeFileSync(join(site, "index.html"), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
  writeFileSync(
    join(site, "page.js"),
    `import { createMemory } from "/throughline/index.js";
     globalThis.memory = await createMemory({ userId: "e2e", tokenizer: "estimate" });
     globalThis.path = async () => (await memory.history("chat")).map(({ content }) => content);
     globalThis.finds = async (word) => JSON.stringify(await memory.recall(word, { before: 0, after: 0 })).includes(word);
     document.title = "ready";`,
  );
  server = await serve({ port: 0, mounts: { "/throughline/": join(root, "dist"), "/": site } });
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  await server?.close();
  rmSync(site, { recursive: true, force: true });
});

async function openPage(context) {
  const page = await context.newPage();
  await page.goto(server.url);
  await page.waitForFunction(() => document.title === "ready");
  return page;
}

/** Everything in the page's databases, as text. */
async function everything() {
  const texts = [];
  for (const { name } of await globalThis.indexedDB.databases()) {
    const request = globalThis.indexedDB.open(name);
    const database = await new Promise((resolve, reject) => Object.assign(request, { onsuccess: () => resolve(request.result), onerror: reject }));
    const transaction = database.transaction([...database.objectStoreNames]);
    for (const store of database.objectStoreNames) {
      const all = transaction.objectStore(store).getAll();
      texts.push(JSON.stringify(await new Promise((resolve, reject) => Object.assign(all, { onsuccess: () => resolve(all.result), onerror: reject }))));
    }
    database.close();
  }
  return texts.join("\n");
}

test("two pages turn, edit and remove, and agree after a reload", async () => {
  const context = await browser.newContext();
  const one = await openPage(context);
  const other = await openPage(context);
  await one.evaluate(async () => {
    await globalThis.memory.conversations.create({ id: "chat" });
    await globalThis.memory.append("chat", [
      { id: "a", role: "user", content: "Which colour has the kingfisher?" },
      { id: "b", role: "assistant", content: "Turquoise." },
      { id: "c", role: "user", content: "And the heron?" },
    ]);
  });
  assert.equal(await other.evaluate(() => globalThis.finds("heron")), true);
  const edited = await one.evaluate(() => globalThis.memory.edit("chat", "c", { id: "c2", role: "user", content: "And the bittern?" }));
  assert.deepEqual([edited.seq, edited.durable, edited.invalidated.messages], [4, true, 1]);
  assert.deepEqual(await other.evaluate(() => Promise.all([globalThis.finds("heron"), globalThis.finds("bittern")])), [false, true]);
  await other.evaluate(() => globalThis.memory.setActiveLeaf("chat", "c"));
  assert.equal((await one.evaluate(() => globalThis.path())).at(-1), "And the heron?");
  assert.ok((await one.evaluate(everything)).includes("Turquoise"));
  await one.evaluate(() => globalThis.memory.remove("chat", "b"));
  assert.ok(!(await one.evaluate(everything)).includes("Turquoise"));
  await other.reload();
  await other.waitForFunction(() => document.title === "ready");
  assert.deepEqual(await other.evaluate(() => globalThis.path()), ["Which colour has the kingfisher?", "And the heron?"]);
  assert.deepEqual(await other.evaluate(() => globalThis.memory.conversations.tree("chat")), await one.evaluate(() => globalThis.memory.conversations.tree("chat")));
  assert.equal(await other.evaluate(() => globalThis.finds("bittern")), false);
  await context.close();
});
