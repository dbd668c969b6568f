// Background work for all users over a real PostgreSQL server, by several processes of which one is killed. `npm run test:postgres`.
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { createMemory } from "throughline";
import { postgresStorage } from "throughline/postgres";
import { startServer } from "./server.mjs";

const USERS = 200;
const WORKERS = 4;
let server;
before(async () => (server = await startServer()));
after(() => server?.stop());

/** Users who said something that nobody worked on. */
async function fill(storage) {
  const users = Array.from({ length: USERS }, (_, number) => `user ${number}`);
  const left = [...users];
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let userId = left.pop(); userId !== undefined; userId = left.pop()) {
      const memory = await createMemory({ userId, storage, tokenizer: "estimate" });
      await memory.conversations.create({ id: "c" });
      await memory.append("c", [{ role: "user", content: `I live in town ${userId.slice(5)}.` }, { role: "assistant", content: "Noted." }]);
      await memory.close();
    }
  }));
  return users;
}

function startWorker(number, heard) {
  const process = fork(fileURLToPath(new URL("job-worker.mjs", import.meta.url)), [server.address()], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  process.on("message", (message) => heard.push({ worker: number, ...message }));
  return process;
}

const left = async () => Number((await server.asOwner("SELECT count(*) FROM throughline.memory_due_users"))[0].count);

test("four workers do the work of 200 users, each user's once, though one of them is killed in the middle", { timeout: 240_000 }, async () => {
  const storage = postgresStorage({ connectionString: server.address() });
  const users = await fill(storage);
  assert.equal(await left(), USERS);
  const heard = [];
  const workers = Array.from({ length: WORKERS }, (_, number) => startWorker(number, heard));
  const [killed] = workers;
  const under = () => heard.filter(({ worker, event }) => worker === 0 && event === "open").length - heard.filter(({ worker, event }) => worker === 0 && event === "close").length;
  while (heard.filter(({ event }) => event === "close").length < USERS / 4 || under() === 0) await once(killed, "message");
  killed.kill("SIGKILL");
  await once(killed, "exit");
  heard.push({ event: "killed", worker: 0, at: Number(process.hrtime.bigint() / 1000n) });
  while ((await left()) > 0) await new Promise((resolve) => setTimeout(resolve, 100));
  const exits = workers.slice(1).map((worker) => once(worker, "exit"));
  for (const worker of workers.slice(1)) worker.send("end");
  await Promise.all(exits);

  assert.deepEqual(heard.filter(({ event }) => event === "error"), []);
  const taken = takenOver(heard);
  assert.ok(taken.length > 0 && taken.length <= 4, `${taken.length} users were in the hands of who was killed`);
  const asked = (userId) => heard.filter((each) => each.event === "extract" && each.userId === userId).length;
  for (const userId of users) assert.ok(asked(userId) === 1 || (taken.includes(userId) && asked(userId) === 2), `the model was asked ${asked(userId)} times for ${userId}`);
  for (let worker = 1; worker < WORKERS; worker += 1) assert.ok(heard.find((each) => each.worker === worker && each.event === "report").users > 0, `worker ${worker} did nothing`);
  const facts = await server.asOwner("SELECT user_id, count(*)::int AS count, min(body) AS body FROM throughline.user_memories GROUP BY user_id");
  assert.equal(facts.length, USERS);
  for (const { user_id: userId, count, body } of facts) assert.ok(count === 1 && body.includes(`town ${userId.slice(5)}.`), `${userId}: ${count} ${body}`);
  const [vectors] = await server.asOwner("SELECT count(*)::int AS count, count(DISTINCT user_id)::int AS users FROM throughline.message_embeddings");
  assert.deepEqual(vectors, { count: 2 * USERS, users: USERS });
  await storage.end();
});

test("users whom another worker is taking in this moment are left to it, without waiting", async () => {
  const storage = postgresStorage({ connectionString: server.address() });
  for (const user of ["ann", "bob", "cat"]) {
    const memory = await createMemory({ userId: user, storage, tokenizer: "estimate" });
    await memory.conversations.create();
    await memory.close();
  }
  const pool = new pg.Pool({ connectionString: server.address(), statement_timeout: 5_000 });
  const [one, other] = [await pool.connect(), await pool.connect()];
  const take = async (client, most) => (await client.query("SELECT user_id FROM throughline.take_due_users(gen_random_uuid(), $1, 20, 0)", [most])).rows.map((row) => row.user_id);
  await one.query("BEGIN");
  const first = await take(one, 1);
  const second = await take(other, 5);
  await one.query("COMMIT");
  assert.deepEqual([first.length, second.length, new Set([...first, ...second]).size], [1, 2, 3]);
  one.release();
  other.release();
  await pool.end();
  await storage.end();
});

/** The users whom the killed worker had; fails where a user was with two workers at once. */
function takenOver(heard) {
  const holders = new Map();
  const taken = [];
  for (const { event, worker, userId } of heard.toSorted((one, other) => one.at - other.at)) {
    if (event === "open") {
      assert.equal(holders.get(userId), undefined, `${userId} is worked twice at once`);
      holders.set(userId, worker);
    } else if (event === "close") {
      holders.delete(userId);
    } else if (event === "killed") {
      for (const [user, holder] of holders) {
        if (holder !== 0) continue;
        taken.push(user);
        holders.delete(user);
      }
    }
  }
  return taken;
}
