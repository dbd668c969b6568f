// When messages are on disk: which writes wait for it, by `policy.durability`, on both back ends.
/* global memory, written, Event, IDBObjectStore */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { BACK_ENDS, openSite } from "./pages.mjs";

const script = `
  /** The durability of each write that has ended. */
  globalThis.written = [];
  const begin = IDBDatabase.prototype.transaction;
  IDBDatabase.prototype.transaction = function (stores, mode, options) {
    const transaction = begin.call(this, stores, mode, options);
    if (mode === "readwrite") transaction.addEventListener("complete", () => written.push(transaction.durability));
    return transaction;
  };
  globalThis.open = async (userId, durability) => {
    globalThis.memory = await throughline.createMemory({ userId, tokenizer: "estimate", policy: { durability } });
    await memory.conversations.create({ id: "c" });
    written.length = 0;
  };
  globalThis.say = async (text) => (await memory.append("c", { role: "user", content: text })).every(({ durable }) => durable);`;

for (const [backEnd, switches] of Object.entries(BACK_ENDS)) {
  describe(`on ${backEnd}`, () => {
    let site;

    before(async () => {
      site = await openSite({ script, switches });
    });

    after(() => site?.close());

    async function openUser(userId, durability) {
      const page = await site.openPage();
      await page.evaluate(([userId, durability]) => globalThis.open(userId, durability), [userId, durability]);
      return page;
    }

    test("strict messages are on disk when they are acknowledged", async () => {
      const page = await openUser("strict");
      assert.deepEqual(await page.evaluate(async () => [await globalThis.say("one"), [...written]]), [true, ["strict"]]);
      await page.close();
    });

    test("relaxed ones are followed by one write that takes them there: by itself, at flush, where the page is left, at close", async () => {
      const page = await openUser("relaxed", "relaxed");
      assert.deepEqual(await page.evaluate(async () => [await globalThis.say("one"), await globalThis.say("two"), [...written]]), [false, false, ["relaxed", "relaxed"]]);
      await page.waitForFunction(() => written.includes("strict"));
      assert.deepEqual(await page.evaluate(() => [...written]), ["relaxed", "relaxed", "strict"]);

      const flushed = async () => { written.length = 0; await globalThis.say("three"); await memory.flush(); return [...written]; };
      assert.deepEqual(await page.evaluate(flushed), ["relaxed", "strict"]);
      for (const event of ["pagehide", "visibilitychange"]) {
        const left = await page.evaluate(async (event) => {
          await globalThis.say("four");
          written.length = 0;
          Object.defineProperty(document, "visibilityState", { value: event === "pagehide" ? "visible" : "hidden", configurable: true });
          (event === "pagehide" ? globalThis : document).dispatchEvent(new Event(event));
          // Far sooner than a second.
          for (let turn = 0; turn < 100 && written.length === 0; turn += 1) await new Promise((resolve) => setTimeout(resolve, 5));
          return [...written];
        }, event);
        assert.deepEqual(left, ["strict"], event);
      }
      await page.evaluate(() => Object.defineProperty(document, "visibilityState", { value: "visible", configurable: true }));
      assert.deepEqual(await page.evaluate(async () => { written.length = 0; await globalThis.say("five"); await memory.close(); return [...written]; }), ["relaxed", "strict"]);
      await page.evaluate(() => globalThis.open("relaxed-again", "relaxed"));
      assert.deepEqual(await page.evaluate(async () => { await memory.close(); return [...written]; }), [], "nothing is written where all is on disk");
      await page.close();
    });

    test("a page that goes away right after a relaxed message has asked for its write", async () => {
      const page = await openUser("leaving", "relaxed");
      await page.evaluate(() => {
        const put = IDBObjectStore.prototype.put;
        IDBObjectStore.prototype.put = function (...given) {
          if (this.transaction.durability === "strict") globalThis.localStorage.setItem("asked", "yes");
          return put.apply(this, given);
        };
        return globalThis.say("last words");
      });
      await page.goto(`${site.url}/other.html`);
      assert.equal(await page.evaluate(() => globalThis.localStorage.getItem("asked")), "yes");
      await page.close();
    });
  });
}
