// Which index answers, and what reaches the embedder, through the facade.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, isMemoryError, memoryStorage } from "throughline";

const ANIMALS = ["cat", "dog", "owl", "eel"];
const SAME = { feline: "cat", hound: "dog" };

/** Directions by animal; a feline is a cat. The model reads its first words only, as models do. */
function embedder(calls, maxInputTokens) {
  return {
    id: "animals", dimensions: 5, maxBatchSize: 8, ...(maxInputTokens === undefined ? {} : { maxInputTokens }),
    embed(texts) {
      calls.push(texts);
      return texts.map((text) => {
        const words = text.toLowerCase().split(/\W+/u).slice(0, maxInputTokens ?? 256).map((word) => SAME[word] ?? word);
        return Float32Array.from([...ANIMALS.map((animal) => words.filter((word) => word === animal).length), 0.1]);
      });
    },
  };
}

async function open(vectorIndex, calls = [], maxInputTokens = undefined) {
  const memory = await createMemory({
    storage: memoryStorage(), tokenizer: "estimate", embedder: embedder(calls, maxInputTokens),
    policy: vectorIndex === undefined ? {} : { vectorIndex },
  });
  await memory.conversations.create({ id: "c" });
  return memory;
}

test("auto, exact and hnsw answer alike; another word is refused", async () => {
  const answers = [];
  for (const choice of [undefined, "auto", "exact", "hnsw"]) {
    const memory = await open(choice);
    const messages = Array.from({ length: 80 }, (_, at) => ({ role: "user", content: `Note ${at}: the ${ANIMALS[at % 4]} number ${at}.` }));
    await memory.append("c", messages);
    await memory.settled();
    const found = await memory.recall("feline", { topK: 5, before: 0, after: 0 });
    const hits = found.flatMap((group) => group.hits);
    assert.ok(hits.length === 5 && hits.some((hit) => hit.scores.cosine > 0.9));
    answers.push(hits.map((hit) => hit.id));
    await memory.close();
  }
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
  await assert.rejects(open("graph"), (error) => isMemoryError(error, "invalid_config"));
});

test("long messages reach the embedder in parts, by maxInputTokens or 256", async () => {
  for (const [maxInputTokens, limit] of [[undefined, 256], [64, 64]]) {
    const calls = [];
    const memory = await open("auto", calls, maxInputTokens);
    const filler = Array.from({ length: 900 }, (_, at) => `word${at % 50}`).join(" ");
    await memory.append("c", [{ role: "user", content: `${filler} My cat is Minka. ${filler}` }, { role: "assistant", content: "I see." }]);
    await memory.settled();
    const texts = calls.flat();
    assert.ok(texts.length > 1_800 / limit && texts.every((text) => text.split(" ").length <= limit), `${texts.length}`);
    assert.ok(calls.every((each) => each.length <= 8));
    assert.equal((await memory.stats()).vectors, texts.length);
    const [best] = await memory.recall("feline", { topK: 1, before: 0, after: 0 });
    assert.ok(best.hits[0].scores.cosine > 0.9 && best.hits[0].scores.keyword === 0);
    await memory.close();
  }
});
