// A database of every release, as it was in the browser, opens for ever: read, searched, gone on with, and also where the upgrade
// is killed. KILLS is behind how many of its ten writes (`npm run test:long -- upgrades` for all).
/* global memory, IDBDatabase, IDBObjectStore, IDBTransaction */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { EXPECTED_SEALED, expectedOfRelease, readRelease, readSealedRelease, restoreRelease } from "../engines/release.js";
import { BACK_ENDS, openSite } from "./pages.mjs";

const folder = new URL("../releases/", import.meta.url);
/** Writes of the upgrade after which it is killed: while it makes stores, and while it writes records. */
const { KILLS } = process.env;
const KILLED_AFTER = KILLS === undefined ? [2, 9] : Array.from({ length: Number(KILLS) }, (_, index) => 1 + index);
const releases = readdirSync(folder).map((file) => JSON.parse(readFileSync(new URL(file, folder), "utf8")));

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
        await page.evaluate(restoreRelease, release);
        assert.deepEqual(await page.evaluate(readRelease, release.name), expectedOfRelease(release));
        await page.close();
      });

      if (release.sealed !== undefined) test(`what ${release.name} encrypted`, async () => {
        const page = await site.openPage();
        await page.evaluate(restoreRelease, release.sealed);
        assert.deepEqual(await page.evaluate(readSealedRelease, release.sealed), EXPECTED_SEALED);
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
        for (const user of [calm, name]) await page.evaluate(restoreRelease, { ...earlier, name: user });
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
