// The app's callbacks as the engine sees them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Host } from "../../dist/host.js";
import { checkOptions } from "../../dist/options.js";
import { createMemory, memoryStorage } from "throughline";

function hostOf(options, isCurrent = () => true, emit = () => {}) {
  const host = new Host(checkOptions({ storage: memoryStorage(), ...options }), emit);
  return { host, engine: host.forEngine(isCurrent) };
}

const embedder = (embed, dimensions = 2) => ({ embedder: { id: "e", dimensions, embed } });
const model = (generate) => ({ languageModel: { contextWindow: 4096, generate } });
const REQUEST = { purpose: "summarize", system: "s", prompt: "p", schema: null, maxTokens: 10 };
const code = (expected) => (error) => error.code === expected;

test("vectors may be typed arrays or arrays of numbers, and arrive as Float32Array", async () => {
  const { engine } = hostOf(embedder(() => [[1, 2], new Float64Array([3, 4]), new Float32Array([5, 6]), new Int8Array([7, 8])]));
  const vectors = await engine.embed(["a", "b", "c", "d"]);
  assert.ok(vectors.every((vector) => vector instanceof Float32Array));
  assert.deepEqual(vectors.map((vector) => [...vector]), [[1, 2], [3, 4], [5, 6], [7, 8]]);
});

test("unusable vectors are refused whole", async () => {
  const answers = [
    [undefined, "embedding_failed"], [[], "embedding_failed"], [[[1, 2], [3, 4]], "embedding_failed"], [["ab"], "embedding_failed"],
    [[null], "embedding_failed"], [[[1, NaN]], "embedding_failed"], [[[1, Infinity]], "embedding_failed"], [[[1, "x"]], "embedding_failed"],
    [[[1, undefined]], "embedding_failed"], [[new DataView(new ArrayBuffer(2))], "embedding_failed"],
    [[[1]], "embedding_dimension_mismatch"], [[[1, 2, 3]], "embedding_dimension_mismatch"],
  ];
  for (const [answer, expected] of answers) {
    await assert.rejects(hostOf(embedder(() => answer)).engine.embed(["a"]), code(expected), JSON.stringify(answer));
  }
});

test("whatever a callback throws becomes a typed failure, with the app's own error kept as its cause", async () => {
  for (const thrown of [undefined, null, "text", new WebAssembly.RuntimeError("another module"), { code: "closed", message: "not ours" }]) {
    const { host, engine } = hostOf({ ...embedder(() => Promise.reject(thrown)), ...model(() => { throw thrown; }) });
    await assert.rejects(engine.embed(["a"]), code("embedding_failed"));
    await assert.rejects(engine.generate(REQUEST), code("model_failed"));
    assert.equal(host.causeOf("model_failed"), thrown);
  }
});

test("an error that says that asking again is of no use keeps its word", async () => {
  for (const [thrown, retryable] of [[Object.assign(new Error("no key"), { retryable: false }), false], [new Error("busy"), true], [{ retryable: "false" }, true]]) {
    const { engine } = hostOf({ ...embedder(() => Promise.reject(thrown)), ...model(() => { throw thrown; }) });
    for (const call of [engine.embed(["a"]), engine.embedQuestions(["a"]), engine.generate(REQUEST)]) {
      await assert.rejects(call, (error) => error.retryable === retryable && error.cause === thrown);
    }
  }
});

test("a model that says so is asked once, and again on request", async () => {
  const asked = [];
  let answer = () => { throw Object.assign(new Error("no key"), { retryable: false }); };
  const languageModel = { contextWindow: 8_192, generate: ({ purpose }) => (asked.push(purpose), answer()) };
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", languageModel, policy: { limits: { jobRetryMs: 0 }, facts: { batchMessages: 1 } } });
  const told = [];
  memory.on("error", ({ code, retryable }) => told.push([code, retryable]));
  const { id } = await memory.conversations.create();
  await memory.append(id, { role: "user", content: "I live in Oslo." });
  await memory.settled();
  assert.deepEqual([asked, told], [["extract"], [["model_failed", false]]]);
  assert.deepEqual((await memory.stats()).failedJobs, [{ job: "extract", conversationId: id, code: "model_failed", attempts: 5, retryAt: null }]);
  answer = () => ({ facts: [] });
  assert.equal(await memory.retryJobs(), 1);
  await memory.settled();
  assert.deepEqual([asked, (await memory.stats()).failedJobs], [["extract", "extract"], []]);
  await memory.close();
});

test("an embedder is told which texts are questions", async () => {
  const asked = { query: [], document: [] };
  const embed = (texts, { purpose }) => (asked[purpose].push(...texts), texts.map((text) => [text.length, 1]));
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", ...embedder(embed) });
  const { id } = await memory.conversations.create();
  await memory.append(id, [{ role: "user", content: "The port is 8471." }, { role: "assistant", content: "Noted." }]);
  await memory.facts.add({ fact: "Lives in Oslo" });
  await memory.settled();
  await memory.recall("which port");
  await memory.facts.search("Where do I live?");
  assert.deepEqual(asked.query, ["which port", "Where do I live?"]);
  assert.deepEqual(asked.document.sort(), ["Lives in Oslo", "Noted.", "The port is 8471."]);
  await memory.close();
});

test("a model may answer text or an object, and nothing else", async () => {
  assert.equal(await hostOf(model(() => "text")).engine.generate(REQUEST), "text");
  assert.equal(await hostOf(model(async () => ({ facts: [] }))).engine.generate(REQUEST), '{"facts":[]}');
  for (const answer of [undefined, null, 5, true]) {
    await assert.rejects(hostOf(model(() => answer)).engine.generate(REQUEST), code("model_output_invalid"));
  }
});

test("a model is asked in the public words", async () => {
  let asked;
  const { engine } = hostOf(model((request) => ((asked = request), "ok")));
  await engine.generate({ ...REQUEST, schema: { type: "object" } });
  assert.deepEqual(asked.messages, [{ role: "user", content: "p" }]);
  assert.deepEqual([asked.purpose, asked.system, asked.maxTokens, asked.schema], ["summarize", "s", 10, { type: "object" }]);
  assert.ok(asked.signal instanceof AbortSignal);
  await engine.generate(REQUEST);
  assert.ok(!("schema" in asked) && !("prompt" in asked));
});

test("closing aborts what is under way, and the engine's own signal does too", async () => {
  const signals = [];
  const { host, engine } = hostOf(model(({ signal }) => { signals.push(signal); return new Promise(() => {}); }));
  const own = new AbortController();
  void engine.generate(REQUEST, own.signal);
  void engine.generate(REQUEST, new AbortController().signal);
  void engine.generate(REQUEST);
  own.abort();
  assert.deepEqual(signals.map((signal) => signal.aborted), [true, false, false]);
  host.close();
  assert.deepEqual(signals.map((signal) => signal.aborted), [true, true, true]);
});

test("an engine that is gone is not answered", async () => {
  let alive = true;
  const { engine } = hostOf(embedder(() => [[1, 2]]), () => alive);
  const answer = engine.embed(["a"]);
  alive = false;
  assert.equal(await Promise.race([answer.then(() => "answered"), new Promise((done) => setTimeout(done, 20, "silent"))]), "silent");
});

test("a clock that throws or answers nonsense is replaced by the platform's", () => {
  for (const clock of [() => NaN, () => { throw new Error("x"); }, () => "now"]) {
    assert.ok(Math.abs(hostOf({ clock }).engine.now() - Date.now()) < 1_000);
  }
  assert.equal(hostOf({ clock: () => 5 }).engine.now(), 5);
});

test("a lock has one holder among all that have the same data open, and a replaced engine loses its own", async () => {
  const storage = { kind: "indexeddb", name: "locks" };
  const first = hostOf({ storage });
  const second = hostOf({ storage });
  const other = hostOf({ storage, userId: "other" });
  const release = await first.engine.tryLock("work");
  assert.equal(await second.engine.tryLock("work"), null);
  assert.equal(typeof (await other.engine.tryLock("work")), "function");
  assert.equal(typeof (await second.engine.tryLock("else")), "function");
  release();
  release();
  assert.equal(typeof (await second.engine.tryLock("work")), "function");
  assert.equal(await first.engine.tryLock("work"), null);
  second.host.forEngine(() => true);
  assert.equal(typeof (await first.engine.tryLock("work")), "function");
  first.host.close();
  assert.equal(typeof (await second.engine.tryLock("work")), "function");
});
