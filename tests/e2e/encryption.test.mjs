// Encryption at rest on real disks, with both of Chromium's IndexedDB back ends: what was written through every door is
// nowhere in the profile folder; another key, no key and changed bytes are told by their codes.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { serve } from "../../scripts/serve.mjs";
import { MARKERS, marker } from "../engines/markers.js";
import { markersIn } from "../engines/profile-scan.mjs";
import { browserOptions } from "./browser.mjs";

const [dist, engines] = ["../../dist", "../engines"].map((path) => fileURLToPath(new URL(path, import.meta.url)));
const BACK_ENDS = { leveldb: [], sqlite: ["--enable-features=IdbSqliteBackingStore"] };
const PAGE = String.raw`
  import * as throughline from "/throughline/index.js";
  import { changeStorageKey } from "/throughline/encryption.js";
  import { fillWithMarkers } from "/engines/markers.js";
  const { createMemory, indexedDbStorage, passphraseKey } = throughline;
  globalThis.failure = (promise) => promise.then(() => "none", ({ code, message, details }) => JSON.stringify({ code, message, details }));
  globalThis.keyOf = async (given) => {
    if (typeof given === "string") return passphraseKey(given, { iterations: 100_000 });
    if (Array.isArray(given)) return Uint8Array.from(given);
    if (given?.hkdf) return crypto.subtle.importKey("raw", Uint8Array.from(given.hkdf), "HKDF", false, ["deriveBits"]);
    if (given?.aes) return crypto.subtle.importKey("raw", Uint8Array.from(given.aes), "AES-GCM", false, ["encrypt", "decrypt"]);
    return undefined;
  };
  globalThis.indexedDbStorageOf = (key) => indexedDbStorage({ key });
  globalThis.storageOf = async (given) => {
    const key = await keyOf(given);
    return indexedDbStorage(key === undefined ? {} : { key });
  };
  globalThis.open = async (given, options = {}) => createMemory({ tokenizer: "estimate", userId: "reader", storage: await storageOf(given), ...options });
  globalThis.changeKey = async (from, to, userId = "reader") => changeStorageKey({ userId, storage: await storageOf(from), key: await keyOf(to) });
  globalThis.database = async () => {
    const { name } = (await globalThis.indexedDB.databases())[0];
    return new Promise((resolve) => { indexedDB.open(name).onsuccess = ({ target }) => resolve(target.result); });
  };
  globalThis.answered = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  globalThis.fill = async (given, seed) => {
    const { memory, told } = await fillWithMarkers((options) => open(given, options), seed);
    globalThis.memory = memory;
    return told;
  };
  document.title = "ready";
`;

let site;
let server;
const profiles = [];

before(async () => {
  site = mkdtempSync(join(tmpdir(), "throughline-encryption-"));
  writeFileSync(join(site, "index.html"), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
  writeFileSync(join(site, "page.js"), PAGE);
  server = await serve({ port: 0, mounts: { "/throughline/": dist, "/engines/": engines, "/": site } });
});

after(async () => {
  await server?.close();
  for (const folder of [site, ...profiles]) rmSync(folder, { recursive: true, force: true });
});

/** A browser with a profile folder of its own, and a page. */
async function start(t, switches) {
  const profile = mkdtempSync(join(tmpdir(), "throughline-profile-"));
  profiles.push(profile);
  const context = await chromium.launchPersistentContext(profile, browserOptions(switches));
  t.after(() => context.close());
  const openPage = async () => {
    const page = await context.newPage();
    await page.goto(server.url);
    await page.waitForFunction(() => document.title === "ready");
    return page;
  };
  return { profile, context, openPage, page: await openPage() };
}

const newSeed = () => crypto.getRandomValues(new Uint32Array(1))[0];
const newKey = () => [...crypto.getRandomValues(new Uint8Array(32))];

for (const [name, switches] of Object.entries(BACK_ENDS)) {
  test(`${name}: no marker is in the profile folder, at any time; without a key they are`, async (t) => {
    const plainSeed = newSeed();
    const plain = await start(t, switches);
    const filled = await plain.page.evaluate((seed) => globalThis.fill(undefined, seed), plainSeed);
    await plain.page.evaluate(() => globalThis.memory.close());
    const seen = markersIn(plain.profile, plainSeed).length;
    await plain.context.close();
    t.diagnostic(`without a key: ${seen} of ${MARKERS}`);
    assert.ok(seen >= 80, `the search sees only ${seen} markers`);

    const [seed, key] = [newSeed(), newKey()];
    const { profile, context, page, openPage } = await start(t, switches);
    const filling = page.evaluate(([key, seed]) => globalThis.fill(key, seed), [key, seed]);
    let [looks, isFilling] = [0, true];
    const over = filling.finally(() => (isFilling = false)).catch(() => undefined);
    while (isFilling) {
      const files = join(profile, "Default", "IndexedDB");
      if (existsSync(files)) assert.deepEqual(markersIn(files, seed), [], "while it is written");
      looks += 1;
      await Promise.race([over, new Promise((resolve) => setTimeout(resolve, 50))]);
    }
    t.diagnostic(`looked ${looks} times while it was written`);
    assert.ok(looks > 1);
    const sealed = await filling;
    assert.deepEqual(sealed, filled, "the same answers as without a key");
    assert.ok(sealed.found > 0 && sealed.summary && sealed.vectors > 600 && sealed.segments > 0 && sealed.episodes > 0 && sealed.learned > 0, JSON.stringify(sealed));
    assert.deepEqual(markersIn(profile, seed), [], "while it is open");
    await page.evaluate(() => globalThis.memory.close());
    assert.deepEqual(markersIn(profile, seed), [], "closed");
    await page.close();
    const again = await openPage();
    const erased = await again.evaluate(async ([key, userId, word, embedder]) => {
      const memory = await globalThis.open(key, { userId, embedder: { id: embedder, dimensions: 8, embed: async (texts) => texts.map(() => new Float32Array(8)) } });
      const found = (await memory.recall(word, { topK: 3 })).length;
      await memory.erase({ user: true });
      await memory.close();
      return found;
    }, [key, marker(seed, 98), marker(seed, 3), marker(seed, 99)]);
    assert.ok(erased > 0, "found by another page");
    assert.deepEqual(markersIn(profile, seed), [], "erased");
    await context.close();
    assert.deepEqual(markersIn(profile, seed), [], "the browser is closed");
  });

  test(`${name}: changed bytes, another key and no key are told, and what is whole stays readable`, async (t) => {
    const { page } = await start(t, switches);
    const seen = await page.evaluate(async (key) => {
      const { open, failure, database, answered } = globalThis;
      const results = {};
      const texts = (messages) => messages.map(({ content }) => content);
      const memory = await open(key);
      for (const [id, count] of [["a", 3], ["b", 2]]) {
        await memory.conversations.create({ id });
        await memory.append(id, Array.from({ length: count }, (_, at) => ({ role: "user", content: `${id}${at}` })));
      }
      await memory.close();
      const other = key.map((byte) => byte ^ 1);
      const records = async () => {
        const opened = await database();
        const counts = await Promise.all([...opened.objectStoreNames].map((store) => answered(opened.transaction(store).objectStore(store).getAll())));
        opened.close();
        return JSON.stringify(counts, (_, value) => (value instanceof Uint8Array ? [...value] : value));
      };
      const before = await records();
      results.otherKey = await failure(open(other));
      results.noKey = await failure(open(undefined));
      results.otherKind = await failure(open("a passphrase"));
      results.unchanged = (await records()) === before;
      results.databases = (await globalThis.indexedDB.databases()).map(({ name }) => name);

      // One bit of one message of the conversation that has three.
      const opened = await database();
      const messages = opened.transaction("messages", "readwrite").objectStore("messages");
      const keys = await answered(messages.getAllKeys());
      const damaged = keys.find(([id]) => keys.filter(([one]) => one === id).length === 3);
      const record = await answered(messages.get(damaged));
      record.blob[30] ^= 1;
      await answered(messages.put(record, damaged));
      opened.close();
      const again = await open(key);
      results.told = [];
      again.on("storage", (payload) => results.told.push(payload));
      results.left = texts(await again.history("a"));
      results.whole = texts(await again.history("b"));
      await again.append("b", { role: "user", content: "b2" });
      results.appended = texts(await again.history("b"));
      await again.close();

      // The record that wraps the data key.
      const last = await database();
      const meta = last.transaction("meta", "readwrite").objectStore("meta");
      const header = await answered(meta.get(["encryption"]));
      await answered(meta.put({ body: header.body.replace(/"wrapped":"./, (text) => text.slice(0, -1) + (text.endsWith("A") ? "B" : "A")) }, ["encryption"]));
      last.close();
      results.header = await failure(open(key));
      return results;
    }, newKey());
    const code = (text) => JSON.parse(text).code;
    assert.equal(code(seen.otherKey), "storage_key_wrong");
    assert.equal(code(seen.noKey), "storage_key_wrong");
    assert.equal(code(seen.otherKind), "storage_key_wrong");
    assert.equal(seen.unchanged, true);
    assert.equal(seen.databases.length, 1);
    assert.match(seen.databases[0], /^throughline:sealed:[\w-]{22}$/);
    assert.deepEqual(seen.left, ["a1", "a2"]);
    assert.deepEqual(seen.told.map(({ state, damage }) => [state, damage?.unreadable.messages]), [["damaged", 1]]);
    assert.deepEqual(seen.whole, ["b0", "b1"]);
    assert.deepEqual(seen.appended, ["b0", "b1", "b2"]);
    assert.equal(code(seen.header), "storage_corrupt");
  });
}

test("a backup goes into an encrypted store and out of it, the same bytes, whichever way it is packed", async (t) => {
  const { page } = await start(t, []);
  const seen = await page.evaluate(async (key) => {
    const { open } = globalThis;
    const digest = async (file) => Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()))).join();
    const plain = await open(undefined, { userId: "plain" });
    for (const id of ["a", "b/é"]) {
      await plain.conversations.create({ id });
      await plain.append(id, Array.from({ length: 700 }, (_, at) => ({ id: `m${at}`, role: at % 2 ? "assistant" : "user", content: `message ${at}` })));
      await plain.edit(id, "m10", { id: "m10b", role: "user", content: "said otherwise" });
    }
    await plain.facts.add({ fact: "Likes tea" });
    const [file, packed] = [await plain.export(), await plain.export({ encrypt: { passphrase: "p" } })];
    await plain.close();
    const results = { digests: [await digest(file)], imported: [] };
    for (const [given, options] of [[file, { trusted: true }], [packed, { passphrase: "p" }]]) {
      const sealed = await open(key, { userId: `sealed ${results.imported.length}` });
      const first = await sealed.import(given, options);
      const again = await sealed.import(given, options);
      results.imported.push([first.messages, again.unchanged]);
      results.digests.push(await digest(await sealed.export()));
      results.exportedAt = (await sealed.stats()).lastExportAt;
      await sealed.settled();
      await sealed.close();
    }
    return results;
  }, newKey());
  assert.deepEqual(seen.imported, Array(2).fill([1_402, 2]));
  assert.equal(new Set(seen.digests).size, 1, "byte for byte");
  assert.ok(Math.abs(seen.exportedAt - Date.now()) < 60_000);
});

test("every kind of key, a change of key while a memory is open, and data that is stored without one", async (t) => {
  const { page } = await start(t, []);
  const seen = await page.evaluate(async (bytes) => {
    const { open, failure, changeKey } = globalThis;
    const results = { opened: [], refused: [] };
    const memory = await open("korrekt è 🐴");
    await memory.conversations.create({ id: "a" });
    await memory.append("a", { role: "user", content: "first" });
    const kinds = ["korrekt e\u0300 🐴", bytes, { hkdf: bytes }, { aes: bytes }, "another", bytes];
    let now = kinds[0];
    for (const next of kinds) {
      await changeKey(now, next);
      // The open memory goes on: its keys are the same.
      await memory.append("a", { role: "user", content: "more" });
      const reader = await open(next);
      results.opened.push((await reader.history("a")).length);
      await reader.close();
      const same = (one) => JSON.stringify(one?.hkdf ?? one) === JSON.stringify(next?.hkdf ?? next);
      results.refused.push(await failure(open(kinds.find((kind) => !same(kind) && kind !== kinds[0]))));
      now = next;
    }
    results.wrong = await failure(changeKey({ aes: bytes }, "x"));
    results.absent = await failure(changeKey("x", "y", "nobody"));
    await memory.close();

    const plain = await open(undefined, { userId: "plain" });
    await plain.conversations.create({ id: "p" });
    results.plain = await failure(open(bytes, { userId: "plain" }));
    await plain.erase({ user: true });
    await plain.close();
    const sealed = await open(bytes, { userId: "plain" });
    await sealed.conversations.create({ id: "now sealed" });
    await sealed.close();
    results.sealed = await failure(open(undefined, { userId: "plain" }));
    results.databases = (await globalThis.indexedDB.databases()).length;
    results.logged = JSON.stringify([await globalThis.storageOf("secret words"), await globalThis.storageOf(bytes)]);
    results.invalid = await Promise.all([new Uint8Array(31), "text", null, {}].map((key) => {
      try {
        globalThis.indexedDbStorageOf(key);
        return "none";
      } catch (error) {
        return error.code;
      }
    }));
    return results;
  }, newKey());
  const code = (text) => JSON.parse(text).code;
  assert.deepEqual(seen.opened, [2, 3, 4, 5, 6, 7]);
  assert.deepEqual(seen.refused.map(code), Array(6).fill("storage_key_wrong"));
  assert.equal(code(seen.wrong), "storage_key_wrong");
  assert.equal(code(seen.absent), "not_found");
  assert.equal(code(seen.plain), "storage_key_wrong");
  assert.equal(code(seen.sealed), "storage_key_wrong");
  assert.equal(seen.databases, 2, "the empty plain one went");
  assert.ok(!seen.logged.includes("secret"), seen.logged);
  assert.deepEqual(seen.invalid, Array(4).fill("invalid_config"));
});
