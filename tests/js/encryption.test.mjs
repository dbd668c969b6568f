// The keys of encrypted storage: what the browser's cryptography makes of them is what tests/store_encrypted.rs reads.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { test } from "node:test";
import { indexedDbStorage, passphraseKey } from "throughline";
import { holdKey } from "../../dist/storage-key.js";
import { StoreLock, rewrapped } from "../../dist/store-lock.js";

const known = JSON.parse(readFileSync(new URL("../encryption/known.json", import.meta.url), "utf8"));
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
const hex = (array) => Buffer.from(array).toString("hex");
const code = (expected) => (error) => error.code === expected;
const raw = () => holdKey(bytes(known.raw));
const unlock = (key, header) => new StoreLock(holdKey(key)).unlock(header);
const ALGORITHMS = { HKDF: ["deriveKey"], "AES-GCM": ["encrypt", "decrypt"] };
const cryptoKey = (name, usages = ALGORITHMS[name]) => crypto.subtle.importKey("raw", bytes(known.raw), name, false, usages);

test("known answers: the same keys, and records sealed by another library", async () => {
  for (const [key, header] of [[raw(), known.header], [passphraseKey(known.passphrase), known.passphraseHeader], [await cryptoKey("HKDF"), known.header]]) {
    const { names, open, header: same } = await unlock(key, header);
    assert.equal(same, header);
    assert.equal(hex(names), known.names);
    for (const { label, plain, stored, byWebCrypto } of known.records) {
      const opened = await open([label, stored.blob, label, byWebCrypto].map(bytes));
      assert.deepEqual(opened.map(hex), [plain, plain]);
    }
  }
});

test("known answers: names are HMAC-SHA-256", () => {
  const counted = (text) => Buffer.concat([Buffer.from(Uint32Array.of(Buffer.byteLength(text)).buffer), Buffer.from(text)]);
  for (const { store, key, stored } of known.records) {
    const name = (text) =>
      createHmac("sha256", bytes(known.names)).update(Buffer.concat([Buffer.of(1), counted(store), counted(text)])).digest().subarray(0, 16).toString("base64url");
    assert.deepEqual(stored.key, key.map((part) => (typeof part === "string" ? name(part) : part)));
  }
});

test("what is sealed opens once more, looks new each time, and opens with nothing else", async () => {
  const { seal, open, header } = await unlock(raw(), undefined);
  const items = [bytes("01"), bytes("aabb"), bytes("02"), new Uint8Array(0)];
  const [first, empty] = await seal(items);
  assert.deepEqual([first.length, empty.length], [2 + 28, 28]);
  assert.deepEqual((await open([bytes("01"), first, bytes("02"), empty])).map((one) => hex(one)), ["aabb", ""]);
  assert.notDeepEqual((await seal(items))[0], first);
  const changed = first.map((byte, at) => (at === 20 ? byte ^ 1 : byte));
  assert.deepEqual(await open([bytes("02"), first, bytes("01"), changed, bytes("01"), first.subarray(0, 20), bytes("01"), new Uint8Array(0)]), [null, null, null, null]);
  const other = await unlock(raw(), undefined);
  assert.notEqual(other.header, header, "each database has its own key");
  assert.deepEqual(await other.open([bytes("01"), first]), [null]);
  assert.deepEqual((await (await unlock(raw(), header)).open([bytes("01"), first])).map(hex), ["aabb"]);
});

test("the wrong key is told, whatever its kind", async () => {
  const wrong = [Uint8Array.from(bytes(known.raw), (byte) => byte ^ 1), passphraseKey("another"), await cryptoKey("AES-GCM")];
  for (const key of wrong) await assert.rejects(unlock(key, known.header), code("storage_key_wrong"));
  for (const key of [bytes(known.raw), passphraseKey(`${known.passphrase} `)]) await assert.rejects(unlock(key, known.passphraseHeader), code("storage_key_wrong"));
  await assert.rejects(rewrapped(known.header, holdKey(wrong[0]), raw()), code("storage_key_wrong"));
});

test("a changed character of the header is damage, and never a wrong key", async () => {
  for (const [header, key] of [[known.header, raw()], [known.passphraseHeader, passphraseKey(known.passphrase)]]) {
    for (let at = 0; at < header.length; at += 1) {
      const changed = header.slice(0, at) + (header[at] === "7" ? "8" : "7") + header.slice(at + 1);
      // A version that is a larger number is one of the future.
      await assert.rejects(unlock(key, changed), (error) => ["storage_corrupt", "schema_too_new"].includes(error.code), changed);
    }
  }
  for (const text of ["", "null", "[]", "{}", "5", "{", '{"version":1}']) await assert.rejects(unlock(raw(), text), code("storage_corrupt"), text);
  await assert.rejects(unlock(raw(), known.header.replace('"version":1', '"version":2')), code("schema_too_new"));
});

test("another key for the same data", async () => {
  const passphrase = passphraseKey("e\u0301", { iterations: 100_000 });
  const header = await rewrapped(known.header, raw(), passphrase);
  assert.equal(hex((await unlock(passphraseKey("\u00e9"), header)).names), known.names, "typed in another way");
  await assert.rejects(unlock(raw(), header), code("storage_key_wrong"));
  const aes = await cryptoKey("AES-GCM");
  assert.equal(hex((await unlock(aes, await rewrapped(header, passphrase, aes))).names), known.names);
  const bits = await cryptoKey("HKDF", ["deriveBits"]);
  assert.equal(hex((await unlock(bits, known.header)).names), known.names);
});

test("a lock forgets its keys", async () => {
  const lock = new StoreLock(raw());
  await lock.unlock(known.header);
  lock.forget();
  await assert.rejects(lock.unlock(known.header), code("closed"));
});

test("keys are checked, copied, and shown nowhere", async () => {
  const given = bytes(known.raw);
  const storage = indexedDbStorage({ key: given });
  given.fill(0);
  assert.equal(hex((await unlock(storage.key, known.header)).names), known.names, "the app may overwrite its own");
  const shown = [storage, indexedDbStorage({ key: passphraseKey("very secret words") })].map((one) => inspect(one, { depth: 9, showHidden: true }) + JSON.stringify(one)).join("");
  for (const secret of ["secret", known.raw.slice(0, 12), "195, 201"]) assert.ok(!shown.includes(secret), shown);
  const unusable = [new Uint8Array(31), new Uint8Array(33), "text", null, {}, [], await cryptoKey("HKDF").then(() => 5), await crypto.subtle.importKey("raw", bytes(known.raw), "AES-GCM", false, ["encrypt"])];
  for (const key of unusable) assert.throws(() => indexedDbStorage({ key }), code("invalid_config"));
  for (const [passphrase, options] of [[""], [5], [undefined], ["x", { iterations: 99_999 }], ["x", { iterations: 1e5 + 0.5 }], ["x", { iterations: 1e9 }]]) {
    assert.throws(() => passphraseKey(passphrase, options), code("invalid_argument"));
  }
});
