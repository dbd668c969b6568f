// Input that cannot be kept or told apart is refused before anything is written, always as a MemoryError.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, isMemoryError, memoryStorage } from "../../dist/index.js";

const refused = (call) => assert.rejects(call, (error) => isMemoryError(error, "invalid_argument"));

test("ids with half of a surrogate pair are refused, whole pairs are fine", async () => {
  await assert.rejects(createMemory({ userId: "u\ud800" }), (error) => isMemoryError(error, "invalid_config"));
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  await refused(memory.conversations.create({ id: "a\ud800" }));
  const { id } = await memory.conversations.create({ id: "a\u{1F600}" });
  await refused(memory.append(id, { id: "m\udc00", role: "user", content: "x" }));
  await memory.append(id, { id: "m\u{1F600}", role: "user", content: "lone \ud800 in text is kept" });
  const [message] = await memory.history(id);
  assert.equal(message.content, "lone \ud800 in text is kept");
  await memory.close();
});

test("numbers that JSON does not have, and arguments of the wrong kind", async () => {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  const { id } = await memory.conversations.create();
  await refused(memory.append(id, { role: "user", content: "x", score: NaN }));
  await refused(memory.append(id, { role: "user", content: "x", score: Infinity }));
  await refused(memory.buildContext({ conversationId: id, question: "x", documents: "none" }));
  await refused(memory.buildContext({ conversationId: id, question: "x", signal: { aborted: false } }));
  await refused(memory.stats(null));
  assert.throws(() => memory.on("apend", () => undefined), (error) => isMemoryError(error, "invalid_argument"));
  assert.deepEqual(await memory.history(id), []);
  await memory.close();
});

test("many calls of a callback leave no listeners behind", async () => {
  const warnings = [];
  process.on("warning", ({ name }) => warnings.push(name));
  const embedder = { id: "e", dimensions: 2, embed: async (texts) => texts.map(() => [1, 0]) };
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", embedder });
  const { id } = await memory.conversations.create();
  await memory.append(id, { role: "user", content: "hello" });
  await memory.settled();
  for (let call = 0; call < 20; call += 1) await memory.recall("hello");
  await memory.close();
  assert.deepEqual(warnings, []);
});
