// What scripts/bench-postgres.mjs measures: where the package finds its libraries. Some users' messages are stored by the engine; the
// others are copies of their rows under other names, which the engine reads as it does its own.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createMemory } from "throughline";
import { postgresStorage } from "throughline/postgres";
import { hashingEmbedder } from "../../bench/embedder.mjs";

const BATCH = 50;
const CONVERSATION = 500;
/** Users whose rows are copied at once. */
const COPIED = 25;
/** Of these, each user has their own: nobody works, and nobody wrote. */
const PASSING = new Set(["memory_writers", "memory_leases", "memory_due_users", "schema_migrations"]);

/** While a database is filled, what a crash would cost does not matter. */
export const FILLING = ["fsync=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0", "max_wal_size=4GB", "autovacuum=off"];

export const userName = (number) => `user ${number}`;

/** Stores `texts` of the first users, as many for each, and copies these until there are `users`. */
export async function fill({ server, users, made, texts }) {
  const storage = postgresStorage({ connectionString: server.address() });
  const each = texts.length / made;
  for (let number = 0; number < made; number += 1) {
    const memory = await createMemory({ userId: userName(number), storage, embedder: hashingEmbedder() });
    for (let at = 0; at < each; at += BATCH) {
      const id = `c${Math.floor(at / CONVERSATION)}`;
      if (at % CONVERSATION === 0) await memory.conversations.create({ id });
      const some = texts.slice(number * each + at, number * each + Math.min(at + BATCH, each));
      await memory.append(id, some.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content })));
    }
    await memory.settled();
    await memory.close();
  }
  await storage.end();
  const tables = await copiedTables(server);
  const blocks = Array.from({ length: Math.ceil((users - made) / COPIED) }, (_, block) => made + block * COPIED);
  const copy = async () => {
    for (let from = blocks.shift(); from !== undefined; from = blocks.shift()) {
      const to = Math.min(from + COPIED, users) - 1;
      const inserts = tables.map(([table, columns]) => `INSERT INTO throughline.${table} (user_id${columns.map((name) => `, ${name}`).join("")})
        SELECT 'user ' || n${columns.map((name) => `, t.${name}`).join("")} FROM generate_series(${from}, ${to}) AS n JOIN throughline.${table} AS t ON t.user_id = 'user ' || n % ${made};`);
      // Triggers would make again what is copied.
      await server.asOwner(`SET session_replication_role = replica; ${inserts.join("\n")}`);
    }
  };
  await Promise.all([copy(), copy()]);
}

/** Every table with rows of users, and its columns but for the user's. */
async function copiedTables(server) {
  const columns = await server.asOwner(`SELECT table_name AS table, column_name AS name FROM information_schema.columns
    WHERE table_schema = 'throughline' AND is_generated = 'NEVER' AND column_name <> 'user_id' ORDER BY table_name, ordinal_position`);
  const names = [...new Set(columns.map(({ table }) => table))].filter((table) => !PASSING.has(table));
  return names.map((table) => [table, columns.filter((column) => column.table === table && column.name !== "incarnation").map(({ name }) => name)]);
}

/**
 * Times of `clients` in `processes`: each opens a user's memory, appends, asks and builds contexts, and goes on to the next user.
 *
 * @param {{ server: object, clients: number, processes: number, visits: number, rounds: number, users: number, made: number, asked: { query: string, target: number }[], each: number }} options
 * @returns {Promise<{ times: Record<string, number[]>, errors: string[], found: number, asked: number, seconds: number }>}
 */
export async function measure({ server, clients, processes, ...work }) {
  const begin = performance.now();
  const reports = await Promise.all(Array.from({ length: processes }, async (_, number) => {
    const share = Array.from({ length: clients }, (_, client) => client).filter((client) => client % processes === number);
    const child = fork(fileURLToPath(new URL("benchmark-clients.mjs", import.meta.url)), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const report = new Promise((resolve, reject) => {
      child.once("message", resolve);
      child.once("exit", (code) => reject(new Error(`A process of clients ended with ${code}.`)));
    });
    child.send({ address: server.address(), clients: share, of: clients, ...work });
    return report;
  }));
  const names = Object.keys(reports[0]?.times ?? {});
  const sum = (name) => reports.reduce((total, report) => total + report[name], 0);
  return {
    times: Object.fromEntries(names.map((name) => [name, reports.flatMap(({ times }) => times[name])])),
    errors: reports.flatMap(({ errors }) => errors), found: sum("found"), asked: sum("asked"), seconds: (performance.now() - begin) / 1000,
  };
}

/** Messages that are stored, and bytes that the database takes on disk. */
export async function stored(server) {
  const [row] = await server.asOwner("SELECT (SELECT count(*)::int FROM throughline.conversation_messages) AS messages, pg_database_size('chat')::float AS bytes");
  return row;
}
