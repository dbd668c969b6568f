// How long erasing takes (spec S6: a user's 10,000 messages within 5 s): one conversation of so many, then a user with the same
// number in conversations of 500, everything about them made before (vectors, segments, facts, summaries), on both of
// Chromium's IndexedDB back ends. What is left in the stores afterwards is counted.
//
//   node bench/erasure.mjs [--messages 10000]
//
// Build the package first.

import { parseArgs } from "node:util";
import { main } from "../scripts/toolchain.mjs";
import { onEachBackEnd } from "./back-ends.mjs";

const PAGE = String.raw`
  import { createMemory, indexedDbStorage } from "/throughline/index.js";
  import { timed } from "/timing.js";
  import { Random } from "/random.js";
  const random = new Random(7);
  const WORDS = Array.from({ length: 4000 }, (_, index) => "w" + index.toString(36) + "abcdefghij"[index % 10]);
  const text = () => Array.from({ length: 26 }, () => random.of(WORDS)).join(" ");
  const vector = (text) => { const own = new Random(text.length * 7919 + text.charCodeAt(1)); return Float32Array.from({ length: 384 }, () => own.next() - 0.5); };
  const embedder = { id: "made-up", dimensions: 384, embed: async (texts) => texts.map(vector) };
  const languageModel = {
    contextWindow: 32_000,
    generate: async ({ purpose }) => (purpose === "extract" ? { facts: [] } : { goal: ["Go on"], confirmed: ["It goes on"], summary: "It goes on." }),
  };
  const open = (name) => createMemory({ userId: "bench", tokenizer: "estimate", embedder, languageModel, storage: indexedDbStorage({ name }) });
  const stored = async () => {
    let records = 0;
    for (const { name } of await indexedDB.databases()) {
      const database = await new Promise((resolve, reject) => { const asked = indexedDB.open(name); asked.onsuccess = () => resolve(asked.result); asked.onerror = () => reject(asked.error); });
      for (const store of ["messages", "message_ids", "embeddings", "segments", "summaries", "facts"].filter((one) => database.objectStoreNames.contains(one))) {
        records += await new Promise((resolve) => { const asked = database.transaction(store).objectStore(store).count(); asked.onsuccess = () => resolve(asked.result); });
      }
      database.close();
    }
    return records;
  };
  globalThis.erasures = async (messages, each) => {
    const memory = await open(each + " in a conversation");
    for (let start = 0; start < messages; start += 500) {
      const id = "c" + Math.floor(start / each);
      if (start % each === 0) await memory.conversations.create({ id });
      await memory.append(id, Array.from({ length: 500 }, (_, at) => ({ role: at % 2 ? "assistant" : "user", content: text() })));
      await memory.settled();
    }
    const { vectors } = await memory.stats();
    const before = await stored();
    const [ms] = await timed(() => memory.erase(each === messages ? { conversationId: "c0" } : { user: true }));
    const after = await stored();
    await memory.close().catch(() => {});
    return { ms, vectors, before, after };
  };
  document.title = "ready";
`;

await main(async () => {
  const { values } = parseArgs({ options: { messages: { type: "string", default: "10000" } } });
  const messages = Number(values.messages);
  await onEachBackEnd(PAGE, async (title, run) => {
    for (const [what, each] of [["one conversation", messages], ["the user, conversations of 500", 500]]) {
      const { ms, vectors, before, after } = await run("erasures", messages, each);
      console.log(`${title}: ${what}: ${messages} messages, ${vectors} vectors: ${(ms / 1_000).toFixed(2)} s; ${before} records before, ${after} after`);
    }
  });
});
