// A database of every release, as it was in the browser, opens for ever: read, searched, gone on with.
/* global memory, indexedDB */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { BACK_ENDS, openSite } from "./pages.mjs";

const folder = new URL("../releases/", import.meta.url);
const releases = readdirSync(folder).map((file) => JSON.parse(readFileSync(new URL(file, folder), "utf8")));

/** Runs in the page: writes a release's records into a database of its layout. */
async function restore({ name, database: given = `throughline:${name}`, version, stores }) {
  const request = indexedDB.open(given, version);
  request.onupgradeneeded = () => Object.keys(stores).forEach((store) => request.result.createObjectStore(store));
  await new Promise((resolve, reject) => { request.onsuccess = resolve; request.onerror = reject; });
  const database = request.result;
  const transaction = database.transaction(Object.keys(stores), "readwrite");
  for (const [store, records] of Object.entries(stores)) {
    for (const [key, body, blob] of records) {
      const value = blob === undefined ? { body } : { body, blob: Uint8Array.from(globalThis.atob(blob), (unit) => unit.charCodeAt(0)) };
      transaction.objectStore(store).put(value, key);
    }
  }
  await new Promise((resolve) => (transaction.oncomplete = resolve));
  database.close();
}

/** What sessions left: episodes, the project's summary, a note, an agreement, a bill. */
async function assertSessions(page, { stores }) {
  const read = await page.evaluate(async () => ({
    episodes: (await memory.episodes.list()).length,
    project: (await memory.summary("plan")).tree.some(({ level }) => level === "project"),
    note: (await memory.notes.get("plan", "status")).content,
    consent: (await memory.facts.consent()).optedIn,
    calls: (await memory.stats()).usage.map(({ model, calls }) => [model, calls]),
  }));
  assert.deepEqual(read, {
    episodes: stores.episodes.length, project: true, note: { done: ["parse"], next: "check" }, consent: ["health"], calls: [["gpt-5", 1]],
  });
}

for (const [backEnd, switches] of Object.entries(BACK_ENDS)) {
  describe(`on ${backEnd}`, () => {
    let site;

    before(async () => {
      site = await openSite({ switches });
    });

    after(() => site?.close());

    for (const release of releases) {
      test(`what ${release.name} stored`, async () => {
        const page = await site.openPage();
        await page.evaluate(restore, release);
        const read = await page.evaluate(async (userId) => {
          globalThis.memory = await globalThis.throughline.createMemory({ userId, tokenizer: "estimate" });
          const texts = async (query) => (await memory.recall(query)).flatMap(({ messages }) => messages.map(({ content }) => content ?? ""));
          const { length } = await memory.history("work", { all: true });
          const [{ seq }] = await memory.append("work", { role: "user", content: "A lighthouse in Reykjavik" });
          await memory.settled();
          return {
            length, seq,
            version: (await memory.summary("work")).version,
            facts: (await memory.facts.list()).map(({ fact }) => fact),
            harbour: (await texts("harbour of Valparaíso"))[0],
            port: (await memory.buildContext({ conversationId: "work", question: "Where is the staging server?", window: 8_000 })).messages.length,
            added: (await texts("Reykjavik")).length,
          };
        }, release.name);
        const messages = release.stores.messages.filter(([[chat], body]) => chat === "work" && JSON.parse(body).removed !== true);
        assert.equal(read.length, messages.length);
        assert.equal(read.seq, release.stores.messages.filter(([[chat]]) => chat === "work").length + 1);
        assert.ok(read.version >= 1 && read.port > 1 && read.added > 0);
        assert.deepEqual(read.facts, ["I prefer water to tea."]);
        assert.match(read.harbour, /Valparaíso/);
        if (release.stores.episodes.length > 0) await assertSessions(page, release);
        await page.close();
      });

      if (release.sealed !== undefined) test(`what ${release.name} encrypted`, async () => {
        const page = await site.openPage();
        await page.evaluate(restore, release.sealed);
        const read = await page.evaluate(async ({ userId, key }) => {
          const { createMemory, indexedDbStorage } = globalThis.throughline;
          const opened = (bytes) => createMemory({ userId, tokenizer: "estimate", storage: indexedDbStorage({ key: Uint8Array.from(bytes) }) });
          const refused = await opened(key.map((byte) => byte ^ 1)).catch(({ code }) => code);
          const memory = await opened(key);
          const before = await memory.history("work");
          await memory.append("work", { role: "user", content: "And Reykjavik" });
          return {
            refused, before, after: (await memory.history("work")).length,
            facts: (await memory.facts.list()).map(({ fact }) => fact),
            note: (await memory.notes.get("work", "plan")).content,
            found: (await memory.recall("harbour"))[0]?.messages[0]?.content,
          };
        }, release.sealed);
        assert.deepEqual(read, {
          refused: "storage_key_wrong",
          before: [{ role: "user", content: "The harbour of Valparaíso." }, { id: "last", role: "assistant", content: "Noted." }],
          after: 3, facts: ["I prefer water to tea."], note: "Sail", found: "The harbour of Valparaíso.",
        });
        await page.close();
      });
    }
  });
}
