// What `throughline/testing` gives to apps.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, memoryStorage } from "throughline";
import { hashingEmbedder, scriptedModel } from "throughline/testing";
import { generateRequest } from "./checks.mjs";

test("a scripted model answers by purpose, in order, and remembers what it was asked", async () => {
  const model = scriptedModel({
    extract: [{ facts: [1] }, new Error("down"), ({ maxTokens }) => String(maxTokens)],
    judge: "always",
  });
  const ask = (purpose) => model.generate(generateRequest({ purpose }));
  assert.deepEqual(await ask("extract"), { facts: [1] });
  await assert.rejects(ask("extract"), /down/);
  assert.equal(await ask("extract"), "200");
  assert.equal(await ask("extract"), "200");
  assert.equal(await ask("judge"), "always");
  assert.deepEqual(await ask("audit"), { findings: [] });
  assert.deepEqual(model.calls.map(({ purpose }) => purpose), ["extract", "extract", "extract", "extract", "judge", "audit"]);
  assert.deepEqual([model.contextWindow, model.remote], [32_000, true]);
});

test("without a script it changes nothing, and its summaries are taken", async () => {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", languageModel: scriptedModel() });
  const chat = await memory.conversations.create();
  for (let turn = 0; turn < 40; turn += 1) {
    await memory.append(chat.id, [{ role: "user", content: `Deploy number ${turn} went to host-${turn}. `.repeat(20) }, { role: "assistant", content: "Good." }]);
  }
  const summary = await memory.compact(chat.id, { force: true });
  assert.ok(summary.version >= 1 && summary.text !== "", summary.text);
  await memory.settled();
  assert.deepEqual(await memory.facts.list(), []);
  await memory.close();
});

test("a hashing embedder gives the same vectors for ever; words in common are near", async () => {
  const embedder = hashingEmbedder({ dimensions: 64 });
  const [a, b, c, none] = await embedder.embed(["the port is 8471", "which port is it", "blue whales sing", "..."]);
  const cosine = (x, y) => x.reduce((sum, value, index) => sum + value * y[index], 0);
  assert.ok(Math.abs(cosine(a, a) - 1) < 1e-6);
  assert.ok(cosine(a, b) > cosine(a, c) + 0.2);
  assert.ok(none.every((value) => value === 0));
  assert.deepEqual([...a].map((value) => Math.round(value * 1e3)).join(","), PINNED);
  assert.deepEqual(embedder.calls, [["the port is 8471", "which port is it", "blue whales sing", "..."]]);
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", embedder });
  const chat = await memory.conversations.create();
  await memory.append(chat.id, { role: "user", content: "The port is 8471." });
  await memory.settled();
  assert.equal((await memory.stats()).vectors, 1);
  await memory.close();
});

/** Vectors that are stored in fixtures of apps must not change. */
const PINNED = "0,-183,0,0,183,0,0,0,0,0,183,0,0,0,-183,0,0,-183,0,0,183,0,-183,0,0,-183,0,-183,0,-183,183,0,0,0,0,0,0,-183,183,-183,0,0,0,365,183,-183,0,-183,183,0,0,-183,183,0,-183,0,0,0,0,365,0,0,-183,0";
