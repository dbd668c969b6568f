// A database of every release, as it was in the browser, opens for ever: read, searched, gone on with, and also where the upgrade
// is killed. KILLS is behind how many of its ten writes (`npm run test:long -- upgrades` for all).
/* global memory, indexedDB, IDBDatabase, IDBObjectStore, IDBTransaction */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { BACK_ENDS, openSite } from "./pages.mjs";

const folder = new URL("../releases/", import.meta.url);
/** Writes of the upgrade after which it is killed: while it makes stores, and while it writes records. */
const { KILLS } = process.env;
const KILLED_AFTER = KILLS === undefined ? [2, 9] : Array.from({ length: Number(KILLS) }, (_, index) => 1 + index);
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

/** Runs in the page: after so many writes the transaction that is running never ends. Answers then. */
function holdAt(limit) {
  return new Promise((resolve) => {
    let count = 0;
    for (const [owner, name] of [[IDBDatabase, "createObjectStore"], [IDBObjectStore, "put"], [IDBObjectStore, "delete"]]) {
      const original = owner.prototype[name];
      owner.prototype[name] = function (...given) {
        const answer = original.apply(this, given);
        if ((count += 1) !== limit) return answer;
        const store = name === "createObjectStore" ? answer : this;
        const goOn = () => void (store.count().onsuccess = goOn);
        goOn();
        IDBTransaction.prototype.commit = () => undefined;
        resolve(`held at ${name}`);
        return answer;
      };
    }
  });
}

/** Runs in the page: what a user has, as their app reads it. */
async function readAll(userId) {
  globalThis.memory = await globalThis.throughline.createMemory({ userId, tokenizer: "estimate" });
  await memory.settled();
  const conversations = (await memory.conversations.list()).items;
  return {
    conversations: conversations.map(({ id, title, messageCount, tokens }) => ({ id, title, messageCount, tokens })),
    histories: await Promise.all(conversations.map(({ id }) => memory.history(id, { all: true, withStatus: true }))),
    summaries: await Promise.all(conversations.map(({ id }) => memory.summary(id))),
    facts: await memory.facts.list(),
    log: await memory.facts.log(),
    found: (await memory.recall("harbour of Valparaíso")).map(({ messages }) => messages.map(({ content }) => content)),
    damage: await memory.storage.verify(),
  };
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

    const [oldest] = releases;
    // As an earlier layout has it: the stores that hold nothing are not there, so that the upgrade makes them.
    const earlier = { ...oldest, version: 90, stores: Object.fromEntries(Object.entries(oldest.stores).filter(([, records]) => records.length > 0)) };

    for (const writes of KILLED_AFTER) {
      test(`killed in an upgrade after ${writes} writes, it is made again and whole`, async () => {
        const [calm, name] = [`calm${writes}`, `killed${writes}`];
        const page = await site.openPage();
        for (const user of [calm, name]) await page.evaluate(restore, { ...earlier, name: user });
        const expected = await page.evaluate(readAll, calm);
        assert.equal(expected.histories.flat().length, oldest.stores.messages.filter(([, body]) => JSON.parse(body).removed !== true).length);
        assert.deepEqual([expected.facts.length, expected.damage], [1, null]);
        const killed = await site.openPage();
        await killed.evaluate(`void (globalThis.held = (${holdAt})(${writes}))`);
        const reached = await killed.evaluate((user) => {
          const opening = globalThis.throughline.createMemory({ userId: user, tokenizer: "estimate" }).then((memory) => memory.settled());
          return Promise.race([globalThis.held, opening.then(() => "the end")]);
        }, name);
        assert.match(reached, /^held at/);
        const session = await site.context.newCDPSession(killed);
        await Promise.race([session.send("Page.crash").catch(() => undefined), new Promise((resolve) => setTimeout(resolve, 500))]);
        await killed.close();
        const again = await site.openPage();
        assert.deepEqual(await again.evaluate(readAll, name), expected);
        assert.equal(await again.evaluate(() => memory.append("work", { role: "user", content: "on" }).then(([{ durable }]) => durable)), true);
        await Promise.all([page.close(), again.close()]);
      });
    }
  });
}
