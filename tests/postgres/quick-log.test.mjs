// Logs of sealed batches in PostgreSQL, without a server: PGlite, and connections that fail when a test says so.
/* global Request */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createMemory, memoryStorage } from "../../dist/index.js";
import { migratePostgres, postgresLog } from "../../dist/adapters/postgres.js";
import { sealedLogHandler, syncMemory } from "../../dist/adapters/sync.js";
import { sealedLogCases } from "../js/sealed-log-cases.mjs";
import { openPglite } from "./pglite.mjs";

const faults = [];
const { database, pool } = await openPglite((text) => {
  const index = faults.findIndex(({ matches }) => matches.test(text));
  return index < 0 ? undefined : faults.splice(index, 1)[0].when;
});
after(() => database.close());
const logs = postgresLog({ pool });
let users = 0;

for (const { name, run } of sealedLogCases) test(`a log in PostgreSQL: ${name}`, () => run(async () => logs.of(`case ${(users += 1)}`)));

test("an entry whose answer was lost is there once, and so is a cut", async () => {
  const log = logs.of("lost");
  const entry = (number) => new Uint8Array([number, 0, 255]);
  for (const [at, when] of ["after", "before", "after"].entries()) {
    faults.push({ matches: /append_log/, when });
    assert.equal(await log.append(at, entry(at)), true);
  }
  assert.equal(await log.append(1, entry(9)), false);
  faults.push({ matches: /cut_log/, when: "after" });
  await log.cut(1, "ab".repeat(32));
  const { entries, start, length } = await log.read(0, 100);
  assert.deepEqual([entries.map((bytes) => [...bytes]), start, length], [[[1, 0, 255], [2, 0, 255]], 1, 3]);
  assert.equal(faults.length, 0);
});

test("nobody reads or writes another's log, whoever forgets a condition, and a removed log leaves no row", async () => {
  await logs.of("alex").append(0, new Uint8Array([1]));
  await logs.of("robin").append(0, new Uint8Array([2]));
  assert.deepEqual((await logs.of("nobody").read(0, 100)).entries, []);
  await database.exec("CREATE ROLE app NOLOGIN; GRANT USAGE ON SCHEMA throughline TO app; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA throughline TO app");
  const seen = async (user, table) => {
    const { rows } = await database.transaction(async (transaction) => {
      await transaction.exec("SET LOCAL ROLE app");
      await transaction.query("SELECT set_config('throughline.user_id', $1, true)", [user]);
      return transaction.query(`SELECT user_id FROM throughline.${table}`);
    });
    return rows.map((row) => row.user_id);
  };
  for (const table of ["sealed_logs", "sealed_log_entries"]) {
    assert.deepEqual(await seen("alex", table), ["alex"]);
    assert.deepEqual(await seen("", table), []);
  }
  await logs.delete("alex");
  const { rows } = await database.query("SELECT DISTINCT user_id FROM throughline.sealed_log_entries WHERE user_id IN ('alex', 'robin')");
  assert.deepEqual(rows, [{ user_id: "robin" }]);
  assert.deepEqual(await logs.of("alex").read(0, 100), { entries: [], start: 0, length: 0 });
  for (const user of ["", "a\0b", undefined]) assert.throws(() => logs.of(user), ({ code }) => code === "invalid_config");
});

test("devices exchange through it, and what was erased is in no row once it was written anew", async () => {
  const open = () => createMemory({ storage: memoryStorage(), userId: "kim", tokenizer: "estimate" });
  const [one, two] = [await open(), await open()];
  const handler = sealedLogHandler({ logFor: () => logs.of("kim") });
  const exchange = async (body) => (await handler(new Request("https://app.example/sync", { method: "POST", body }))).text();
  const options = { exchange, key: new Uint8Array(32).fill(3) };
  await one.conversations.create({ id: "c" });
  await one.append("c", [{ role: "user", content: "Kept" }, { id: "s", role: "user", content: "Secret" }]);
  await syncMemory(one, options);
  await one.remove("c", "s");
  await syncMemory(one, { ...options, compact: true });
  await syncMemory(two, options);
  assert.deepEqual((await two.history("c", { all: true })).map(({ content }) => content), ["Kept"]);
  const { rows } = await database.query("SELECT min(position)::int AS first, count(*)::int AS count FROM throughline.sealed_log_entries WHERE user_id = 'kim'");
  const { start, length } = await logs.of("kim").read(0, 1);
  assert.ok(start > 0);
  assert.deepEqual(rows, [{ first: start, count: length - start }]);
  for (const memory of [one, two]) await memory.close();
});

test("without tables, and where it may not make them, it says what to do", async () => {
  const fresh = await openPglite();
  const read = () => postgresLog({ pool: fresh.pool, migrate: false }).of("a").read(0, 1);
  await assert.rejects(read(), ({ code, message }) => code === "storage_unavailable" && message.includes("migratePostgres"));
  await migratePostgres({ pool: fresh.pool });
  assert.equal((await read()).length, 0);
  await fresh.database.close();
});
