// How a real PostgreSQL server carries out whatever the store asks: it tells the plan of each statement, those within functions too.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { createMemory } from "throughline";
import { migratePostgres, postgresStorage, runJobs } from "throughline/postgres";
import { hashingEmbedder, scriptedModel } from "throughline/testing";
import { TABLES } from "../../dist/adapters/postgres/tables.js";
import { startServer } from "./server.mjs";

/** Rows of others in each table: so many that none is read whole for being small. */
const OTHERS = 4_000;
let server;
before(async () => (server = await startServer()));
after(() => server?.stop());

/** A value of others, by the type of its column; `n` is the row's number. */
const VALUES = {
  text: "'other ' || n", bytea: "decode(md5(n::text), 'hex')", uuid: "gen_random_uuid()", bigint: "n", integer: "n", real: "n",
  "double precision": "n", boolean: "true", "timestamp with time zone": "now() + make_interval(days => 1, secs => n)", ARRAY: "'{}'", "USER-DEFINED": "'[1]'",
};

/** Fills every table of the schema with rows of others, and lets the planner know. */
async function fill() {
  const columns = await server.asOwner(`SELECT table_name AS table, column_name AS name, data_type AS type, is_nullable = 'YES' AS may_be_null
    FROM information_schema.columns WHERE table_schema = 'throughline' AND table_name <> 'schema_migrations'`);
  for (const table of new Set(columns.map((column) => column.table))) {
    const filled = columns.filter((column) => column.table === table && !column.may_be_null);
    for (const { type } of filled) assert.ok(type in VALUES, `${table}: no value for ${type}`);
    await server.asOwner(`INSERT INTO throughline.${table} (${filled.map(({ name }) => name)}) SELECT ${filled.map(({ type }) => VALUES[type])} FROM generate_series(1, ${OTHERS}) AS n`);
  }
  await server.asOwner("VACUUM ANALYZE");
}

/** A pool whose connections tell the plans of what they are asked. */
async function explaining(plans) {
  await server.asOwner(`ALTER ROLE app SET session_preload_libraries = 'auto_explain'`);
  for (const [name, value] of [["log_min_duration", "0"], ["log_nested_statements", "on"], ["log_verbose", "on"], ["log_format", "json"], ["log_level", "notice"]]) {
    await server.asOwner(`ALTER ROLE app SET auto_explain.${name} = '${value}'`);
  }
  const pool = new pg.Pool({ connectionString: server.address() });
  pool.on("connect", (client) => client.on("notice", ({ message }) => {
    const at = message.indexOf("{");
    if (message.includes("plan:") && at > 0) plans.push(JSON.parse(message.slice(at)));
  }));
  return pool;
}

/** A search in the database, of what is kept of messages; without vectors, so that it needs no pgvector. */
async function useSearch(storage) {
  const memory = await createMemory({ storage, userId: "kim", tokenizer: "estimate" });
  const { id } = await memory.conversations.create();
  for (let turn = 0; turn < 8; turn += 1) {
    await memory.append(id, { id: `m${turn}`, role: "user", content: `She said "port ${turn} of the server" and left.` });
    await memory.recall('who said "port of the server"?');
  }
  await memory.erase({ conversationId: id, messageId: "m5" });
  await memory.close();
  const again = await createMemory({ storage, userId: "kim", tokenizer: "estimate" });
  await again.recall("server");
  await again.erase({ conversationId: id });
  await again.erase({ user: true });
  await again.close();
}

/** Whatever the package does with a user's records. */
async function useEverything(storage) {
  const options = { storage, tokenizer: "estimate", embedder: hashingEmbedder({ dimensions: 8 }), languageModel: scriptedModel() };
  const memory = await createMemory({ ...options, userId: "alex" });
  const { id } = await memory.conversations.create();
  for (let batch = 0; batch < 12; batch += 1) {
    await memory.append(id, Array.from({ length: 50 }, (_, number) => ({ id: `${batch}-${number}`, role: number % 2 === 0 ? "user" : "assistant", content: `Message ${batch * 50 + number} about port ${8000 + number}. ${"It matters. ".repeat(20)}` })));
  }
  await memory.facts.add({ subject: "user", category: "preference", fact: "Likes port 8471." });
  await memory.notes.set(id, "plan", "Ship it.");
  await memory.settled();
  await memory.append(id, { role: "user", content: "One more." });
  await memory.edit(id, "11-48", { role: "user", content: "Another end." });
  await memory.history(id, { from: 100, limit: 20 });
  await memory.recall("port 8017");
  await memory.buildContext({ conversationId: id, question: "Which port?", window: 8_000, reserve: 500 });
  await memory.conversations.list({ limit: 5 });
  await memory.facts.search("port");
  await memory.export();
  await memory.stats();
  await memory.close();
  const second = await createMemory({ ...options, userId: "alex" });
  await second.recall("port 8018");
  await second.erase({ conversationId: id });
  await second.settled();
  await second.close();
  await runJobs({ storage, memoryFor: (userId) => createMemory({ ...options, userId }), once: true, quietMs: 0, idleMs: 0 });
  const marked = await createMemory({ ...options, userId: "alex" });
  await marked.conversations.create();
  await marked.close();
  const queue = storage.dueUsers();
  const [{ userId }] = await queue.take(1, 0);
  await storage.given.tryLock("alex", "held").then((release) => release());
  await (await storage.given.open("alex")).destroy();
  return { queue, userId };
}

/** The nodes of a plan. */
function nodes(plan) {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)];
}

test("no statement of the store scans a table, in none of the functions", { timeout: 180_000 }, async (context) => {
  const plans = [];
  const pool = await explaining(plans);
  await migratePostgres({ pool });
  await fill();
  // What is kept is kept by an interval.
  context.mock.timers.enable({ apis: ["setInterval"] });
  plans.length = 0;
  const storage = postgresStorage({ pool, notifications: true });
  await useSearch(postgresStorage({ pool, search: "database" }));
  const { queue, userId } = await useEverything(storage);
  const release = queue.keep(userId, () => undefined);
  context.mock.timers.tick(7_000);
  for (let tries = 0; tries < 500 && !plans.some((plan) => plan["Query Text"].includes("keep_due_user")); tries += 1) await new Promise((resolve) => setTimeout(resolve, 10));
  release();
  context.mock.timers.reset();
  await storage.end();
  await pool.end();

  const scans = plans.flatMap((plan) => nodes(plan.Plan).filter((node) => node["Node Type"] === "Seq Scan" && node.Schema === "throughline" && node["Relation Name"] !== "schema_migrations").map((node) => `${node["Relation Name"]}: ${plan["Query Text"]}`));
  assert.deepEqual([...new Set(scans)], []);
  // That this says something: each function was called, and each table of records read and written by its index.
  const texts = plans.map((plan) => plan["Query Text"]);
  const functions = await server.asOwner(`SELECT proname AS name FROM pg_proc AS p JOIN pg_language AS l ON l.oid = prolang
    WHERE pronamespace = 'throughline'::regnamespace AND lanname = 'plpgsql' AND prorettype <> 'trigger'::regtype AND proname <> 'refuse_erased'`);
  assert.ok(functions.length >= 10);
  for (const { name } of functions) assert.ok(texts.some((text) => text.includes(name)), `${name} was not called`);
  const used = new Set(plans.flatMap((plan) => nodes(plan.Plan)).map((node) => node["Index Name"]));
  const unused = ["memory_users", "memory_due_users", ...Object.values(TABLES)].filter((table) => !used.has(`${table}_pkey`));
  assert.deepEqual(unused, []);
  assert.ok(used.has("memory_due_users_by_time"));
});
