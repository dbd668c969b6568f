// Row 47 of the list of adversarial inputs: a callback that calls the engine which is waiting for it. Every call is answered or
// refused by a code, nothing traps or waits for ever, and what the callback did meanwhile holds against its own answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, memoryStorage } from "throughline";

const chat = (count) => Array.from({ length: count }, (_, index) => ({
  id: `m${index}`,
  role: index % 2 ? "assistant" : "user",
  content: `${index % 2 ? "Noted" : "I wonder"} how marker${index} of the importer is treated, in as many words as it takes.`,
}));
const marksIn = (text) => new Set(text.match(/marker\d+/g) ?? []);

/** What may be called of an engine, by what is wrong afterwards if it is not so. */
const CALLS = {
  append: (memory, id) => memory.append(id, { id: "late", role: "user", content: "Said meanwhile: marker900 is new." }),
  recall: (memory, id) => memory.recall("importer marker3", { conversationId: id }),
  buildContext: (memory, id) => memory.buildContext({ conversationId: id, question: "What about marker3?", retrieval: "always" }),
  history: (memory, id) => memory.history(id),
  summary: (memory, id) => memory.summary(id),
  stats: (memory) => memory.stats(),
  "facts.add": (memory) => memory.facts.add({ fact: "Lives in Oslo" }),
  "conversations.create": (memory) => memory.conversations.create({ title: "another" }),
  export: (memory) => memory.export().then((backup) => backup?.blob?.() ?? backup),
  edit: (memory, id) => memory.edit(id, "m30", { role: "user", content: "Said another way: marker902 it is." }),
  remove: (memory, id) => memory.remove(id, "m2"),
  "erase message": (memory, id) => memory.erase({ conversationId: id, messageId: "m2" }),
  "erase conversation": (memory, id) => memory.erase({ conversationId: id }),
  compact: (memory, id) => memory.compact(id, { force: true }),
  settled: (memory) => memory.settled(),
  close: (memory) => memory.close(),
};

/** Codes that a call, or what called the callback, may end with: nothing of the platform's, nothing untyped. */
const KNOWN = new Set(["closed", "timeout", "not_found", "storage_conflict", "aborted", "model_output_invalid"]);

/** A memory with callbacks that call once, the first time that they are asked for `purpose`. */
async function calling(purpose, call) {
  let memory, id;
  const met = { codes: [], calls: 0 };
  const once = async () => {
    if (met.calls > 0) return;
    met.calls += 1;
    await call(memory, id).catch((error) => met.codes.push(error.code ?? String(error)));
  };
  const languageModel = {
    contextWindow: 32_000,
    generate: async ({ purpose: asked, messages }) => {
      if (asked === purpose) await once();
      const told = [...marksIn(messages[0].content)].join(" ");
      if (asked === "summarize" || asked === "episode") return { goal: ["Go on"], confirmed: [`It is about ${told}.`], summary: `It is about ${told}.` };
      return asked === "extract" ? { facts: [] } : asked === "judge" ? { operations: [] } : { findings: [] };
    },
  };
  const embed = async (texts, { purpose: asked }) => {
    if (asked === purpose) await once();
    return texts.map((text) => [1, text.length % 7]);
  };
  memory = await createMemory({
    storage: memoryStorage(), tokenizer: "estimate", languageModel, embedder: { id: "e", dimensions: 2, embed },
    // What waits for itself, as `settled` does, waits until nobody waits for the callback.
    policy: {
      limits: { callbackTimeoutMs: 400, queryEmbeddingTimeoutMs: 400, jobAttempts: 1 }, facts: { batchMessages: 1 }, episodes: { automatic: false },
      compaction: { automatic: false }, budget: { recentTokens: 300 }, recent: { maxMessages: 4 },
    },
  });
  memory.on("error", ({ code }) => met.codes.push(code));
  ({ id } = await memory.conversations.create());
  await memory.append(id, chat(40));
  return { memory, id, met };
}

/** How a callback of this purpose comes to be asked. */
const USES = {
  summarize: (memory, id) => memory.compact(id, { force: true }),
  episode: (memory, id) => memory.episodes.end(id),
  extract: (memory) => memory.settled(),
  document: (memory) => memory.settled(),
  query: (memory, id) => memory.recall("importer", { conversationId: id }),
};

const AFTERWARDS = {
  append: async (memory, id) => assert.ok((await memory.history(id)).some(({ content }) => content.includes("marker900"))),
  "facts.add": async (memory) => assert.equal((await memory.facts.list()).filter(({ fact }) => fact === "Lives in Oslo").length, 1),
  "conversations.create": async (memory) => assert.equal((await memory.conversations.list()).items.length, 2),
  edit: async (memory, id) => {
    const said = marksIn(JSON.stringify(await memory.history(id)));
    assert.ok(said.has("marker902") && !said.has("marker30"));
  },
  "erase conversation": async (memory) => assert.deepEqual((await memory.conversations.list()).items, []),
};
AFTERWARDS.remove = AFTERWARDS["erase message"] = async (memory, id) => {
  assert.ok(!marksIn(JSON.stringify(await memory.history(id))).has("marker2"));
  assert.ok(!marksIn(JSON.stringify(await memory.episodes.list())).has("marker2"), "an episode tells what was removed while it was made");
  assert.equal((await memory.recall("marker2 alone")).flatMap((group) => group.messages).filter(({ content }) => marksIn(content).has("marker2")).length, 0);
};

for (const [purpose, use] of Object.entries(USES)) {
  for (const [name, call] of Object.entries(CALLS)) {
    test(`row 47: ${name} called from a callback that is asked for ${purpose}`, async () => {
      const { memory, id, met } = await calling(purpose, call);
      await use(memory, id).catch((error) => met.codes.push(error.code ?? String(error)));
      assert.equal(met.calls, 1, "the callback was asked");
      assert.deepEqual(met.codes.filter((code) => !KNOWN.has(code)), []);
      if (name === "close") {
        await assert.rejects(memory.stats(), { code: "closed" });
        return;
      }
      await memory.retryJobs();
      await memory.settled();
      await AFTERWARDS[name]?.(memory, id);
      const exists = (await memory.conversations.list()).items.some((one) => one.id === id);
      // It works as before, and the summary tells only what is said on the path.
      if (exists) {
        await memory.append(id, [{ role: "user", content: "And then marker990?" }, { role: "assistant", content: "Then marker991." }]);
        const { text, summarizedUntilSeq } = await memory.compact(id, { force: true });
        const said = marksIn(JSON.stringify(await memory.history(id)));
        assert.ok(summarizedUntilSeq > 0 && marksIn(text).size > 0);
        assert.deepEqual([...marksIn(text)].filter((mark) => !said.has(mark)), []);
        await memory.settled();
        assert.equal((await memory.stats()).waitingForVectors, 0);
      }
      await memory.close();
    });
  }
}
