// The client and its worker, in Node's worker threads: the same memory, callbacks of the app's, errors, and a worker that ends.
/* global WritableStream */
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Worker } from "node:worker_threads";
import { createMemory, isMemoryError, memoryStorage } from "throughline";
import { createMemoryClient } from "throughline/client";
import { comparable, scenario } from "./worker-scenario.mjs";

const SCRIPT = new URL("../../dist/worker/index.js", import.meta.url);
const workers = [];
const newWorker = () => {
  const worker = new Worker(SCRIPT);
  workers.push(worker);
  return worker;
};
const stop = () => Promise.all(workers.splice(0).map((worker) => worker.terminate()));
afterEach(stop);
after(stop);

const open = (options = {}, worker = newWorker()) => createMemoryClient(worker, { storage: memoryStorage(), tokenizer: "estimate", ...options });
const code = (expected) => (error) => isMemoryError(error, expected);
/** A model that is asked when a conversation is compacted. */
const model = (generate) => ({ languageModel: { contextWindow: 8_192, generate } });
const embedder = (embed, dimensions = 2) => ({ embedder: { id: "e", dimensions, embed } });

async function withMessages(memory, count = 20, times = 80) {
  await memory.conversations.create({ id: "c" });
  await memory.append("c", Array.from({ length: count }, (_, n) => ({ role: n % 2 ? "assistant" : "user", content: `Message ${n} about the port ${8_000 + n}. `.repeat(times) })));
  return memory;
}

test("whatever a memory can do, it does the same through a worker", async () => {
  const storage = () => ({ storage: memoryStorage() });
  const [here, there] = [await scenario((options) => createMemory({ ...options, ...storage() })), await scenario((options) => createMemoryClient(newWorker, { ...options, ...storage() }))];
  assert.ok(here.calls.length > 0 && here.heard.length > 0 && here.back.length > 10);
  assert.equal(comparable(there), comparable(here));
});

test("what a callback throws is that very object again as the cause, and its own code stays", async () => {
  class OwnError extends Error {}
  const own = new OwnError("no quota");
  const memory = await withMessages(await open(model(() => { throw own; })));
  await assert.rejects(memory.compact("c", { force: true }), (error) => isMemoryError(error, "model_failed") && error.cause === own && error.retryable);
  await memory.close();
});

test("unusable answers of callbacks are refused in the engine's own words", async () => {
  const answers = [[undefined, "embedding_failed"], [["ab"], "embedding_failed"], [[[1, NaN]], "embedding_failed"], [{ then: undefined, f() {} }, "embedding_failed"], [[[1, 2, 3]], "embedding_dimension_mismatch"], [[[1], [2, 3]], "embedding_failed"]];
  for (const [answer, expected] of answers) {
    const errors = [];
    const memory = await open(embedder(() => answer));
    memory.on("error", (error) => errors.push(error));
    await withMessages(memory, 1, 1);
    await memory.settled();
    assert.ok(errors.some((error) => error.code === expected), `${expected}: ${JSON.stringify(errors)}`);
    await memory.close();
  }
  const silent = await withMessages(await open(model(() => 5)));
  await assert.rejects(silent.compact("c", { force: true }), code("model_output_invalid"));
  await silent.close();
});

test("vectors are not taken away from the app, and arrive as they were", async () => {
  const given = [];
  const memory = await open(embedder((texts) => texts.map((text) => { given.push(new Float32Array([text.length, 1])); return given.at(-1); })));
  await withMessages(memory, 3, 1);
  await memory.settled();
  assert.equal((await memory.stats()).vectors, 3);
  assert.ok(given.length >= 3 && given.every((vector) => vector.length === 2 && vector[1] === 1));
  await memory.close();
});

test("closing aborts the callbacks that are under way, with a reason, and waits for the writes", async () => {
  let signal;
  let asked;
  const isAsked = new Promise((resolve) => (asked = resolve));
  const memory = await withMessages(await open(model((request) => { signal = request.signal; asked(); return new Promise(() => {}); })));
  const compacting = memory.compact("c", { force: true }).catch((error) => error.code);
  await isAsked;
  const appended = memory.append("c", { role: "user", content: "last" });
  const edited = memory.edit("c", "seq:1", { role: "user", content: "after that" });
  await memory.close();
  assert.ok(signal.aborted && isMemoryError(signal.reason, "closed"));
  assert.equal((await appended)[0].seq, 21);
  assert.equal((await edited).seq, 22);
  assert.notEqual(await compacting, undefined);
});

test("a signal gives a call up here, and an import there", async () => {
  const memory = await withMessages(await open(model(() => new Promise(() => {}))));
  const given = new AbortController();
  const compacting = memory.compact("c", { force: true, signal: given.signal });
  setTimeout(() => given.abort("enough"), 20);
  await assert.rejects(compacting, (error) => isMemoryError(error, "aborted") && error.cause === "enough");
  const stop = new AbortController();
  const why = { why: "the user left" };
  const messages = JSON.stringify(Array.from({ length: 3_000 }, (_, n) => ({ role: "user", content: `imported ${n}` })));
  memory.on("append", () => stop.abort(why));
  await assert.rejects(memory.import(new Blob([messages]), { signal: stop.signal }), (error) => isMemoryError(error, "aborted") && error.cause === why);
  assert.equal((await memory.conversations.list()).items.length, 1, "what was half imported is gone");
  await memory.close();
});

test("an export into a stream waits for it, and fails with what the stream fails with", async () => {
  const memory = await withMessages(await open(), 300);
  let isClosed = false;
  let open_ = 0;
  await memory.export({ to: new WritableStream({ write: async () => { open_ += 1; assert.equal(open_, 1); await new Promise(setImmediate); open_ -= 1; }, close: () => (isClosed = true) }) });
  assert.ok(isClosed);
  const full = new Error("disk full");
  await assert.rejects(memory.export({ to: new WritableStream({ write: () => { throw full; } }) }), (error) => error === full);
  let reason;
  const given = AbortSignal.abort("no");
  await assert.rejects(memory.export({ to: "a file" }), code("invalid_argument"));
  await assert.rejects(memory.export({ to: new WritableStream({ abort: (why) => (reason = why) }), signal: given }), code("aborted"));
  assert.ok(isMemoryError(reason, "aborted"));
  await memory.close();
});

test("options that cannot go to a worker are named by what to do", async () => {
  await assert.rejects(open({ policy: { facts: { categories: [() => 1] } } }), (error) => isMemoryError(error, "invalid_config") && /plain data/.test(error.message));
  await assert.rejects(open({ tokeniser: "x" }), code("invalid_config"));
  await assert.rejects(createMemoryClient("worker.js"), (error) => isMemoryError(error, "invalid_config") && /Worker/.test(error.message));
  await assert.rejects(createMemoryClient(() => { throw new Error("refused"); }), (error) => isMemoryError(error, "engine_unavailable") && error.cause.message === "refused");
  const memory = await open();
  const itself = {};
  itself.filter = itself;
  await assert.rejects(memory.recall("x", itself), code("invalid_argument"));
  const proxied = new Proxy({ topK: 1, filter: new Proxy({ roles: ["user"] }, {}) }, {});
  await withMessages(memory, 2);
  assert.equal((await memory.recall("port", proxied)).length, 1);
  await memory.close();
});

test("one worker serves several memories; a storage in memory is found again in it", async () => {
  const worker = newWorker();
  const storage = memoryStorage();
  const [one, same, other] = await Promise.all([open({ storage }, worker), open({ storage }, worker), open({}, worker)]);
  await one.conversations.create({ id: "c" });
  await one.append("c", { role: "user", content: "here" });
  assert.equal((await same.history("c")).length, 1);
  await assert.rejects(other.history("c"), code("not_found"));
  await one.close();
  assert.equal((await same.history("c")).length, 1);
  await Promise.all([same.close(), other.close()]);
  const again = await open({ storage }, worker);
  assert.equal((await again.history("c")).length, 1);
  await again.close();
});

test("a worker that ends rejects what waits, and says that a memory in memory is gone", async () => {
  const worker = newWorker();
  let asked;
  const isAsked = new Promise((resolve) => (asked = resolve));
  const memory = await withMessages(await open(model(() => { asked(); return new Promise(() => {}); }), worker));
  const waiting = memory.compact("c", { force: true });
  waiting.catch(() => {});
  await isAsked;
  await worker.terminate();
  const isGone = (error) => isMemoryError(error, "engine_unavailable") && !error.retryable && /memoryStorage/.test(error.message);
  await assert.rejects(waiting, isGone);
  await assert.rejects(memory.history("c"), isGone);
  await assert.rejects(memory.append("c", { role: "user", content: "x" }), isGone);
  await memory.close();
  await assert.rejects(memory.history("c"), code("closed"));
});

test("a worker whose script fails or is another one is told", async () => {
  const broken = new Worker("throw new Error('no such file')", { eval: true });
  workers.push(broken);
  await assert.rejects(open({}, broken), (error) => isMemoryError(error, "engine_unavailable") && error.retryable && /throughline\/worker/.test(error.message));
  const old = new Worker("require('node:worker_threads').parentPort.on('message', ({ port }) => port.postMessage({ kind: 'tell', name: 'ready', value: 0 }))", { eval: true });
  workers.push(old);
  await assert.rejects(open({}, old), (error) => isMemoryError(error, "engine_unavailable") && !error.retryable && /version/.test(error.message));
});

test("the worker that a client had made ends with the memory; one that it was given does not", async () => {
  const ended = [];
  const watched = (name) => { const worker = newWorker(); worker.on("exit", () => ended.push(name)); return worker; };
  const own = await open({}, () => watched("own"));
  const given = watched("given");
  const shared = await open({}, given);
  await own.close();
  await shared.close();
  await new Promise((resolve) => { setTimeout(resolve, 100); });
  assert.deepEqual(ended, ["own"]);
});
