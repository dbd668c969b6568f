// `npm run bench:postgres [-- --messages 10000,1000000 --users 1000 --clients 32 --visits 6 --rounds 5 --processes 2]`: memories over a real
// PostgreSQL on this machine, which is started and stopped here. A client opens a user's memory, and then appends a message, asks by
// words and vectors and builds a context, `rounds` times; then it closes it and visits the next user. First one client, then all at
// once. POSTGRES_BIN names the programs of another PostgreSQL.

import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { makeCorpus } from "../bench/corpus.mjs";
import { summary } from "../bench/timing.mjs";
import { build } from "./build.mjs";
import { FOLDER, setUpPostgres } from "./postgres.mjs";
import { ROOT, main, say } from "./toolchain.mjs";

/** The engine stores the messages of at least so many users one by one, and so many messages. */
const MADE = { users: 8, messages: 2_000 };
const MEASURING = ["shared_buffers=2GB", "max_wal_size=4GB"];
const OPTIONS = { messages: "10000,1000000", users: "1000", clients: "32", visits: "6", rounds: "5", processes: String(Math.min(availableParallelism(), 8)) };

await main(async () => {
  const { values } = parseArgs({ options: Object.fromEntries(Object.entries(OPTIONS).map(([name, value]) => [name, { type: "string", default: value }])) });
  await build();
  await setUpPostgres();
  const { startServer } = await import(pathToFileURL(join(ROOT, FOLDER, "server.mjs")));
  const benchmark = await import(pathToFileURL(join(ROOT, FOLDER, "benchmark.mjs")));
  const [users, clients, visits, rounds, processes] = ["users", "clients", "visits", "rounds", "processes"].map((name) => Number(values[name]));
  for (const messages of values.messages.split(",").map(Number)) {
    const each = Math.max(Math.round(messages / users), 1);
    const made = Math.min(Math.max(MADE.users, Math.ceil(MADE.messages / each)), users);
    const { texts, asked } = makeCorpus({ size: made * each, questions: 400, perClass: 1 });
    const server = await startServer([...benchmark.FILLING, ...MEASURING]);
    try {
      say(`${each * users} messages of ${users} users ...`);
      const begin = performance.now();
      await benchmark.fill({ server, users, made, texts });
      await server.end();
      await server.start(MEASURING);
      await server.asOwner("VACUUM ANALYZE");
      const before = await benchmark.stored(server);
      console.log(`${before.messages} messages, ${(before.bytes / 1e9).toFixed(2)} GB, filled in ${((performance.now() - begin) / 1000).toFixed(0)} s. ${availableParallelism()} processors, load ${loadavg()[0].toFixed(1)}`);
      const work = { server, visits, rounds, users, made, each, asked };
      // Nothing is in the server's memory at first: the time of the first visits is not that of the others.
      for (const [count, ways] of [[1, 1], [clients, processes]]) {
        show(count, await benchmark.measure({ ...work, clients: count, processes: ways, visits: count === 1 ? visits * 2 : visits }));
      }
      const lost = before.messages + (clients * visits + 2 * visits) * rounds - (await benchmark.stored(server)).messages;
      console.log(`Messages acknowledged and not there: ${lost}`);
    } finally {
      await server.stop();
    }
  }
});

function show(clients, { times, errors, found, asked, seconds }) {
  const rows = Object.entries(times).map(([call, list]) => {
    const { p50, p95 } = summary(list);
    return { clients, call, runs: list.length, "p50 ms": p50.toFixed(1), "p95 ms": p95.toFixed(1) };
  });
  console.table(rows);
  console.log(`${clients} at once: ${asked} rounds in ${seconds.toFixed(0)} s; ${found} of ${asked} questions found their message; ${errors.length} errors${errors.length > 0 ? `: ${[...new Set(errors)].join(", ")}` : ""}`);
}
