// `npm run bench:postgres [-- --messages 10000] [--clients 32] [--rounds 20]`: the engine over a real PostgreSQL on this machine, which is
// started and stopped here: one user with many messages, and many users at once. Beside it the same calls over storage in memory.

import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { makeCorpus } from "../bench/corpus.mjs";
import { summary, timed } from "../bench/timing.mjs";
import { build } from "./build.mjs";
import { FOLDER, setUpPostgres } from "./postgres.mjs";
import { ROOT, main } from "./toolchain.mjs";

const BATCH = 50;
const CONVERSATION = 500;

await main(async () => {
  const { values } = parseArgs({ options: { messages: { type: "string", default: "10000" }, clients: { type: "string", default: "32" }, rounds: { type: "string", default: "20" } } });
  const [messages, clients, rounds] = [values.messages, values.clients, values.rounds].map(Number);
  await build();
  await setUpPostgres();
  const { startServer } = await import(pathToFileURL(join(ROOT, FOLDER, "server.mjs")));
  const { benchmark } = await import(pathToFileURL(join(ROOT, FOLDER, "benchmark.mjs")));
  const server = await startServer();
  try {
    const corpus = makeCorpus({ size: messages, questions: 100, perClass: 1 });
    console.log(`${messages} messages of one user; ${clients} users at once. ${availableParallelism()} processors, load ${loadavg()[0].toFixed(1)}`);
    console.table(await benchmark({ address: server.address(), corpus, clients, rounds, batch: BATCH, conversation: CONVERSATION, timed, summary }));
  } finally {
    await server.stop();
  }
});
