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

const UPGRADE = `
  const settled = (request) => new Promise((resolve, reject) => {
    request.onsuccess = request.oncomplete = () => resolve(request.result);
    request.onerror = request.onabort = () => reject(request.error);
  });
  const openRaw = (name, version, upgrade = () => undefined) => {
    const request = indexedDB.open(name, version);
    request.onupgradeneeded = () => upgrade(request.result);
    return settled(request);
  };
  /** The memory's database as a version before had it: without two stores. */
  globalThis.makeOlder = async () => {
    await open();
    await memory.conversations.create({ id: "a" });
    for (let number = 0; number < 40; number += 1) await memory.append("a", say("a", number));
    await memory.close();
    const name = "throughline:quentin";
    const database = await openRaw(name);
    const stores = [...database.objectStoreNames];
    const records = {};
    for (const store of stores) {
      const reading = database.transaction(store).objectStore(store);
      records[store] = await Promise.all([settled(reading.getAllKeys()), settled(reading.getAll())]);
    }
    database.close();
    await settled(indexedDB.deleteDatabase(name));
    const kept = stores.filter((store) => !["episodes", "notes"].includes(store));
    const older = await openRaw(name, 99, (database) => kept.forEach((store) => database.createObjectStore(store)));
    const writing = older.transaction(kept, "readwrite");
    for (const store of kept) records[store][0].forEach((key, at) => writing.objectStore(store).put(records[store][1][at], key));
    await settled(writing);
    older.close();
    return stores.length - kept.length;
  };
  /** Fills the site's room to the last byte, in a database of its own. */
  globalThis.fillRoom = async () => {
    const filler = await openRaw("filler", 1, (database) => database.createObjectStore("all"));
    let key = 0;
    for (let size = 65_536; size > 16; ) {
      const writing = filler.transaction("all", "readwrite");
      const bytes = Uint8Array.from({ length: size }, (_, at) => (Math.imul(at + key * 7919, 2_654_435_761) >>> 13) & 255);
      writing.objectStore("all").put(bytes, (key += 1));
      if ((await settled(writing).then(() => "done", () => "full")) === "full") size >>= 1;
    }
    filler.close();
    return key;
  };
  globalThis.makeRoom = () => settled(indexedDB.deleteDatabase("filler"));
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

  test(`${backEnd}: an upgrade and a backup at the quota lose nothing`, async (t) => {
    const site = await openSite({ script: SCRIPT + UPGRADE, switches });
    sites.push(site);
    const page = await site.openPage();
    const protocol = await site.context.newCDPSession(page);
    await protocol.send("Storage.overrideQuotaForOrigin", { origin: new URL(site.url).origin, quotaSize: 3_000_000 });
    assert.equal(await page.evaluate(() => globalThis.makeOlder()), 2);
    assert.ok((await page.evaluate(() => globalThis.fillRoom())) > 10);
    const opened = await page.evaluate(() => globalThis.attempt(() => globalThis.open()));
    t.diagnostic(`opened on a full disk: ${opened}`);
    assert.ok(["done", "storage_quota_exceeded"].includes(opened), opened);
    if (opened === "done") {
      const exported = await page.evaluate(async () => {
        const { report } = await globalThis.memory.export();
        const { lastExportAt } = await globalThis.memory.stats();
        return { report, lastExportAt, append: await globalThis.more("a", 1_000) };
      });
      assert.deepEqual(exported.report, { conversations: 1, messages: 40, facts: 0, skipped: [] });
      assert.equal(exported.append, "storage_quota_exceeded", "there is no room indeed");
      await page.evaluate(() => globalThis.memory.close());
    }
    await page.evaluate(() => globalThis.makeRoom());
    const after = await page.evaluate(async () => {
      await globalThis.open();
      const before = await globalThis.counted();
      const exported = await globalThis.memory.export();
      return { before, append: await globalThis.more("a", 1_000), exported: exported.report.messages, noted: (await globalThis.memory.stats()).lastExportAt > 1e12 };
    });
    assert.deepEqual(after, { before: { messages: 40, told: 40 }, append: "done", exported: 40, noted: true });
  });
}
