// A full disk in a real browser, with both of its ways of storing IndexedDB: what does not fit is refused whole, reading and
// making room work, and afterwards writing does too.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { BACK_ENDS, openSite } from "./pages.mjs";

const SCRIPT = `
  const say = (id, number) => ({ id: id + number, role: "user", content: number + " " + crypto.getRandomValues(new Uint8Array(2_500)).join(" ") });
  globalThis.attempt = async (work) => {
    try { await work(); return "done"; } catch ({ code }) { return code; }
  };
  globalThis.open = async () => {
    globalThis.memory = await throughline.createMemory({ userId: "quentin", tokenizer: "estimate" });
  };
  globalThis.fill = async () => {
    for (const id of ["a", "b", "c"]) await memory.conversations.create({ id });
    let number = 0;
    for (; number < 2_000; number += 1) {
      const id = "abc"[number % 3];
      const code = await attempt(() => memory.append(id, say(id, number)));
      if (code !== "done") return { stored: number, code };
    }
    return { stored: number };
  };
  globalThis.more = (id, number) => attempt(() => memory.append(id, say(id, number)));
  globalThis.counted = async () => {
    const { items } = await memory.conversations.list();
    let messages = 0;
    for (const { id } of items) messages += (await memory.history(id)).length;
    return { messages, told: (await memory.stats()).messages };
  };
`;

const sites = [];
after(() => Promise.all(sites.map((site) => site.close())));

for (const [backEnd, switches] of Object.entries(BACK_ENDS)) {
  test(`${backEnd}: at the quota nothing is half stored, and making room works`, async (t) => {
    const site = await openSite({ script: SCRIPT, switches });
    sites.push(site);
    const page = await site.openPage();
    const protocol = await site.context.newCDPSession(page);
    // Before the first write: the browser keeps for a while what it found to be free.
    await protocol.send("Storage.overrideQuotaForOrigin", { origin: new URL(site.url).origin, quotaSize: 3_000_000 });
    await page.evaluate(() => globalThis.open());
    const { stored, code } = await page.evaluate(() => globalThis.fill());
    t.diagnostic(`${stored} messages fit`);
    assert.equal(code, "storage_quota_exceeded");
    assert.ok(stored > 9, `${stored} messages fit`);
    assert.deepEqual(await page.evaluate(() => globalThis.counted()), { messages: stored, told: stored });
    const smaller = await page.evaluate(async () => {
      let number = 1_000;
      // To the last byte.
      while ((await globalThis.attempt(() => globalThis.memory.append("a", { role: "user", content: `small ${number}` }))) === "done") number += 1;
      return number - 1_000;
    });
    const removed = await page.evaluate(async () => {
      const [entry] = await globalThis.memory.history("a", { limit: 1, withStatus: true });
      return globalThis.attempt(() => globalThis.memory.remove("a", entry.id));
    });
    assert.equal(removed, "done", "a message is removed on a full disk");
    const deleted = await page.evaluate(() => globalThis.attempt(() => globalThis.memory.conversations.delete("b")));
    assert.equal(deleted, "done", "a conversation is deleted on a full disk");
    const left = stored + smaller - 1 - Math.floor((stored + 1) / 3);
    assert.deepEqual(await page.evaluate(() => globalThis.counted()), { messages: left, told: left });
    const tries = [];
    for (let number = 2_000; number < 2_003 && tries.at(-1) !== "done"; number += 1) {
      tries.push(await page.evaluate((number) => globalThis.more("c", number), number));
    }
    assert.equal(tries.at(-1), "done", `writes work after deleting: ${tries.join(", ")}`);
    const reopened = await page.evaluate(async () => {
      await globalThis.memory.close();
      await globalThis.open();
      return globalThis.counted();
    });
    assert.deepEqual(reopened, { messages: left + 1, told: left + 1 }, "memory says what is on disk");
    assert.equal(await page.evaluate(() => globalThis.attempt(() => globalThis.memory.erase({ user: true }))), "done");
  });
}
