// The package twice in one page: the copies get along, say that they are two, and refuse what they cannot share.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { after, before, mock, test } from "node:test";
import { Worker } from "node:worker_threads";
import * as one from "throughline";
import { createMemoryClient } from "throughline/client";

const folder = mkdtempSync(join(tmpdir(), "throughline-copy-"));
let two;
before(async () => {
  cpSync(fileURLToPath(new URL("../../dist", import.meta.url)), folder, { recursive: true, filter: (from) => !/static-minilm|wasm-inline|vocabularies$/.test(from) });
  cpSync(fileURLToPath(new URL("../../package.json", import.meta.url)), join(folder, "package.json"));
  two = await import(pathToFileURL(join(folder, "index.js")).href);
});
after(() => rmSync(folder, { recursive: true, force: true }));

test("two copies work side by side, and say once that they are two", async () => {
  const warn = mock.method(console, "warn", () => {});
  const memories = [];
  for (const copy of [one, two, one, two]) memories.push(await copy.createMemory({ storage: copy.memoryStorage(), tokenizer: "estimate" }));
  for (const memory of memories) {
    await memory.conversations.create({ id: "c" });
    assert.equal((await memory.append("c", { role: "user", content: "hello" })).length, 1);
  }
  assert.equal(warn.mock.callCount(), 1);
  assert.match(warn.mock.calls[0].arguments[0], /2 copies/);
  const error = await memories[0].history("nowhere").catch((reason) => reason);
  assert.ok(two.isMemoryError(error, "not_found") && !(error instanceof two.MemoryError));
  await Promise.all(memories.map((memory) => memory.close()));
  warn.mock.restore();
});

test("what one copy holds in memory is refused by the other in words", async () => {
  const refused = (error) => one.isMemoryError(error, "invalid_config") && /another copy/.test(error.message);
  await assert.rejects(two.createMemory({ storage: one.memoryStorage() }), refused);
  assert.throws(() => two.indexedDbStorage({ key: one.passphraseKey("a phrase") }), refused);
  assert.throws(() => two.indexedDbStorage({ key: one.indexedDbStorage({ key: new Uint8Array(32) }).key }), refused);
});

test("many who open at once share one engine, and a name opened twice is one memory for both", async () => {
  const storage = one.memoryStorage();
  const memories = await Promise.all(Array.from({ length: 8 }, () => one.createMemory({ storage, tokenizer: "estimate" })));
  await memories[0].conversations.create({ id: "c" });
  const stored = await Promise.all(memories.flatMap((memory, at) => [0, 1].map((n) => memory.append("c", { id: `${at}-${n}`, role: "user", content: `${at} says ${n}` }))));
  assert.deepEqual(stored.map(([{ seq }]) => seq).sort((a, b) => a - b), Array.from({ length: 16 }, (_, n) => n + 1));
  for (const memory of memories) assert.equal((await memory.history("c")).length, 16);
  await memories[0].close();
  assert.equal((await memories[7].recall("3 says 1", { topK: 1 })).length, 1);
  await Promise.all(memories.map((memory) => memory.close()));
});

test("a worker's file that does not go with the page's engine is told", async () => {
  const text = (given) => [given.length, ...Buffer.from(given)];
  const imports = [1, ...text("./engine_bg.js"), ...text("of_another_version"), 0, 0];
  // A module that asks for one function, which no glue has.
  const wasm = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 2, imports.length, ...imports]);
  const opening = createMemoryClient(() => new Worker(new URL("../../dist/worker/index.js", import.meta.url)), { wasm, storage: one.memoryStorage() });
  await assert.rejects(opening, (error) => one.isMemoryError(error, "engine_unavailable") && !error.retryable && /another version/.test(error.message));
});
