// What happens when the engine traps. The traps are put in by hand, through the exported class and the guard that the
// build points the glue's queueMicrotask at, so that the real instance is really replaced.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { createMemory, isMemoryError, memoryStorage } from "throughline";
import * as glue from "../../dist/engine-glue.js";
import { currentGeneration, isAlive } from "../../dist/engine-instance.js";
import { guardedQueueMicrotask } from "../../dist/microtask-guard.js";

const { Engine, MemoryStoreHandle } = glue;
const original = { addFact: Engine.prototype.addFact, append: Engine.prototype.append, history: Engine.prototype.history, stats: Engine.prototype.stats, open: Engine.open };

afterEach(() => {
  const { open, ...methods } = original;
  Object.assign(Engine.prototype, methods);
  Engine.open = open;
});

const trap = () => new WebAssembly.RuntimeError("unreachable");

/** Traps in a microtask, as a panic of the engine's own tasks does: the promise of the call never settles. */
function trapInMicrotask() {
  guardedQueueMicrotask(() => { throw trap(); });
  return new Promise(() => {});
}

/**
 * Node has no IndexedDB: engines of an "indexeddb" memory are opened in memory here, all in the storage that is given,
 * whose data a replaced instance loses. So what these tests look at is which calls come back, not what they find.
 */
function openWithoutDatabase() {
  Engine.open = (options, host) => original.open({ ...options, storage: { kind: "memory" } }, host, new MemoryStoreHandle());
  return createMemory({ storage: { kind: "indexeddb", name: "trial" }, tokenizer: "estimate" });
}

for (const [kind, fail] of [["a synchronous", () => { throw trap(); }], ["an asynchronous", trapInMicrotask]]) {
  test(`after ${kind} trap an idempotent call is carried out by a fresh instance`, async () => {
    const memory = await openWithoutDatabase();
    const before = currentGeneration();
    let traps = 0;
    Engine.prototype.stats = function (request) {
      traps += 1;
      return traps === 1 ? fail() : original.stats.call(this, request);
    };
    assert.equal(typeof (await memory.stats()), "object");
    assert.equal(traps, 2);
    assert.equal(currentGeneration(), before + 1);
    const chat = await memory.conversations.create();
    assert.equal((await memory.append(chat.id, { role: "user", content: "goes on" })).length, 1);
    await memory.close();
  });

  test(`${kind} trap in a call that must not run twice rejects with engine_panicked, and the next call works`, async () => {
    const memory = await openWithoutDatabase();
    let traps = 0;
    Engine.prototype.addFact = () => { traps += 1; return fail(); };
    await assert.rejects(memory.facts.add({ fact: "I like tea.", category: "preference" }), (error) => {
      assert.ok(error.cause instanceof WebAssembly.RuntimeError);
      return isMemoryError(error, "engine_panicked") && !error.retryable;
    });
    assert.equal(traps, 1);
    await memory.stats();
    await memory.close();
  });
}

test("an append is tried again, once, under the same name, with ids of its messages or without", async () => {
  const memory = await openWithoutDatabase();
  for (const message of [{ id: "a", role: "user", content: "x" }, { role: "user", content: "x" }]) {
    const calls = [];
    Engine.prototype.append = (request) => { calls.push(JSON.parse(request).call); return trapInMicrotask(); };
    await assert.rejects(memory.append("c", message), (error) => isMemoryError(error, "engine_panicked"));
    assert.equal(calls.length, 2);
    assert.ok(calls[0].length > 30 && calls[0] === calls[1]);
  }
  await memory.close();
});

test("a trap rejects every call that was waiting, of every memory, and all go on afterwards", async () => {
  const memories = await Promise.all([openWithoutDatabase(), openWithoutDatabase()]);
  Engine.prototype.addFact = () => new Promise(() => {});
  const waiting = memories.map((memory) => memory.facts.add({ fact: "I like tea.", category: "preference" }).catch((error) => error.code));
  await new Promise(setImmediate);
  guardedQueueMicrotask(() => { throw trap(); });
  assert.deepEqual(await Promise.all(waiting), ["engine_panicked", "engine_panicked"]);
  await Promise.all(memories.map((memory) => memory.stats()));
  await Promise.all(memories.map((memory) => memory.close()));
});

test("a trap ends a memory that is kept in memory only, and says so", async () => {
  const storage = memoryStorage();
  const memory = await createMemory({ storage, tokenizer: "estimate" });
  await memory.conversations.create({ id: "lost" });
  guardedQueueMicrotask(() => { throw trap(); });
  await new Promise(setImmediate);
  await assert.rejects(memory.history("lost"), (error) => isMemoryError(error, "engine_panicked") && /memoryStorage/.test(error.message));
  await assert.rejects(memory.stats(), (error) => isMemoryError(error, "engine_panicked"));
  await memory.close();
  const anew = await createMemory({ storage, tokenizer: "estimate" });
  assert.deepEqual((await anew.conversations.list()).items, []);
  await anew.close();
});

test("an error thrown by a task of a replaced instance does not end the new one", () => {
  const generation = currentGeneration();
  guardedQueueMicrotask(() => { throw new Error("Cannot invoke closure from previous WASM instance"); });
  return new Promise(setImmediate).then(() => assert.ok(isAlive(generation)));
});

test("closing while trapped resolves", async () => {
  const memory = await openWithoutDatabase();
  guardedQueueMicrotask(() => { throw trap(); });
  await new Promise(setImmediate);
  await memory.close();
});
