// Row 40 of the list of adversarial inputs: a callback that never answers in time. Whatever it is asked for, the wait ends with
// `timeout`, the callback is told by its signal, and what it answers afterwards changes nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, memoryStorage } from "throughline";

const GOOD = {
  summarize: { goal: ["Ship the importer"], confirmed: ["It listens on 8471"] },
  episode: { summary: "They spoke of the importer.", goal: ["Ship the importer"], confirmed: ["It listens on 8471"] },
  extract: { facts: [{ subject: "user", category: "identity", fact: "I live in Oslo", quote: "I live in Oslo", seq: 1, confidence: 0.9, kind: "statement" }] },
  judge: ({ messages }) => ({ operations: [{ candidate: 0, operation: "UPDATE", target: /^(f\d+): /m.exec(messages[0].content)?.[1] ?? null }] }),
  audit: { findings: [{ kind: "outdated", ids: ["f1"] }] },
};
const answerTo = (request) => (typeof GOOD[request.purpose] === "function" ? GOOD[request.purpose](request) : GOOD[request.purpose]);

/** Longer than any answer takes that is there at once, and shorter than anybody waits for a test. */
const LIMIT_MS = 150;
const LIMITS = { callbackTimeoutMs: LIMIT_MS, queryEmbeddingTimeoutMs: LIMIT_MS, jobAttempts: 1 };

/** Turns of the event loop in which a late answer would arrive. */
async function someTurns() {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((done) => setTimeout(done, 0));
}

const chat = (count) => Array.from({ length: count }, (_, index) => ({
  role: index % 2 ? "assistant" : "user",
  content: index % 2 ? `Case ${index} goes through src/import${index}.rs, as agreed before.` : `I wonder how the importer treats case ${index} in detail.`,
}));
const oslo = [{ role: "user", content: "I live in Oslo." }];

/** What is asked for, by purpose: how it comes to be asked, and what it would change. */
const OF_A_MODEL = {
  summarize: { messages: chat(60), use: (memory, id) => memory.compact(id, { force: true }), state: (memory, id) => memory.summary(id) },
  episode: { messages: chat(6), use: (memory, id) => memory.episodes.end(id), state: (memory) => memory.episodes.list() },
  extract: { messages: oslo, use: (memory) => memory.settled(), state: (memory) => memory.facts.list() },
  judge: {
    before: (memory) => memory.facts.add({ fact: "I live in Bergen", category: "identity" }),
    messages: oslo, use: (memory) => memory.settled(), state: (memory) => memory.facts.list(),
  },
  audit: {
    // The rules have looked all the same, so when that was moves.
    before: (memory) => memory.facts.add({ fact: "The exam is tomorrow" }),
    messages: [], use: (memory) => memory.facts.check(), state: async (memory) => (await memory.facts.findings()).findings,
  },
};

/** One use with a model that is silent about `purpose` or, for comparison, is not. */
async function asked(purpose, isSilent) {
  const { before, messages, use, state } = OF_A_MODEL[purpose];
  const calls = [];
  const generate = (request) => {
    if (request.purpose !== purpose) return answerTo(request) ?? "";
    return new Promise((resolve) => {
      const answer = () => resolve(answerTo(request));
      calls.push({ signal: request.signal, answer, wasAborted: request.signal.aborted });
      if (!isSilent) answer();
    });
  };
  const memory = await createMemory({
    storage: memoryStorage(), tokenizer: "estimate", languageModel: { contextWindow: 32_000, generate },
    policy: { limits: LIMITS, facts: { batchMessages: 1 }, episodes: { automatic: false }, budget: { recentTokens: 300 }, compaction: { automatic: false } },
  });
  const codes = [];
  memory.on("error", ({ code }) => codes.push(code));
  const { id } = await memory.conversations.create();
  await before?.(memory);
  const first = await state(memory, id);
  await memory.append(id, messages);
  await use(memory, id).catch(({ code }) => codes.push(code));
  const then = await state(memory, id);
  for (const { answer } of calls) answer();
  await someTurns();
  return { memory, calls, codes, first, then, last: await state(memory, id) };
}

for (const purpose of Object.keys(OF_A_MODEL)) {
  test(`row 40: ${purpose} that is answered too late ends with timeout, and the answer changes nothing`, async () => {
    const silent = await asked(purpose, true);
    assert.ok(silent.calls.length > 0, "it was asked");
    assert.ok(silent.calls.every(({ signal, wasAborted }) => signal.aborted && !wasAborted), "and told that nobody waits any more");
    assert.deepEqual([...new Set(silent.codes)], ["timeout"]);
    assert.deepEqual(silent.then, silent.first);
    assert.deepEqual(silent.last, silent.first);
    await silent.memory.close();
    // The same answer in time does change something.
    const prompt = await asked(purpose, false);
    assert.deepEqual([prompt.codes, prompt.calls.some(({ signal }) => signal.aborted)], [[], false]);
    assert.notDeepEqual(prompt.last, prompt.first);
    await prompt.memory.close();
  });
}

/** A memory whose embedder is silent about documents or about questions, with everything it was asked for. */
async function withEmbedder(silentAbout, count = 4) {
  const calls = [];
  const embed = (texts, { signal, purpose }) => {
    const vectors = texts.map((text) => [1, text.length]);
    if (purpose !== silentAbout) return vectors;
    return new Promise((resolve) => calls.push({ signal, answer: () => resolve(vectors), wasAborted: signal.aborted }));
  };
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", embedder: { id: "e", dimensions: 2, embed }, policy: { limits: LIMITS, recent: { maxMessages: 2 } } });
  const codes = [];
  memory.on("error", ({ code }) => codes.push(code));
  const { id } = await memory.conversations.create();
  await memory.append(id, chat(count));
  await memory.settled();
  return { memory, id, calls, codes };
}

test("row 40: vectors of messages that come too late are not stored", async () => {
  const { memory, calls, codes } = await withEmbedder("document");
  assert.ok(calls.length > 0 && calls.every(({ signal, wasAborted }) => signal.aborted && !wasAborted));
  assert.deepEqual([...new Set(codes)], ["timeout"]);
  for (const { answer } of calls) answer();
  await someTurns();
  const { vectors, waitingForVectors } = await memory.stats();
  assert.deepEqual([vectors, waitingForVectors], [0, 4]);
  await memory.close();
  const prompt = await withEmbedder("nothing");
  assert.equal((await prompt.memory.stats()).vectors, 4);
  await prompt.memory.close();
});

test("row 40: a question whose vector comes too late is searched by words, and the vector is not used after all", async () => {
  const { memory, id, calls } = await withEmbedder("query", 30);
  const search = async () => (await memory.recall("importer", { conversationId: id })).flatMap((group) => group.hits);
  const context = () => memory.buildContext({ conversationId: id, question: "What about the importer and case 2?", retrieval: "always" });
  for (const look of [search, async () => (await context()).receipt.retrieval]) {
    const asked = calls.length;
    const first = await look();
    assert.ok(calls.length > asked && calls.every(({ signal, wasAborted }) => signal.aborted && !wasAborted));
    for (const { answer } of calls) answer();
    await someTurns();
    const again = await look();
    if (Array.isArray(first)) {
      for (const hits of [first, again]) assert.ok(hits.length > 0 && hits.every(({ scores }) => scores.cosine === null));
    } else {
      for (const { mode, embeddingError } of [first, again]) assert.deepEqual([mode, embeddingError], ["lexical", "timeout"]);
    }
  }
  await memory.close();
});
