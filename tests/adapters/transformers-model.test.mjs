// The embedder with the real transformers.js and a real model, which is small enough for its vectors to be computed by hand:
// in Node with the runtime that is linked there, and in Chromium with the one in WebAssembly. Nothing is fetched from elsewhere.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { env, pipeline } from "@huggingface/transformers";
import { createMemory, memoryStorage } from "throughline";
import { transformersEmbedder } from "throughline/transformers";
import { failsWith } from "./checks.mjs";
import { assertQuiet, openSite } from "./site.mjs";
import { DIMENSIONS, vectorOf, vectorOfMark, writeTinyModel } from "./tiny-model.mjs";

const TEXTS = ["The port is free", "tea", "green tea, choir!", "8471", "", "the choir is free: the port, the tea"];
const signal = new AbortController().signal;
const library = fileURLToPath(new URL("node_modules/@huggingface/transformers/dist/transformers.min.js", import.meta.url));
const runtime = fileURLToPath(new URL("node_modules/onnxruntime-web/dist/", import.meta.url));

let folder;
let extract;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "throughline-model-"));
  writeTinyModel(join(folder, "tiny"));
  Object.assign(env, { allowRemoteModels: false, localModelPath: `${folder}${sep}` });
  extract = await pipeline("feature-extraction", "tiny", { dtype: "fp32" });
});

after(async () => {
  await extract?.dispose();
  rmSync(folder, { recursive: true, force: true });
});

const embedderOf = (options = {}) => transformersEmbedder({ load: async () => extract, model: "tiny", dimensions: DIMENSIONS, ...options });

/** Two vectors are alike as far as 32 bits go. */
function assertAlike(found, expected, what) {
  assert.equal(found.length, expected.length, what);
  expected.forEach((number, index) => assert.ok(Math.abs(found[index] - number) < 1e-5, `${what}: ${[...found]} is not ${expected}`));
}

test("every text has the vector that its words give, in order, however many the model reads at once", async () => {
  for (const modelBatchSize of [1, 2, 4, 64]) {
    const vectors = await embedderOf({ modelBatchSize }).embed(TEXTS, { signal });
    assert.equal(vectors.length, TEXTS.length);
    vectors.forEach((vector, index) => {
      assert.ok(vector instanceof Float32Array);
      assertAlike(vector, vectorOf(TEXTS[index]), `"${TEXTS[index]}" in batches of ${modelBatchSize}`);
      assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-5, "length 1");
    });
  }
});

test("the prefix is read with the text, and pooling is the one that is asked for", async () => {
  const [prefixed] = await embedderOf({ prefix: "green: " }).embed(["tea"], { signal });
  assertAlike(prefixed, vectorOf("green: tea"), "with its prefix");
  const [first, last] = await Promise.all(["cls", "last_token"].map((pooling) => embedderOf({ pooling }).embed(["the port"], { signal })));
  assertAlike(first[0], vectorOfMark("[CLS]"), "the first token's");
  assertAlike(last[0], vectorOfMark("[SEP]"), "the last token's");
});

test("what the library answers with is given back to it, and what it gave stays", async () => {
  const tensors = [];
  const watched = async (...args) => {
    const tensor = await extract(...args);
    const dispose = tensor.dispose.bind(tensor);
    tensors.push({ tensor, disposed: 0 });
    tensor.dispose = () => {
      tensors.find((each) => each.tensor === tensor).disposed += 1;
      return dispose();
    };
    return tensor;
  };
  const [vector] = await embedderOf({ load: async () => watched }).embed(["tea"], { signal });
  assert.deepEqual(tensors.map(({ disposed }) => disposed), [1]);
  assertAlike(vector, vectorOf("tea"), "after its tensor is gone");
});

test("an abort is noticed between two batches; nothing is run for a call that was aborted before", async () => {
  const controller = new AbortController();
  let runs = 0;
  const counted = async (...args) => {
    runs += 1;
    const tensor = await extract(...args);
    controller.abort();
    return tensor;
  };
  const embedder = embedderOf({ load: async () => counted, modelBatchSize: 1 });
  await assert.rejects(embedder.embed(TEXTS, { signal: controller.signal }), failsWith("aborted"));
  await assert.rejects(embedder.embed(TEXTS, { signal: controller.signal }), failsWith("aborted"));
  assert.equal(runs, 1);
});

test("a model that is not there, one of another size, and one that was disposed of fail with their codes", async () => {
  const absent = embedderOf({ load: () => pipeline("feature-extraction", "absent", { dtype: "fp32" }) });
  await assert.rejects(absent.embed(["tea"], { signal }), failsWith("embedding_failed", { retryable: true, message: /could not be loaded/ }));
  await assert.rejects(embedderOf({ dimensions: 384 }).embed(["tea"], { signal }), failsWith("embedding_dimension_mismatch", { message: /5 numbers.*384/ }));
  const gone = await pipeline("feature-extraction", "tiny", { dtype: "fp32" });
  await gone.dispose();
  await assert.rejects(embedderOf({ load: async () => gone }).embed(["my grandmother's recipe"], { signal }), failsWith("embedding_failed", { message: /while it ran/ }));
});

test("a broken file of the model is a failure that says so, and the next call may load it again", async () => {
  writeTinyModel(join(folder, "mended"));
  writeFileSync(join(folder, "mended", "onnx", "model.onnx"), "no graph");
  const embedder = embedderOf({ load: () => pipeline("feature-extraction", "mended", { dtype: "fp32" }) });
  await assert.rejects(embedder.embed(["tea"], { signal }), failsWith("embedding_failed"));
  writeTinyModel(join(folder, "mended"));
  assertAlike((await embedder.embed(["tea"], { signal }))[0], vectorOf("tea"), "once it is whole");
});

test("in a memory, a question finds by meaning what shares no word with it", async () => {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", embedder: embedderOf() });
  const chat = await memory.conversations.create();
  for (const content of ["Green tea.", "The port is free.", "8471"]) await memory.append(chat.id, { role: "user", content });
  await memory.settled();
  assert.equal((await memory.stats()).vectors, 3);
  // Words that the model does not know are all the same to it: what is nearest is told by hand.
  const question = "choir choir";
  const [{ hits: [best] }] = await memory.recall(question, { topK: 1 });
  const near = (text) => vectorOf(text).reduce((sum, number, index) => sum + number * vectorOf(question)[index], 0);
  const nearest = ["Green tea.", "The port is free.", "8471"].map((text, index) => ({ seq: index + 1, near: near(text) })).sort((a, b) => b.near - a.near)[0];
  assert.equal(best.seq, nearest.seq);
  assert.ok(best.scores.semantic > 0);
  await memory.close();
});

test("in Chromium, with the runtime in WebAssembly and files of this site alone, the vectors are the same", async () => {
  const site = await openSite({
    entry: "transformers-page.mjs", alias: { "@huggingface/transformers": library }, mounts: { "/models/": folder, "/runtime/": runtime },
  });
  try {
    const page = await site.openPage();
    const elsewhere = [];
    page.on("request", (request) => !request.url().startsWith(site.url) && !/^(blob|data):/.test(request.url()) && elsewhere.push(request.url()));
    const vectors = await page.evaluate((texts) => globalThis.embed(texts), TEXTS);
    vectors.forEach((vector, index) => assertAlike(vector, vectorOf(TEXTS[index]), `"${TEXTS[index]}" in Chromium`));
    assert.deepEqual(await page.evaluate(() => globalThis.failures()), ["embedding_failed", "embedding_dimension_mismatch", "aborted"]);
    assert.deepEqual(elsewhere, []);
    page.complaints = page.complaints.filter((complaint) => !complaint.includes("404"));
    assertQuiet(page);
  } finally {
    await site.close();
  }
});
