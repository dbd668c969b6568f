// Background work for all users (runJobs), without a server: several workers over PGlite.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { createMemory } from "../../dist/index.js";
import { migratePostgres, postgresStorage, runJobs } from "../../dist/adapters/postgres.js";
import { MIGRATIONS } from "../../dist/adapters/postgres/migrations.js";
import { hashingEmbedder, scriptedModel } from "../../dist/adapters/testing.js";
import { openPglite } from "./pglite.mjs";

const { database, pool } = await openPglite();
after(() => database.close());
await migratePostgres({ pool });
const storage = postgresStorage({ pool });
const rows = async (text, values) => (await database.query(text, values)).rows;
const queue = () => rows("SELECT user_id AS user, holder IS NOT NULL AS taken, failures, extract(epoch FROM due_at - now())::float AS seconds FROM throughline.memory_due_users ORDER BY user_id");
const allDue = () => database.exec("UPDATE throughline.memory_due_users SET due_at = now() - interval '1 hour', changed_at = now() - interval '1 hour'");

/** What the process that talks with a user does: it has no models, so it leaves all work undone. */
async function says(userId, ...texts) {
  const memory = await createMemory({ userId, storage, tokenizer: "estimate" });
  await memory.conversations.create({ id: "c" }).catch(() => undefined);
  for (const content of texts) await memory.append("c", { role: "user", content });
  await memory.close();
}

/** A worker's options; `opened` says whose memory was opened, `calls` what the model was asked. */
function worker(more = {}) {
  const opened = [];
  const calls = [];
  const model = scriptedModel({ extract: (request) => (calls.push(request), { facts: [] }) });
  const memoryFor = (userId) => (opened.push(userId), createMemory({ userId, storage, tokenizer: "estimate", languageModel: model, embedder: hashingEmbedder({ dimensions: 8 }) }));
  return { opened, calls, options: { storage, memoryFor, once: true, quietMs: 0, idleMs: 0, ...more } };
}

test("users with work are found and worked off, once; who has none is not opened", async () => {
  await says("ann", "I live in Oslo.");
  await says("bob", "I like tea.");
  const { opened, calls, options } = worker();
  assert.deepEqual(await runJobs(options), { users: 2, failures: 0 });
  assert.deepEqual(opened.sort(), ["ann", "bob"]);
  assert.equal(calls.length, 2);
  assert.deepEqual(await queue(), []);
  assert.equal((await rows("SELECT FROM throughline.message_embeddings WHERE user_id IN ('ann', 'bob')")).length, 2);
  assert.deepEqual(await runJobs(options), { users: 0, failures: 0 });
  assert.equal(opened.length, 2);
});

test("what is written while a user is worked off is worked off as well", async () => {
  await says("cat", "First.");
  const { opened, options } = worker({ idleMs: 1_800_000 });
  const memoryFor = async (userId) => {
    const memory = await options.memoryFor(userId);
    if (opened.length === 1) await says("cat", "Second.");
    return memory;
  };
  assert.deepEqual(await runJobs({ ...options, memoryFor }), { users: 2, failures: 0 });
  assert.equal((await rows("SELECT FROM throughline.message_embeddings WHERE user_id = 'cat'")).length, 2);
  await database.exec("DELETE FROM throughline.memory_due_users");
});

test("a user is left to who talks with them until nothing was said for a while, but not for ever; and is looked at again when a session is over", async () => {
  await says("dan", "Hello.");
  const { opened, options } = worker({ quietMs: 60_000, idleMs: 1_800_000 });
  assert.deepEqual(await runJobs(options), { users: 0, failures: 0 });
  await database.exec("UPDATE throughline.memory_due_users SET due_at = now() - interval '11 minutes'");
  assert.deepEqual(await runJobs(options), { users: 1, failures: 0 });
  assert.deepEqual(opened, ["dan"]);
  const [dan] = await queue();
  assert.ok(dan.seconds > 1_700 && dan.seconds <= 1_800 && !dan.taken, JSON.stringify(dan));
  // Another word makes them due at once.
  await says("dan", "And on.");
  assert.ok((await queue())[0].seconds <= 0);
  await allDue();
  assert.deepEqual(await runJobs(options), { users: 1, failures: 0 });
  assert.deepEqual(await queue(), []);
});

test("two workers share the users, and nobody is in both", async () => {
  const users = Array.from({ length: 12 }, (_, number) => `shared ${number}`);
  for (const user of users) await says(user, "Hello.");
  const open = new Set();
  const both = [worker({ concurrency: 3 }), worker({ concurrency: 3 })];
  const reports = await Promise.all(both.map(({ options }) => runJobs({
    ...options,
    memoryFor: async (userId) => {
      assert.ok(!open.has(userId), `${userId} is worked twice at once`);
      open.add(userId);
      const memory = await options.memoryFor(userId);
      return { settled: (given) => memory.settled(given), stats: () => memory.stats(), close: () => memory.close().then(() => void open.delete(userId)) };
    },
  })));
  assert.equal(reports[0].users + reports[1].users, 12);
  assert.deepEqual(both.flatMap(({ opened }) => opened).sort(), users.sort());
  for (const { opened } of both) assert.ok(opened.length > 0, "one did nothing");
});

test("a user who cannot be opened keeps no other from their turn, is told, and is tried later and later", async () => {
  await says("eve", "Hello.");
  await says("fay", "Hello.");
  const told = [];
  const { opened, options } = worker({ onError: (error, userId) => told.push([error.code, userId]) });
  const memoryFor = (userId) => (userId === "eve" ? Promise.reject(new Error("no such tenant")) : options.memoryFor(userId));
  for (const [failures, low, high] of [[1, 25, 30], [2, 55, 60]]) {
    const report = await runJobs({ ...options, memoryFor });
    assert.equal(report.failures, 1);
    const [eve, ...others] = await queue();
    assert.deepEqual([eve.user, eve.failures, others], ["eve", failures, []]);
    assert.ok(eve.seconds > low && eve.seconds <= high, String(eve.seconds));
    await allDue();
  }
  assert.deepEqual([opened, told], [["fay"], [["engine_unavailable", "eve"], ["engine_unavailable", "eve"]]]);
  assert.deepEqual(await runJobs(options), { users: 1, failures: 0 });
});

test("a job that failed is tried again when the engine says so", async () => {
  await says("gus", "I live in Oslo.");
  const model = scriptedModel({ extract: [new Error("down"), { facts: [] }] });
  const { options } = worker();
  const memoryFor = (userId) => createMemory({ userId, storage, tokenizer: "estimate", languageModel: model });
  assert.deepEqual(await runJobs({ ...options, memoryFor }), { users: 1, failures: 0 });
  const [gus] = await queue();
  assert.ok(gus.seconds > 0 && gus.seconds <= 3_600, String(gus.seconds));
  // The engine's own clock has to come there, too.
  await allDue();
  const later = (userId) => createMemory({ userId, storage, tokenizer: "estimate", languageModel: model, clock: () => Date.now() + 3_600_000 });
  assert.deepEqual(await runJobs({ ...options, memoryFor: later }), { users: 1, failures: 0 });
  assert.equal(model.calls.length, 2);
  assert.deepEqual(await queue(), []);
});

test("a worker that is stopped gives its users back at once; one that is silent loses them, and what it still says is not heard", async () => {
  await says("hal", "Hello.");
  const controller = new AbortController();
  const { opened, options } = worker({ signal: controller.signal, once: false, idleMs: 1_800_000 });
  const stopped = runJobs({
    ...options,
    memoryFor: async (userId) => {
      const memory = await options.memoryFor(userId);
      return { stats: () => memory.stats(), close: () => memory.close(), settled: ({ signal }) => (controller.abort(), memory.settled({ signal })) };
    },
  });
  assert.deepEqual(await stopped, { users: 0, failures: 0 });
  const [hal] = await queue();
  assert.deepEqual([hal.taken, hal.seconds <= 0], [false, true]);

  const silent = storage.dueUsers();
  const [{ userId, changes }] = await silent.take(5, 0);
  assert.deepEqual(await storage.dueUsers().take(5, 0), []);
  await database.exec("UPDATE throughline.memory_due_users SET due_at = now() - interval '1 second'");
  const next = storage.dueUsers();
  assert.deepEqual(await next.take(5, 60_000), [{ userId, changes }]);
  await silent.release(userId, { changes, waitMs: null, hasFailed: false }, 0);
  assert.deepEqual((await queue()).map(({ user, taken }) => [user, taken]), [["hal", true]]);
  await next.release(userId, { changes: null, waitMs: null, hasFailed: false }, 0);
  assert.deepEqual(opened, ["hal"]);
  assert.deepEqual(await runJobs(worker().options), { users: 1, failures: 0 });
});

test("a worker with nothing to do looks again and again, and leaves nothing behind", async () => {
  const controller = new AbortController();
  let looks = 0;
  const counted = postgresStorage({ pool: { connect: async () => ({ query: (...given) => (given[0].includes("take_due_users") && (looks += 1), database.query(...given)), release() {} }) } });
  const ended = runJobs({ ...worker().options, storage: counted, once: false, pollMs: 10, signal: controller.signal });
  while (looks < 5) await pause(10);
  assert.equal(getEventListeners(controller.signal, "abort").length, 1);
  controller.abort();
  assert.deepEqual(await ended, { users: 0, failures: 0 });
  assert.equal(getEventListeners(controller.signal, "abort").length, 0);
});

test("a worker that loses a user gives the work up", { timeout: 20_000 }, async (context) => {
  await says("ida", "Hello.");
  context.mock.timers.enable({ apis: ["setInterval"] });
  const { options } = worker();
  let gaveUp;
  const memoryFor = async (userId) => {
    const memory = await options.memoryFor(userId);
    if (gaveUp !== undefined) return memory;
    const settled = ({ signal }) => new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject((gaveUp = signal.reason)));
      void database.exec("UPDATE throughline.memory_due_users SET holder = gen_random_uuid(), due_at = now()").then(() => context.mock.timers.tick(7_000));
    });
    return { settled, stats: () => memory.stats(), close: () => memory.close() };
  };
  assert.deepEqual(await runJobs({ ...options, memoryFor }), { users: 1, failures: 0 });
  assert.equal(gaveUp.name, "AbortError");
});

test("a role bound by row-level security sees its user's mark, and a worker those of all but no other table", async () => {
  await says("jan", "Hello.");
  await says("kim", "Hello.");
  const seen = async (table) => (await rows(`SELECT DISTINCT user_id AS user FROM throughline.${table}`)).map(({ user }) => user).sort();
  await database.exec("CREATE ROLE worker NOLOGIN; GRANT USAGE ON SCHEMA throughline TO worker; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA throughline TO worker; SET ROLE worker");
  try {
    assert.deepEqual(await seen("memory_due_users"), []);
    await database.exec("SELECT set_config('throughline.user_id', 'jan', false)");
    assert.deepEqual(await seen("memory_due_users"), ["jan"]);
    await database.exec("SELECT set_config('throughline.user_id', '', false), set_config('throughline.worker', 'on', false)");
    assert.deepEqual(await seen("memory_due_users"), ["jan", "kim"]);
    for (const table of ["memory_users", "conversation_messages"]) assert.deepEqual(await seen(table), [], table);
    await database.exec("SELECT set_config('throughline.worker', '', false)");
    assert.deepEqual(await runJobs({ ...worker().options, storage: postgresStorage({ pool, migrate: false }) }), { users: 2, failures: 0 });
    assert.deepEqual(await seen("memory_due_users"), []);
  } finally {
    await database.exec("RESET ROLE; SELECT set_config('throughline.user_id', '', false), set_config('throughline.worker', '', false)");
  }
});

test("a user's end takes the mark along, and tables from before the queue bring their users into it, under a role that is bound as well", async () => {
  await says("lea", "Hello.");
  await (await storage.given.open("lea")).destroy();
  assert.deepEqual(await rows("SELECT FROM throughline.memory_due_users WHERE user_id = 'lea'"), []);
  const before = MIGRATIONS.findIndex((step) => step.name === "dueUsers");
  const names = { schema: "before", vectors: undefined };
  await database.exec("CREATE ROLE deployer NOLOGIN; CREATE SCHEMA before AUTHORIZATION deployer; SET ROLE deployer");
  try {
    for (const step of MIGRATIONS.slice(0, before)) await database.exec(step(names));
    await database.exec("SELECT before.open_user('mia'); GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA before TO PUBLIC");
    await database.exec(`DO $do$ BEGIN EXECUTE $step$${MIGRATIONS[before](names)}$step$; END $do$`);
    await database.exec("SELECT set_config('throughline.worker', 'on', false)");
    assert.deepEqual(await rows("SELECT user_id AS user FROM before.memory_due_users"), [{ user: "mia" }]);
    await database.exec("SELECT set_config('throughline.worker', '', false)");
    assert.deepEqual(await rows("SELECT FROM before.memory_users"), [], "forced again");
    const rights = await rows("SELECT privilege_type AS may FROM information_schema.table_privileges WHERE table_schema = 'before' AND table_name = 'memory_due_users' AND grantee = 'PUBLIC' ORDER BY 1");
    assert.deepEqual(rights, [{ may: "INSERT" }, { may: "SELECT" }]);
  } finally {
    await database.exec("RESET ROLE");
  }
});

test("options that cannot work are told by their names", async () => {
  const { options } = worker();
  const wrong = [[undefined, /storage/], [{ ...options, storage: {} }, /storage/], [{ ...options, memoryFor: undefined }, /memoryFor/],
    ...["concurrency", "quietMs", "idleMs", "pollMs"].map((name) => [{ ...options, [name]: -1 }, new RegExp(name)])];
  for (const [given, message] of wrong) await assert.rejects(runJobs(given), (error) => error.code === "invalid_config" && message.test(error.message), String(message));
});
