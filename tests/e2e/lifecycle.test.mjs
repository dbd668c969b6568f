// The life of a database between tabs and versions: upgrades, newer layouts, deletion, frozen pages, pages that come back,
// stolen locks. On both back ends. Upgrades that are killed are in releases.test.mjs.
/* global memory, heard, navigator, IDBObjectStore */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { BACK_ENDS, openSite, ready } from "./pages.mjs";

const script = `
  globalThis.open = async (userId, options = {}) => {
    globalThis.memory = await throughline.createMemory({ userId, tokenizer: "estimate", ...options });
    globalThis.heard = [];
    for (const name of ["append", "storage", "error"]) memory.on(name, (payload) => heard.push({ name, ...payload }));
  };
  globalThis.fill = async (count) => {
    await memory.conversations.create({ id: "c" });
    await memory.append("c", Array.from({ length: count }, (_, n) => ({ role: "user", content: "message " + n })));
  };
  /** Opens a database without the package, as code of another version would. */
  globalThis.rawOpen = (name, version, upgrade) => new Promise((resolve, reject) => {
    const request = indexedDB.open(name, version);
    request.onupgradeneeded = () => upgrade?.(request);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  globalThis.code = (promise) => promise.then(() => "none", ({ code }) => code);`;

for (const [backEnd, switches] of Object.entries(BACK_ENDS)) {
  describe(`on ${backEnd}`, () => {
    let site;

    before(async () => {
      site = await openSite({ script, switches, keepPages: true });
    });

    after(() => site?.close());

    async function openUser(userId, path = "") {
      const page = await site.openPage(path);
      await page.evaluate((userId) => globalThis.open(userId), userId);
      return page;
    }

    test("an upgrade by a newer version is not held back, and the older one goes on within the hundred", async () => {
      const [old, newer] = [await openUser("upgrade"), await site.openPage()];
      await old.evaluate(() => globalThis.fill(50));
      const took = await newer.evaluate(async () => {
        const begin = performance.now();
        const database = await globalThis.rawOpen("throughline:upgrade", 150, (request) => request.result.createObjectStore("something_new"));
        database.close();
        return performance.now() - begin;
      });
      assert.ok(took < 3_000, `${took} ms`);
      assert.equal(await old.evaluate(() => memory.append("c", { role: "user", content: "on" }).then(([{ seq }]) => seq)), 51);
      await Promise.all([old.close(), newer.close()]);
    });

    test("a version that holds an upgrade back is told of within 3 seconds", async () => {
      const [holder, page] = [await site.openPage(), await site.openPage()];
      await holder.evaluate(async () => (globalThis.held = await globalThis.rawOpen("throughline:held", 1)));
      const [code, took] = await page.evaluate(async () => {
        const begin = performance.now();
        return [await globalThis.code(globalThis.open("held")), performance.now() - begin];
      });
      assert.equal(code, "storage_blocked");
      assert.ok(took < 4_000, `${took} ms`);
      await holder.close();
      await page.evaluate(() => globalThis.open("held"));
      await page.close();
    });

    test("behind an upgrade that another tab holds back, opening ends and says what to do", async () => {
      const [holder, upgrading, page] = [await site.openPage(), await site.openPage(), await site.openPage()];
      await holder.evaluate(async () => (globalThis.held = await globalThis.rawOpen("throughline:behind", 100)));
      await upgrading.evaluate(() => void (globalThis.waiting = globalThis.rawOpen("throughline:behind", 101)));
      const [failure, took] = await page.evaluate(async () => {
        const begin = performance.now();
        const failure = await globalThis.open("behind").then(() => ({}), ({ code, message }) => ({ code, message }));
        return [failure, performance.now() - begin];
      });
      // The browser says nothing at all to whoever waits behind the one that waits.
      assert.ok(["storage_unavailable", "storage_blocked"].includes(failure.code), JSON.stringify(failure));
      assert.match(failure.message, /close or reload/);
      assert.ok(took < 8_000, `${took} ms`);
      await Promise.all([holder.close(), upgrading.close(), page.close()]);
    });

    test("a layout of the next hundred can be read, and not written", async () => {
      const page = await openUser("newer");
      await page.evaluate(() => globalThis.fill(3));
      await page.evaluate(() => memory.close());
      const answers = await page.evaluate(async () => {
        const database = await globalThis.rawOpen("throughline:newer", 200);
        const transaction = database.transaction(["meta"], "readwrite");
        transaction.objectStore("meta").put({ body: '{"version":200}' }, ["schema"]);
        await new Promise((resolve) => (transaction.oncomplete = resolve));
        database.close();
        await globalThis.open("newer");
        return {
          history: (await memory.history("c")).length,
          found: (await memory.recall("message 2")).length > 0,
          readOnly: (await memory.stats()).readOnly,
          flushed: await globalThis.code(memory.flush()),
          codes: [
            await globalThis.code(memory.append("c", { role: "user", content: "no" })),
            await globalThis.code(memory.conversations.create()),
            await globalThis.code(memory.erase({ conversationId: "c" })),
          ],
        };
      });
      assert.deepEqual(answers, { history: 3, found: true, readOnly: true, flushed: "none", codes: Array(3).fill("schema_too_new") });
      await page.close();
    });

    test("nothing is acknowledged once the site's data was cleared, and nothing of it stays in memory", async () => {
      const page = await openUser("cleared");
      await page.evaluate(() => globalThis.fill(20));
      const session = await site.context.newCDPSession(page);
      await session.send("Storage.clearDataForOrigin", { origin: new URL(site.url).origin, storageTypes: "indexeddb" });
      await page.waitForFunction(() => heard.some(({ name, state }) => name === "storage" && state === "unavailable"));
      for (let number = 0; number < 3; number += 1) {
        assert.equal(await page.evaluate(() => globalThis.code(memory.append("c", { role: "user", content: "gone" }))), "storage_unavailable");
      }
      assert.equal(await page.evaluate(() => globalThis.code(memory.history("c"))), "storage_unavailable");
      await page.evaluate(() => globalThis.open("cleared"));
      assert.equal(await page.evaluate(() => memory.conversations.list().then(({ items }) => items.length)), 0);
      await page.close();
    });

    test("a page that comes back from the browser's cache sees what was stored meanwhile, and goes on", async () => {
      const [page, other] = [await openUser("returning"), await openUser("returning")];
      await page.evaluate(() => globalThis.fill(1));
      // Playwright loses sight of a page that comes from the cache: the page itself tells the other one.
      await page.evaluate(() =>
        globalThis.addEventListener("pageshow", async ({ persisted }) => {
          while (!heard.some(({ name, state, remote }) => name === "storage" && state === "resumed" && remote)) await new Promise((resolve) => setTimeout(resolve, 20));
          const contents = (await memory.history("c")).map(({ content }) => content);
          await memory.append("c", { role: "user", content: "back" });
          globalThis.localStorage.setItem("returned", JSON.stringify({ persisted, contents }));
        }),
      );
      await page.goto(`${site.url}/other.html`);
      await ready(page);
      await other.evaluate(() => memory.append("c", { role: "user", content: "meanwhile" }));
      await page.evaluate(() => void setTimeout(() => globalThis.history.back(), 50));
      await other.waitForFunction(() => globalThis.localStorage.getItem("returned") !== null);
      const returned = await other.evaluate(() => JSON.parse(globalThis.localStorage.getItem("returned")));
      assert.deepEqual(returned, { persisted: true, contents: ["message 0", "meanwhile"] });
      await other.waitForFunction(() => heard.some(({ name, remote }) => name === "append" && remote));
      await other.close();
    });

    test("a page that was frozen in the middle of a write holds the others up for seconds, and they are told", async () => {
      const [page, other] = [await openUser("frozen"), await openUser("frozen")];
      await page.evaluate(() => globalThis.fill(1));
      // Nothing runs in a page behind a dialog, as in one that the browser froze; here it holds a transaction that writes.
      const dialog = page.waitForEvent("dialog");
      await page.evaluate(() => {
        const put = IDBObjectStore.prototype.put;
        let left = 40;
        IDBObjectStore.prototype.put = function (...given) {
          const request = put.apply(this, given);
          left -= 1;
          if (left === 0) globalThis.alert("frozen");
          return request;
        };
        const burst = async () => { for (let n = 0; n < 30; n += 1) await memory.append("c", { role: "user", content: `burst ${n}` }); };
        setTimeout(() => void (globalThis.burst = burst()), 0);
      });
      await dialog;
      const append = () => other.evaluate(async () => {
        const begin = performance.now();
        return [await globalThis.code(memory.append("c", { role: "user", content: "from the other" })), performance.now() - begin];
      });
      const appendTogether = () => other.evaluate(async () => {
        const begin = performance.now();
        const appends = Array.from({ length: 20 }, (_, n) => globalThis.code(memory.append("c", { role: "user", content: `together ${n}` })));
        const codes = new Set(await Promise.all(appends));
        return [[...codes].join(), performance.now() - begin];
      });
      // Whichever of them comes first, and whatever else of this tab waits in front of them.
      const [first, together] = await Promise.all([append(), appendTogether()]);
      for (const [code, took] of [first, together, await append()]) {
        assert.equal(code, "storage_blocked");
        assert.ok(took <= 5_500, `${took} ms`);
      }
      await (await dialog).accept();
      await page.evaluate(() => globalThis.burst);
      assert.equal((await append())[0], "none");
      const contents = await other.evaluate(async () => (await memory.history("c")).map(({ content }) => content));
      const burst = Array.from({ length: 30 }, (_, number) => `burst ${number}`);
      assert.deepEqual(contents, ["message 0", ...burst, "from the other"], "nothing is lost, nothing doubled, and what was told to have failed is not there");
      await Promise.all([page.close(), other.close()]);
    });

    // Locks are the same whatever stores IndexedDB.
    if (backEnd === "leveldb") {
      test("a tab that was frozen at its work does not keep it from the others, one that is only slow does", async () => {
        const [frozen, other] = [await site.openPage(), await site.openPage()];
        const embedder = (first) => `({ id: "e", dimensions: 2, embed: async (texts) => { ${first} return texts.map(() => [1, 0]); } })`;
        await frozen.evaluate(`globalThis.open("asleep", { embedder: ${embedder("globalThis.asked = true; await new Promise((resolve) => { globalThis.answer = resolve; });")} })`);
        await frozen.evaluate(() => globalThis.fill(3));
        await frozen.waitForFunction(() => globalThis.asked);
        await other.evaluate(`globalThis.open("asleep", { embedder: ${embedder("globalThis.asked = true;")} })`);
        await other.evaluate(() => void (globalThis.settled = memory.settled()));
        await new Promise((resolve) => setTimeout(resolve, 4_000));
        assert.equal(await other.evaluate(() => globalThis.asked), undefined, "while its holder answers, the work is left to it");
        // Nothing runs in a page behind a dialog, as in one that the browser froze.
        const dialog = frozen.waitForEvent("dialog");
        await frozen.evaluate(() => void setTimeout(() => globalThis.alert("asleep")));
        await dialog;
        await other.evaluate(() => globalThis.settled);
        assert.equal(await other.evaluate(() => memory.stats().then(({ vectors }) => vectors)), 3);
        await (await dialog).accept();
        await frozen.evaluate(() => globalThis.answer());
        await frozen.evaluate(() => memory.settled());
        assert.equal(await frozen.evaluate(() => memory.stats().then(({ vectors }) => vectors)), 3);
        assert.deepEqual(await frozen.evaluate(() => heard.filter(({ name }) => name === "error")), []);
        await Promise.all([frozen.close(), other.close()]);
      });
    }

    test("what a page computes after its lock was stolen is not stored", async () => {
      const [late, thief] = [await site.openPage(), await site.openPage()];
      const embedder = (first) => `({ id: "e", dimensions: 2, embed: async (texts) => { ${first} return texts.map(() => [1, 0]); } })`;
      await late.evaluate(`globalThis.open("stolen", { embedder: ${embedder("globalThis.asked = true; await new Promise((resolve) => { globalThis.answer = resolve; }); return texts.map(() => [0, 1]);")} })`);
      await late.evaluate(() => globalThis.fill(3));
      await late.waitForFunction(() => globalThis.asked);
      await thief.evaluate(() => navigator.locks.request("throughline:throughline:stolen:throughline:stolen:work", { steal: true }, () => undefined));
      await thief.evaluate(`globalThis.open("stolen", { embedder: ${embedder("")} })`);
      await thief.evaluate(() => memory.settled());
      await late.evaluate(() => globalThis.answer());
      await late.evaluate(() => memory.settled());
      const vectors = await thief.evaluate(async () => {
        const database = await globalThis.rawOpen("throughline:stolen");
        const request = database.transaction(["embeddings"]).objectStore("embeddings").getAll();
        await new Promise((resolve) => (request.onsuccess = resolve));
        database.close();
        return request.result.map(({ blob }) => [...new Float32Array(blob.slice().buffer)]);
      });
      assert.deepEqual(vectors, [[1, 0], [1, 0], [1, 0]]);
      assert.deepEqual(await late.evaluate(() => heard.filter(({ name }) => name === "error")), []);
      await Promise.all([late.close(), thief.close()]);
    });
  });
}
