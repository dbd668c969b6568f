// A process that does the background work of all users until its parent says "end", and tells what it does: `node job-worker.mjs ADDRESS`.
import { setTimeout as pause } from "node:timers/promises";
import { createMemory } from "throughline";
import { postgresStorage, runJobs } from "throughline/postgres";
import { hashingEmbedder, scriptedModel } from "throughline/testing";

const storage = postgresStorage({ connectionString: process.argv[2] });
const embedder = hashingEmbedder({ dimensions: 8 });
const end = new AbortController();
process.on("message", () => end.abort());

/** With a time that is the same in every process. */
const tell = (event, more) => process.send({ event, at: Number(process.hrtime.bigint() / 1000n), ...more });

async function memoryFor(userId) {
  tell("open", { userId });
  const languageModel = scriptedModel({
    extract: async ({ messages }) => {
      tell("extract", { userId });
      await pause(50);
      const [quote] = /I live in town \d+\./.exec(messages.at(-1).content);
      return { facts: [{ fact: `User lives in ${quote.slice(10)}`, category: "identity", key: "home_city", confidence: 0.9, quote, seq: 1, kind: "statement", special: null, valid_days: null }] };
    },
  });
  const memory = await createMemory({ userId, storage, tokenizer: "estimate", languageModel, embedder });
  memory.on("error", (error) => tell("error", { userId, message: error.message }));
  const close = async () => {
    await memory.close();
    tell("close", { userId });
  };
  return { settled: (options) => memory.settled(options), stats: () => memory.stats(), close };
}

const report = await runJobs({
  storage, memoryFor, signal: end.signal, quietMs: 0, idleMs: 0, pollMs: 100, concurrency: 4,
  onError: (error, userId) => tell("error", { userId, message: error.message }),
});
tell("report", report);
await storage.end();
process.disconnect();
