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

const METHODS = {
  memory: ["append", "stream", "edit", "remove", "setActiveLeaf", "history", "buildContext", "recall", "summary", "compact", "settled", "retryJobs", "flush", "erase", "export", "import", "stats", "on", "reportUsage"],
  conversations: ["create", "get", "list", "update", "delete", "tree"],
  facts: ["add", "list", "get", "search", "update", "forget", "approve", "history", "log", "check", "findings", "optIn", "optOut", "consent"],
  episodes: ["list", "end"],
  notes: ["set", "get", "list", "delete"],
  storage: ["info", "verify", "acknowledgeDamage"],
};

test("whatever a call is given, it rejects with a MemoryError or does something", async () => {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  await memory.conversations.create({ id: "c" });
  const wild = [undefined, null, 5, "", "c", [], [null], {}, () => 1, Symbol("x"), new Date(0), { a: { b: 1n } }, { documents: [null], conversationId: "c" }, NaN];
  const other = new Set();
  const call = async (owner, name, given) => {
    try {
      await owner[name](...given);
    } catch (error) {
      if (!isMemoryError(error)) other.add(`${name}: ${error.name} ${error.message}`);
    }
  };
  for (const [part, names] of Object.entries(METHODS)) {
    const owner = memory[part] ?? memory;
    for (const name of names) {
      for (const one of wild) for (const two of wild) {
        await call(owner, name, [one, two, two]);
        await call(owner, name, ["c", one, two]);
      }
    }
  }
  assert.deepEqual([...other], []);
  await memory.close();
});

test("a field that a call does not know is refused by its name, and a limit out of its range", async () => {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", languageModel: { contextWindow: 8_192, generate: () => "" } });
  await memory.conversations.create({ id: "c" });
  const { id } = await memory.facts.add({ fact: "Likes tea" });
  const odd = { limt: 5 };
  const before = {
    memory: {
      append: ["c", { role: "user", content: "x" }], stream: ["c", { role: "user", content: "x" }], edit: ["c", "m", { role: "user", content: "x" }], remove: ["c", "m"],
      setActiveLeaf: ["c", "m"], history: ["c"], recall: ["x"], summary: ["c"], compact: ["c"], erase: [{ factId: id }], import: [new Blob(["[]"])],
      reportUsage: ["c", { provider: "p", model: "m" }], settled: [], retryJobs: [], flush: [], export: [], stats: [], buildContext: [],
    },
    conversations: { create: [], get: ["c"], list: [], update: ["c"], delete: ["c"], tree: ["c"] },
    facts: { add: [], list: [], get: [id], search: ["x"], update: [id], forget: [id], approve: [id], history: [id], log: [], check: [], findings: [], optIn: ["health"], optOut: ["health"], consent: [] },
    episodes: { list: [], end: ["c"] },
    notes: { set: ["c", "n", "x"], get: ["c", "n"], list: ["c"], delete: ["c", "n"] },
    storage: { info: [], verify: [], acknowledgeDamage: [] },
  };
  const needed = { buildContext: { conversationId: "c" }, add: { fact: "Likes tea" } };
  for (const [part, names] of Object.entries(METHODS)) {
    for (const name of names.filter((each) => each !== "on")) {
      await assert.rejects(
        (memory[part] ?? memory)[name](...before[part][name], { ...needed[name], ...odd }),
        (error) => isMemoryError(error, "invalid_argument") && error.message.includes("limt"), `${part}.${name}`,
      );
    }
  }
  for (const limit of [0, -1, 1.5, 1_001, "5"]) await refused(memory.conversations.list({ limit }));
  await refused(memory.erase({ factId: id, ...odd }));
  assert.equal((await memory.facts.list()).length, 1, "nothing was changed");
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
