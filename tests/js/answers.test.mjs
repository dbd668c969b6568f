// Every method's answer, and every event, beside what the declarations say of it. The language does not look: an answer of the
// engine is plain data that TypeScript is told the type of.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, memoryStorage } from "throughline";
import { hashingEmbedder, scriptedModel } from "throughline/testing";
import { answerOf, declared, faultsOf, fieldOf, namesOf } from "./declared-types.mjs";
import { FIXTURES } from "./import-fixtures.mjs";
import { scenario } from "./worker-scenario.mjs";

const PARTS = ["conversations", "facts", "episodes", "notes", "storage", "changes"];
const MEMORY = declared("Memory");
const STREAM = declared("MessageStream");
const EVENTS = declared("MemoryEvents");

/** Which declaration of a method with several is meant. */
const OVERLOADS = {
  history: ([, options]) => (options?.withStatus ? 0 : 1),
  export: ([options]) => (options?.to === undefined ? 1 : 0),
  buildContext: () => 1,
};

/** Notes what was called and what was not as declared. */
class Watch {
  called = new Set();
  faults = new Set();

  look(value, type, path) {
    for (const fault of faultsOf(value, type, path)) this.faults.add(fault);
  }

  /** The same object, with every answer looked at. */
  over(target, type, path = "") {
    const wrap = (name) => (...given) => {
      const answer = target[name](...given);
      const look = (value) => {
        this.called.add(`${path}${name}`);
        this.look(value, answerOf(fieldOf(type, name), OVERLOADS[`${path}${name}`]?.(given) ?? 0), `${path}${name}()`);
        return name === "stream" ? this.over(value, STREAM, "stream.") : value;
      };
      return answer instanceof Promise ? answer.then(look) : look(answer);
    };
    return new Proxy(target, {
      get: (_target, name) => {
        if (type === MEMORY && PARTS.includes(name)) return this.over(target[name], fieldOf(type, name), `${name}.`);
        return typeof target[name] === "function" && namesOf(type).includes(name) ? wrap(name) : target[name];
      },
    });
  }

  async open(options) {
    const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", ...options });
    for (const name of namesOf(EVENTS)) memory.on(name, (payload) => {
      this.called.add(`on ${name}`);
      this.look(payload, fieldOf(EVENTS, name), `on ${name}`);
    });
    return this.over(memory, MEMORY);
  }
}

/** A model that learns of each chat where somebody lives; it fails once, and refuses one purpose. */
function learning() {
  return scriptedModel({
    extract: ({ messages }) => {
      const [, seq, quote] = /\[(\d+)\] user[^[]*(I live in \w+)/.exec(messages[0].content) ?? [];
      return { facts: quote === undefined ? [] : [{ subject: "user", category: "identity", fact: quote, quote, seq: Number(seq), confidence: 0.9, kind: "statement" }] };
    },
    judge: { operations: [{ candidate: 1, operation: "ADD" }] },
    audit: new Error("not today"),
    summarize: [new Error("down"), { goal: ["Know the costs"], confirmed: ["Step 3 costs 21"] }],
  });
}

/** Two conversations of one project, hours apart, with branches, results of tools and documents. */
async function life(watch) {
  let now = Date.UTC(2026, 0, 5, 9);
  const memory = await watch.open({
    clock: () => now, embedder: hashingEmbedder({ dimensions: 32 }), languageModel: learning(),
    policy: { episodes: { minMessages: 2 }, compaction: { highWaterTokens: 600 }, budget: { recentTokens: 300 }, facts: { batchMessages: 1 } },
  });
  for (const id of ["first", "second", "third"]) {
    await memory.conversations.create({ id, projectId: "harbour" });
    await memory.append(id, Array.from({ length: 24 }, (_, turn) => [
      { role: "user", content: `I live in Graz. What does step ${turn} of src/quay${turn}.rs cost in ${id}?` },
      { role: "assistant", content: null, tool_calls: [{ id: `call${turn}`, type: "function", function: { name: "read", arguments: "{}" } }] },
      { role: "tool", tool_call_id: `call${turn}`, content: `ERR_${turn} `.repeat(30) },
      { role: "assistant", content: `Step ${turn} costs ${turn * 7} for the harbour, and all of it was paid for long ago.` },
    ]).flat(), { localOnly: id === "third" });
    await memory.settled();
    now += 3 * 3_600_000;
    await memory.settled();
    await memory.summary(id);
    for (const format of ["openai", "openai-responses", "anthropic", "gemini", "langchain", "ai-sdk"]) {
      for (const destination of ["remote", "local"]) {
        const request = { conversationId: id, question: "What did step 3 of src/quay3.rs cost?", format, destination, window: 3_000, reserve: 500, retrieval: "always" };
        await memory.buildContext({ ...request, documents: [{ id: "price", text: "Prices rose." }], system: "Be terse." });
      }
    }
    await memory.reportUsage(id, { provider: "p", model: "m", inputTokens: 2_000 });
    await memory.history(id, { withStatus: true, limit: 2 });
  }
  await memory.recall("What does a step cost?", { explain: false });
  assert.equal((await memory.facts.list())[0].source.quote, "I live in Graz");
  await memory.facts.check();
  await memory.retryJobs();
  await memory.facts.log();
  await memory.stats();
  return memory;
}

/** What the two runs before leave out. */
async function rest(watch, memory) {
  await memory.conversations.get("first");
  await memory.conversations.update("first", { title: null, projectId: null });
  let [pages, before] = [0, undefined];
  for (; pages < 5; pages += 1) {
    const { next, items } = await memory.conversations.list({ limit: 1, ...(before === undefined ? {} : { before }) });
    assert.equal(items.length, 1);
    if (next === undefined) break;
    before = next;
  }
  assert.equal(pages, 2, "the last of three pages names no other");
  const proposed = await memory.facts.add({ fact: "Likes harbours", suggested: true, localOnly: true, expiresAt: Date.UTC(2030, 0, 1) });
  await memory.facts.approve(proposed.id);
  await memory.facts.get(proposed.id);
  await memory.facts.sources(proposed.id);
  await memory.facts.optIn("health");
  await memory.facts.optOut("health");
  await memory.facts.forget(proposed.id);
  await memory.facts.list({ status: "forgotten" });
  await memory.storage.info();
  await memory.storage.verify();
  await memory.storage.persist();
  await memory.storage.acknowledgeDamage();
  await memory.flush();
  const stream = await memory.stream("second", { role: "assistant", content: "" });
  stream.update({ role: "assistant", content: "half" });
  await stream.written();
  await stream.abort();
  await memory.append("second", { role: "user", content: "And that?" });
  for (const content of Object.values(FIXTURES)) await memory.import(new Blob([JSON.stringify(content)])).catch(() => undefined);
  await memory.erase({ conversationId: "third" });
  await memory.conversations.delete("second");
  await memory.erase({ user: true });
  await memory.close();
}

/** Two memories that exchange. */
async function exchanged(watch) {
  const [one, two] = [await watch.open(), await watch.open()];
  await one.conversations.create({ id: "shared" });
  await one.append("shared", { role: "user", content: "To both" });
  const { heads } = await one.changes.state();
  await two.changes.state();
  await two.changes.follow(0);
  for (const [id, since] of [[heads[0][0], null], [null, null], [null, "facts.0"]]) await two.changes.take((await one.changes.read(id, since)).piece);
  await one.changes.save("server", { seen: 1 });
  assert.deepEqual(await one.changes.load("server"), { seen: 1 });
}

test("what is answered and told is what the declarations say, with nothing null, undefined or undeclared", async () => {
  const watch = new Watch();
  await scenario((options) => watch.open(options));
  await rest(watch, await life(watch));
  await exchanged(watch);
  assert.deepEqual([...watch.faults], []);
  const methods = (type, path) => namesOf(type).filter((name) => name !== "#private" && !PARTS.includes(name)).map((name) => `${path}${name}`);
  const all = [
    ...methods(MEMORY, ""), ...PARTS.flatMap((part) => methods(fieldOf(MEMORY, part), `${part}.`)),
    ...["write", "update", "complete", "abort", "from", "written"].map((name) => `stream.${name}`), ...namesOf(EVENTS).map((name) => `on ${name}`),
  ];
  assert.deepEqual(all.filter((name) => !watch.called.has(name)), [], "every method and event was seen");
});

test("what the comparison finds", () => {
  const page = declared("ConversationPage");
  assert.deepEqual(faultsOf({ items: [], next: "c" }, page), []);
  assert.deepEqual(faultsOf({ items: [] }, page), []);
  assert.deepEqual(faultsOf({ items: [], next: null }, page), ["answer.next is null in place of string"]);
  assert.deepEqual(faultsOf({ items: [], next: undefined }, page), ["answer.next is undefined in place of being left out"]);
  assert.deepEqual(faultsOf({ items: {}, more: 1 }, page), ["answer.more is not declared", "answer.items is no array"]);
  assert.deepEqual(faultsOf({}, page), ["answer.items is not there"]);
  const status = declared("FactStatus");
  assert.deepEqual([faultsOf("active", status), faultsOf("asleep", status).length, faultsOf(null, declared("Fact")).length], [[], 1, 1]);
});
