// Logs of sealed batches on a real PostgreSQL server: many writers at once, and a server that is killed.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import pg from "pg";
import { postgresLog } from "../../dist/adapters/postgres.js";
import { sealedLogCases } from "../js/sealed-log-cases.mjs";
import { startServer } from "./server.mjs";

const server = await startServer();
const pool = new pg.Pool({ connectionString: server.address(), max: 8 });
const logs = postgresLog({ pool });
after(async () => {
  await pool.end();
  await server.stop();
});
let users = 0;

for (const { name, run } of sealedLogCases) test(`a log on a server: ${name}`, () => run(async () => logs.of(`case ${(users += 1)}`)));

test("eight writers at one log: every entry that was answered is there once, without a gap, also where the log is cut meanwhile", async () => {
  const log = logs.of("raced");
  const answered = [];
  const write = async (writer) => {
    for (let count = 0; count < 12; ) {
      const { length } = await log.read(0, 1);
      const entry = new Uint8Array([writer, count]);
      if (await log.append(length, entry)) {
        answered[length] = `${writer} ${count}`;
        count += 1;
        if (writer === 0 && length > 4) await log.cut(length - 4, "ab".repeat(32));
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)));
  const { entries, start, length } = await log.read(0, 1_000_000);
  assert.equal(length, 96);
  assert.ok(start > 0);
  assert.deepEqual(entries.map(([writer, count]) => `${writer} ${count}`), answered.slice(start));
  const [{ first, rows }] = await server.asOwner("SELECT min(position)::int AS first, count(*)::int AS rows FROM throughline.sealed_log_entries WHERE user_id = 'raced'");
  assert.deepEqual([first, rows], [start, length - start]);
});

test("what was answered before the server was killed is there afterwards", async () => {
  const log = logs.of("killed");
  for (let at = 0; at < 5; at += 1) assert.equal(await log.append(at, new Uint8Array([at])), true);
  await server.kill();
  await server.start();
  const { entries, length } = await log.read(0, 100);
  assert.deepEqual([entries.map(([number]) => number), length], [[0, 1, 2, 3, 4], 5]);
  assert.equal(await log.append(5, new Uint8Array([5])), true);
});

test("a role that may only use the tables has the rights on these as well", async () => {
  await server.asOwner("CREATE ROLE guest LOGIN NOSUPERUSER NOBYPASSRLS; GRANT USAGE ON SCHEMA throughline TO guest; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA throughline TO guest");
  const guests = new pg.Pool({ connectionString: server.address("guest") });
  const theirs = postgresLog({ pool: guests, migrate: false });
  assert.equal(await theirs.of("guest's").append(0, new Uint8Array([1])), true);
  assert.equal((await theirs.of("guest's").read(0, 10)).length, 1);
  await guests.end();
});
