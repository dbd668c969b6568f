// The store over a real PostgreSQL server: many writers, processes and killed servers. `npm run test:postgres` runs this.
import assert from "node:assert/strict";
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { createMemory } from "throughline";
import { migratePostgres, postgresStorage } from "throughline/postgres";
import { storageConformance } from "throughline/testing";
import { TABLES } from "../../dist/adapters/postgres/tables.js";
import { sendAll, startModel } from "./model-server.mjs";
import { startServer } from "./server.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
let server;
before(async () => (server = await startServer()));
after(() => server?.stop());

const code = (expected) => (error) => error.code === expected;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const open = (userId, options = {}) => {
  const storage = postgresStorage({ connectionString: server.address(), maxConnections: 4, ...options });
  return createMemory({ userId, storage, tokenizer: "estimate" }).then((memory) => ({ memory, storage, close: () => memory.close().then(() => storage.end()) }));
};

test("the engine's own suite for storages passes", async () => {
  const command = spawn("cargo", ["test", "--quiet", "--target", "wasm32-unknown-unknown", "--features", "wasm", "--test", "store_external"], {
    cwd: ROOT,
    env: {
      ...process.env,
      CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: "wasm-bindgen-test-runner",
      THROUGHLINE_STORE: new URL("conformance-store.mjs", import.meta.url).href,
      THROUGHLINE_POSTGRES: server.address(),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [command.stdout, command.stderr]) stream.on("data", (chunk) => (said += chunk));
  const [status] = await once(command, "close");
  assert.equal(status, 0, said);
  assert.match(said, /1 passed/);
});

test("the suite for storages of an app's own passes, with notices as its channel", async (t) => {
  const pool = new pg.Pool({ connectionString: server.address() });
  const storage = postgresStorage({ pool, schema: "public_suite", notifications: true });
  for (const { name, run } of storageConformance(storage)) await t.test(name, run);
  await storage.end();
  await pool.end();
});

test("32 writers append to one conversation: every number is given once, none is left out, and all read the same", async () => {
  const [first, ...others] = await Promise.all(Array.from({ length: 32 }, () => open("many")));
  const { id } = await first.memory.conversations.create();
  const stored = await Promise.all(
    [first, ...others].map(async ({ memory }, writer) => {
      const given = [];
      for (let number = 0; number < 5; number += 1) given.push(...(await memory.append(id, { id: `${writer}-${number}`, role: "user", content: `Message ${number} of writer ${writer}` })));
      return given;
    }),
  );
  const seqs = stored.flat().map(({ seq }) => seq).sort((a, b) => a - b);
  assert.deepEqual(seqs, Array.from({ length: 160 }, (_, index) => index + 1));
  const read = await Promise.all([first, others[0], others[30]].map(({ memory }) => memory.history(id, { limit: 200 })));
  assert.equal(read[0].length, 160);
  assert.deepEqual(read[1], read[0]);
  assert.deepEqual(read[2], read[0]);
  await Promise.all([first, ...others].map(({ close }) => close()));
});

test("a process is killed while it writes: nothing that it was told is stored is lost", async () => {
  const child = fork(fileURLToPath(new URL("writer.mjs", import.meta.url)), [server.address(), "killed"], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const acknowledged = [];
  child.on("message", (message) => acknowledged.push(message));
  while (acknowledged.length < 40) await once(child, "message");
  child.kill("SIGKILL");
  await once(child, "exit");
  const { memory, close } = await open("killed");
  const ids = await storedIds(memory);
  for (const { id } of acknowledged) assert.ok(ids.includes(id), `${id} is missing`);
  await close();
});

/** The ids of every message, oldest first; fails where a number is given twice or left out. */
async function storedIds(memory) {
  const ids = [];
  for (const { id } of (await memory.conversations.list()).items) {
    const messages = await memory.history(id, { limit: 10_000, withStatus: true });
    assert.deepEqual(messages.map(({ seq }) => seq), messages.map((_, index) => index + 1));
    ids.push(...messages.map((message) => message.id));
  }
  assert.equal(new Set(ids).size, ids.length, "a message is stored twice");
  return ids;
}

test("the server is killed in a burst of writes, twice: all that was acknowledged is there once, and the memories go on", async () => {
  const writers = await Promise.all(Array.from({ length: 4 }, () => open("burst", { reconnectMs: 30_000 })));
  const { id } = await writers[0].memory.conversations.create();
  const acknowledged = [];
  let isOver = false;
  const running = writers.map(async ({ memory }, writer) => {
    for (let number = 0; !isOver; number += 1) {
      const message = { id: `${writer}-${number}`, role: "user", content: `Message ${number} of ${writer}` };
      const [{ durable }] = await memory.append(id, message);
      assert.equal(durable, true);
      acknowledged.push(message.id);
    }
  });
  for (let kills = 0; kills < 2; kills += 1) {
    const before = acknowledged.length;
    while (acknowledged.length < before + 60) await pause(5);
    await server.kill();
    await server.start();
  }
  const before = acknowledged.length;
  while (acknowledged.length < before + 20) await pause(5);
  isOver = true;
  await Promise.all(running);
  const { memory, close } = await open("burst");
  const ids = await storedIds(memory);
  assert.deepEqual([...ids].sort(), [...acknowledged].sort());
  await Promise.all([...writers.map((writer) => writer.close()), close()]);
});

test("a memory in another process hears at once of what was stored", async () => {
  const { memory, close } = await open("heard", { notifications: true });
  const heard = new Promise((resolve) => memory.on("append", (event) => event.remote && resolve(event)));
  const child = fork(fileURLToPath(new URL("writer.mjs", import.meta.url)), [server.address(), "heard", "notifications"], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const { conversationId } = await heard;
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.ok((await memory.history(conversationId)).length > 0);
  // The connection that listens is lost with the server, and is replaced.
  await server.kill();
  await server.start();
  const resumed = new Promise((resolve) => memory.on("storage", (event) => event.state === "resumed" && resolve()));
  await resumed;
  await close();
});

test("the role of the app is bound by row-level security, and one that may nothing is told what it lacks", async () => {
  const pool = new pg.Pool({ connectionString: server.address() });
  for (const table of Object.values(TABLES)) assert.deepEqual((await pool.query(`SELECT * FROM throughline.${table}`)).rows, [], table);
  await pool.end();
  await server.asOwner("CREATE ROLE stranger LOGIN");
  const storage = postgresStorage({ connectionString: server.address("stranger") });
  await assert.rejects(createMemory({ storage }), (error) => error.code === "storage_unavailable" && /refuses this role/.test(error.message));
  await storage.end();
  const nowhere = postgresStorage({ connectionString: server.address("app", "nowhere") });
  await assert.rejects(createMemory({ storage: nowhere }), (error) => error.code === "storage_unavailable" && /no such database/.test(error.message));
  await nowhere.end();
});

test("a statement that waits too long is cancelled on the server, and its connection is not used again", async () => {
  const pool = new pg.Pool({ connectionString: server.address() });
  await migratePostgres({ pool });
  const holder = await pool.connect();
  await holder.query("BEGIN; LOCK TABLE throughline.memory_users");
  const storage = postgresStorage({ pool, statementTimeoutMs: 200 });
  await assert.rejects(createMemory({ userId: "waits", storage, tokenizer: "estimate" }), code("timeout"));
  for (let tries = 0; ; tries += 1) {
    const waiting = await server.asOwner("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%open_user%'");
    if (waiting.length === 0) break;
    assert.ok(tries < 50, "it still waits on the server");
    await pause(20);
  }
  await holder.query("COMMIT");
  holder.release();
  const memory = await createMemory({ userId: "waits", storage, tokenizer: "estimate" });
  await memory.close();
  await pool.end();
});

test("the server of examples/ saves first, streams the model's answer, saves it, and knows it in the next process", async () => {
  const model = await startModel("You are terse.", (response) => sendAll(response, ["Port ", "8471", "."]));
  const env = { ...process.env, DATABASE_URL: server.address(), MODEL_URL: model.url, MODEL: "scripted", PORT: "0" };
  // Where it finds the package as an app would.
  const file = fileURLToPath(new URL("node_modules/postgres-server.mjs", import.meta.url));
  copyFileSync(join(ROOT, "examples/postgres-server.mjs"), file);
  const chat = async (question) => {
    const child = spawn(process.execPath, [file], { env, stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await once(child.stdout, "data");
    const port = /\d+/.exec(line)[0];
    const response = await fetch(`http://127.0.0.1:${port}`, { method: "POST", headers: { "x-user": "example" }, body: JSON.stringify({ conversationId: "c1", question }) });
    const answer = await response.text();
    child.kill("SIGKILL");
    await once(child, "exit");
    return answer;
  };
  assert.equal(await chat("Which port did we pick?"), "Port 8471.");
  assert.equal(await chat("And again?"), "Port 8471.");
  assert.deepEqual(model.asked[1].slice(-3).map(({ content }) => content), ["Which port did we pick?", "Port 8471.", "And again?"]);
  const { memory, close } = await open("example");
  assert.deepEqual((await memory.history("c1")).map(({ role }) => role), ["user", "assistant", "user", "assistant"]);
  await close();
  model.close();
});
