import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { createMemory, indexedDbStorage, isMemoryError, memoryStorage, MemoryError } from "throughline";
import { Engine } from "../../dist/engine-glue.js";

const original = { append: Engine.prototype.append, history: Engine.prototype.history, buildContext: Engine.prototype.buildContext };
afterEach(() => Object.assign(Engine.prototype, original));

function open(options = {}) {
  return createMemory({ storage: memoryStorage(), tokenizer: "estimate", ...options });
}

async function openWithChat(options) {
  const memory = await open(options);
  const chat = await memory.conversations.create();
  return { memory, chat };
}

const rejectsWith = (code, pattern = /./) => (error) => {
  assert.equal(error.code, code);
  assert.match(error.message, pattern);
  return isMemoryError(error, code) && error instanceof MemoryError;
};

test("a wrong option is named", async () => {
  const wrong = [
    [{ tokeniser: "o200k_base" }, /tokeniser/],
    [{ tokenizer: "" }, /tokenizer/],
    [{ tokenizer: 5 }, /tokenizer/],
    [{ userId: "" }, /userId/],
    [{ userId: "x".repeat(513) }, /userId/],
    [{ storage: {} }, /storage/],
    [{ clock: 5 }, /clock/],
    [{ policy: 5 }, /policy/],
    [{ embedder: { id: "e", dimensions: 0, embed() {} } }, /embedder\.dimensions/],
    [{ embedder: { id: "", dimensions: 3, embed() {} } }, /embedder\.id/],
    [{ embedder: { id: "e", dimensions: 3 } }, /embedder\.embed/],
    [{ embedder: { id: "e", dimensions: 3, maxBatchSize: 0, embed() {} } }, /maxBatchSize/],
    [{ languageModel: { contextWindow: 10, generate() {} } }, /languageModel\.contextWindow/],
    [{ languageModel: { contextWindow: 4096 } }, /languageModel\.generate/],
    [{ vocabularies: { klingon: new Uint8Array() } }, /vocabularies\.klingon/],
  ];
  for (const [options, pattern] of wrong) {
    await assert.rejects(createMemory(options), rejectsWith("invalid_config", pattern), JSON.stringify(options));
  }
  assert.throws(() => indexedDbStorage({ name: "" }), rejectsWith("invalid_config", /name/));
});

test("a raw message comes back equal in every field", async () => {
  const { memory, chat } = await openWithChat();
  const messages = [
    { role: "user", content: "a\uD800b\u0000 \u202E", metadata: { deep: [1, null, { "": -0.5 }] } },
    JSON.parse('{"role":"user","content":"","__proto__":{"admin":true},"constructor":1}'),
  ];
  const stored = await memory.append(chat.id, messages);
  assert.deepEqual(stored.map(({ seq }) => seq), [1, 2]);
  const back = await memory.history(chat.id);
  assert.deepEqual(back.map((message) => JSON.stringify(message)), messages.map((message) => JSON.stringify(message)));
  assert.equal({}.admin, undefined);
  assert.equal(Object.getPrototypeOf(back[1]), Object.prototype);
  await memory.close();
});

test("what JSON would drop or change is refused, and nothing is written", async () => {
  const { memory, chat } = await openWithChat();
  const cyclic = { role: "user" };
  cyclic.self = cyclic;
  const refused = [
    { f() {} }, { b: 1n }, { s: Symbol("x") }, { m: new Map([[1, 2]]) }, { bytes: new Uint8Array([1]) }, { e: new Error("x") },
    { r: /x/ }, cyclic, { toJSON: () => "text" }, 5, null, "text",
    { get content() { throw new Error("getter"); } },
  ];
  for (const bad of refused) {
    await assert.rejects(memory.append(chat.id, [{ role: "user", content: "good" }, bad]), rejectsWith("invalid_argument", /messages\[1\]/));
  }
  assert.deepEqual(await memory.history(chat.id), []);
  await memory.append(chat.id, { role: "user", content: "dated", at: new Date(0) });
  assert.equal((await memory.history(chat.id))[0].at, "1970-01-01T00:00:00.000Z");
  await memory.close();
});

test("no error repeats what the user wrote", async () => {
  const { memory, chat } = await openWithChat();
  await assert.rejects(memory.append(chat.id, { content: "my secret", f() {} }), (error) => !error.message.includes("secret"));
  await memory.close();
});

test("appends are stored in the order in which they were called", async () => {
  const { memory, chat } = await openWithChat();
  await Promise.all(Array.from({ length: 30 }, (_, index) => memory.append(chat.id, { role: "user", content: `${index}` })));
  assert.deepEqual((await memory.history(chat.id)).map(({ content }) => Number(content)), [...Array(30).keys()]);
  await memory.close();
});

test("the same memoryStorage opens the same data again, another one does not, another user does not", async () => {
  const storage = memoryStorage();
  const first = await open({ storage });
  const chat = await first.conversations.create({ id: "shared" });
  await first.append(chat.id, { role: "user", content: "kept" });
  await first.close();
  const second = await open({ storage });
  assert.equal((await second.history("shared"))[0].content, "kept");
  const other = await open();
  await assert.rejects(other.history("shared"), rejectsWith("not_found"));
  const otherUser = await open({ storage, userId: "else" });
  await assert.rejects(otherUser.history("shared"), rejectsWith("not_found"));
  await Promise.all([second.close(), other.close(), otherUser.close()]);
});

test("after close every call rejects with closed, and closing again is no error", async () => {
  const { memory, chat } = await openWithChat();
  const write = memory.append(chat.id, { role: "user", content: "on the way" });
  await memory.close();
  assert.equal((await write).length, 1);
  await memory.close();
  const calls = [
    () => memory.append(chat.id, { role: "user", content: "x" }), () => memory.history(chat.id), () => memory.conversations.list(),
    () => memory.facts.list(), () => memory.stats(), () => memory.flush(), () => memory.recall("x"),
    () => memory.buildContext({ conversationId: chat.id, question: "x" }),
  ];
  for (const call of calls) await assert.rejects(call(), rejectsWith("closed"));
});

test("a signal gives a call up", async () => {
  const { memory, chat } = await openWithChat();
  await assert.rejects(memory.history(chat.id, { signal: AbortSignal.abort() }), rejectsWith("aborted"));
  Engine.prototype.history = () => new Promise(() => {});
  const controller = new AbortController();
  const call = memory.history(chat.id, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(call, (error) => rejectsWith("aborted")(error) && error.cause.message === "enough");
  await assert.rejects(memory.history(chat.id, { signal: 5 }), rejectsWith("invalid_argument", /signal/));
  await memory.close();
});

test("a listener that throws or rejects disturbs nothing, and can be removed", async (context) => {
  context.mock.method(console, "error", () => {});
  const { memory, chat } = await openWithChat();
  const seen = [];
  memory.on("append", () => { throw new Error("listener"); });
  memory.on("append", () => Promise.reject(new Error("async listener")));
  const remove = memory.on("append", (payload) => seen.push(payload.conversationId));
  await memory.append(chat.id, { role: "user", content: "1" });
  await new Promise(setImmediate);
  assert.deepEqual(seen, [chat.id]);
  assert.equal(console.error.mock.callCount(), 2);
  remove();
  await memory.append(chat.id, { role: "user", content: "2" });
  await new Promise(setImmediate);
  assert.equal(seen.length, 1);
  assert.throws(() => memory.on("append", 5), rejectsWith("invalid_argument"));
  await memory.close();
});

test("a vocabulary that cannot be loaded is told as an event, and counts are estimates", async () => {
  const missing = new URL("./not-there.bin.gz", import.meta.url);
  const { memory, chat } = await openWithChat({ tokenizer: "o200k_base", vocabularies: { o200k_base: missing } });
  const errors = [];
  memory.on("error", (payload) => errors.push(payload));
  await memory.append(chat.id, { role: "user", content: "counted all the same" });
  await new Promise(setImmediate);
  assert.equal(errors.length, 1);
  assert.equal(errors[0].code, "wasm_load_failed");
  assert.equal(errors[0].retryable, true);
  await memory.close();
});

test("errors keep their meaning across copies of the package", async () => {
  const copy = await import("../../dist/errors.js?copy");
  const error = new copy.MemoryError("storage_blocked", "text", { details: { tab: 1 } });
  assert.ok(!(error instanceof MemoryError));
  assert.ok(isMemoryError(error) && isMemoryError(error, "storage_blocked") && !isMemoryError(error, "closed"));
  assert.equal(error.retryable, true);
  assert.deepEqual(error.details, { tab: 1 });
  for (const other of [undefined, null, 5, "closed", {}, new Error("x"), { code: "closed" }]) assert.equal(isMemoryError(other), false);
});

test("storage.persist answers what the browser promised, and false where it cannot", async () => {
  const memory = await open();
  const given = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  try {
    for (const [storage, promised] of [
      [{ persist: async () => true }, true], [{ persist: async () => false }, false], [{ persist: () => Promise.reject(new TypeError("no")) }, false], [{}, false], [undefined, false],
    ]) {
      Object.defineProperty(globalThis, "navigator", { value: { storage }, configurable: true });
      assert.equal(await memory.storage.persist(), promised);
    }
  } finally {
    if (given === undefined) delete globalThis.navigator;
    else Object.defineProperty(globalThis, "navigator", given);
  }
  await memory.close();
});
