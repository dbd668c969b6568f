// What a provider billed, through the facade: typed answers, refusals before anything is added, sums beside the figures.
import assert from "node:assert/strict";
import { test } from "node:test";
import { countTokens, createMemory, isMemoryError, memoryStorage } from "throughline";

const chat = Array.from({ length: 40 }, (_, number) => ({
  role: number % 2 ? "assistant" : "user",
  content: `Message ${number} says at some length what becomes of step ${number} of the importer, and who has to know.`,
}));

async function open(options = {}) {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", ...options });
  await memory.conversations.create({ id: "c" });
  await memory.append("c", chat);
  return memory;
}

const ask = (memory, options = {}) => memory.buildContext({ conversationId: "c", question: "Is that all?", ...options });

test("contexts are counted as the model bills, and the figures add up", async () => {
  const memory = await open();
  const usage = { provider: "acme", model: "m", outputTokens: 7, cachedTokens: 100, cacheWriteTokens: 3 };
  const before = await ask(memory);
  assert.equal(before.receipt.tokens.correction, 1);
  for (let turn = 0; turn < 3; turn += 1) {
    await ask(memory);
    const { lesson, correction } = await memory.reportUsage("c", { ...usage, inputTokens: Math.round(before.tokens * 1.25) });
    assert.equal(lesson, "learned");
    assert.ok(turn === 0 ? correction < 1.2 : correction >= 1.25 && correction < 1.27, String(correction));
  }
  const after = await ask(memory);
  const { total, correction, overhead, exact } = after.receipt.tokens;
  assert.equal(total, Math.ceil(before.tokens * correction));
  assert.equal(after.receipt.sections.reduce((sum, { tokens }) => sum + tokens, 0) + overhead, total);
  assert.equal(exact, false);
  assert.deepEqual(after.messages, before.messages);
  assert.equal((await ask(memory, { model: { provider: "acme", model: "other" } })).receipt.tokens.correction, 1);
  // The second call of a turn has results of tools behind the context.
  assert.equal((await memory.reportUsage("c", { ...usage, inputTokens: 900 })).lesson, "learned");
  assert.equal((await memory.reportUsage("c", { ...usage, inputTokens: 1_900 })).lesson, "no_context");
  const [told, ...others] = (await memory.stats()).usage;
  assert.deepEqual(others, []);
  assert.deepEqual([told.provider, told.model, told.calls, told.outputTokens, told.cachedTokens], ["acme", "m", 5, 35, 500]);
  assert.equal(told.inputTokens, 3 * Math.round(before.tokens * 1.25) + 2_800);
  await memory.close();
});

test("what cannot be added up is refused, and nothing is added", async () => {
  const memory = await open();
  const usage = { provider: "acme", model: "m", inputTokens: 10, outputTokens: 1 };
  const refused = [
    undefined, null, 5, {}, { ...usage, provider: "" }, { ...usage, model: undefined }, { ...usage, model: "\uD800" }, { ...usage, inputTokens: NaN },
    { ...usage, inputTokens: -1 }, { ...usage, inputTokens: Infinity }, { ...usage, outputTokens: 1.5 }, { ...usage, outputTokens: "1" },
    { ...usage, cachedTokens: 11 }, { ...usage, cachedTokens: 5n },
  ];
  for (const [index, wrong] of refused.entries()) {
    await assert.rejects(memory.reportUsage("c", wrong), (error) => isMemoryError(error, "invalid_argument"), String(index));
  }
  await assert.rejects(memory.reportUsage("none", usage), (error) => isMemoryError(error, "not_found"));
  assert.deepEqual((await memory.stats()).usage, []);
  assert.equal((await memory.reportUsage("c", { provider: "acme", model: "m", inputTokens: undefined })).lesson, "no_input_tokens");
  await memory.erase({ user: true });
  assert.deepEqual((await memory.stats()).usage, []);
  await memory.close();
  await assert.rejects(memory.reportUsage("c", usage), (error) => isMemoryError(error, "closed"));
});

test("where the tokenizer is the model's own there is nothing to learn, and for another model there is", async () => {
  const memory = await open({ tokenizer: "o200k_base" });
  const { tokens, receipt } = await ask(memory);
  assert.equal(receipt.tokens.exact, true);
  const report = { provider: "openai", inputTokens: Math.round(tokens * 1.4) };
  assert.deepEqual(await memory.reportUsage("c", { ...report, model: "gpt-4o-mini" }), { lesson: "exact", correction: 1 });
  await ask(memory);
  assert.equal((await memory.reportUsage("c", { ...report, model: "claude-sonnet-4-5" })).lesson, "learned");
  assert.equal((await ask(memory)).receipt.tokens.exact, false);
  await memory.close();
});

test("a vocabulary that one memory has loaded is another's too, and that of countTokens", async () => {
  const nowhere = { vocabularies: { o200k_base: new URL("./not-there.bin.gz", import.meta.url) } };
  const first = await open({ tokenizer: "o200k_base" });
  const second = await open({ tokenizer: "o200k_base", ...nowhere });
  assert.equal((await ask(second)).receipt.tokens.exact, true);
  assert.deepEqual(await countTokens("hello world", "o200k_base", nowhere), { tokens: 2, exact: true });
  assert.equal((await countTokens("hello world", "cl100k_base", { vocabularies: { cl100k_base: nowhere.vocabularies.o200k_base } })).exact, false);
  await first.close();
  await second.close();
});
