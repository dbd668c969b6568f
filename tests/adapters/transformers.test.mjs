// The embedder for transformers.js, with a pipeline that answers from a script.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, memoryStorage } from "throughline";
import { transformersEmbedder } from "throughline/transformers";
import { WORDS, failsWith } from "./checks.mjs";

const signal = new AbortController().signal;

/** A pipeline whose vectors begin with the text's length. */
function pipelineOf(width = 3, change = (tensor) => tensor) {
  const calls = [];
  let disposed = 0;
  const pipeline = async (texts, options) => {
    calls.push({ texts, options });
    await new Promise((resolve) => setTimeout(resolve, 1));
    const data = new Float32Array(texts.flatMap((text) => [text.length, ...new Array(width - 1).fill(0.5)]));
    return change({ data, dims: [texts.length, width], dispose: () => (disposed += 1) });
  };
  return { calls, pipeline, disposed: () => disposed };
}

const embedderOf = (pipeline, options = {}) => transformersEmbedder({ load: async () => pipeline, model: "m", dimensions: 3, ...options });

test("texts go in batches of like length and come out in order, pooled and normalised, with their prefix", async () => {
  const { calls, pipeline, disposed } = pipelineOf();
  const embedder = embedderOf(pipeline, { prefix: "query: ", modelBatchSize: 2 });
  const texts = ["aaaa", "b", "ccc", "dd", "eeeee"];
  const vectors = await embedder.embed(texts, { signal });
  assert.deepEqual(vectors.map(([length]) => length), texts.map((text) => text.length + 7));
  assert.ok(vectors.every((vector) => vector instanceof Float32Array && vector.length === 3));
  assert.deepEqual(calls.map((call) => call.texts), [["query: b", "query: dd"], ["query: ccc", "query: aaaa"], ["query: eeeee"]]);
  assert.ok(calls.every(({ options }) => options.pooling === "mean" && options.normalize === true));
  assert.equal(disposed(), 3, "the runtime's memory is given back");
});

test("questions have another prefix than what is found by them, where the model wants it so", async () => {
  const { calls, pipeline } = pipelineOf();
  const embedder = embedderOf(pipeline, { prefixes: { query: "query: ", document: "passage: " } });
  await embedder.embed(["a"], { signal, purpose: "query" });
  await embedder.embed(["a"], { signal, purpose: "document" });
  assert.deepEqual(calls.map((call) => call.texts), [["query: a"], ["passage: a"]]);
  assert.equal(embedder.id, "m|query:/passage:");
});

test("what makes the vectors others makes another id, so they are never compared", () => {
  const id = (options) => embedderOf(null, options).id;
  const ids = [id({}), id({ variant: "q8" }), id({ pooling: "cls" }), id({ prefix: "query: " }), id({ prefixes: { query: "query: ", document: "" } }), id({ model: "n" })];
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(embedderOf(null).remote, false);
});

test("another model's vectors are refused; so is what is not pooled", async () => {
  await assert.rejects(embedderOf(pipelineOf(4).pipeline).embed(["a"], { signal }), failsWith("embedding_dimension_mismatch", { retryable: false, message: /4 numbers.*3/ }));
  const unpooled = pipelineOf(3, ({ data }) => ({ data, dims: [1, 1, 3] }));
  await assert.rejects(embedderOf(unpooled.pipeline).embed(["a"], { signal }), failsWith("embedding_dimension_mismatch"));
  const fewer = pipelineOf(3, ({ data }) => ({ data, dims: [2, 3] }));
  await assert.rejects(embedderOf(fewer.pipeline).embed(["a"], { signal }), failsWith("embedding_failed", { retryable: false }));
  assert.throws(() => transformersEmbedder({ model: "m", dimensions: 3 }), failsWith("invalid_config"));
});

test("the model is loaded with the first text, once, and again only where it failed", async () => {
  let loads = 0;
  const { pipeline } = pipelineOf();
  const embedder = transformersEmbedder({ model: "m", dimensions: 3, load: async () => {
    loads += 1;
    if (loads === 1) throw new Error("offline");
    return pipeline;
  } });
  assert.equal(loads, 0);
  await assert.rejects(embedder.embed(["a"], { signal }), (error) => error.code === "embedding_failed" && error.retryable && error.cause.message === "offline");
  await Promise.all([embedder.embed(["a"], { signal }), embedder.embed(["b"], { signal })]);
  assert.equal(loads, 2);
});

test("one run at a time; an abort is noticed between batches; a failure quotes nothing", async () => {
  const controller = new AbortController();
  const running = { now: 0, most: 0 };
  const { calls, pipeline } = pipelineOf();
  const counted = async (...args) => {
    running.most = Math.max(running.most, (running.now += 1));
    const tensor = await pipeline(...args);
    running.now -= 1;
    if (calls.length === 2) controller.abort();
    return tensor;
  };
  const embedder = embedderOf(counted, { modelBatchSize: 1 });
  const other = embedder.embed(["z"], { signal });
  await assert.rejects(embedder.embed(["a", "b", "c"], { signal: controller.signal }), failsWith("aborted"));
  await other;
  assert.equal(running.most, 1);
  assert.equal(calls.length, 2);
  const broken = embedderOf(async ([text]) => { throw new Error(`cannot tokenize ${text}`); });
  await assert.rejects(broken.embed([WORDS], { signal }), failsWith("embedding_failed", { retryable: true }));
});

test("in a memory", async () => {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", embedder: embedderOf(pipelineOf().pipeline) });
  const chat = await memory.conversations.create();
  await memory.append(chat.id, { role: "user", content: "The port is 8471." });
  await memory.settled();
  assert.equal((await memory.stats()).vectors, 1);
  await memory.close();
});
