// The store over PostgreSQL, without a server: PGlite with pgvector, and connections that fail when a test says so.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { after, test } from "node:test";
import { createMemory, memoryStorage } from "../../dist/index.js";
import { postgresStorage, migratePostgres } from "../../dist/adapters/postgres.js";
import { keyOf, keyText, rangeTexts } from "../../dist/adapters/postgres/key-bytes.js";
import { MIGRATIONS } from "../../dist/adapters/postgres/migrations.js";
import { TABLES } from "../../dist/adapters/postgres/tables.js";
import { hashingEmbedder, scriptedModel, storageConformance } from "../../dist/adapters/testing.js";
import { compareKeys } from "../../dist/adapters/testing/conformance-place.js";
import { random } from "../js/random.mjs";
import { openPglite, tablesWith } from "./pglite.mjs";

/** What happens to the next statements that match. */
const faults = [];
/** Whether each commit waited for the disk, by user. */
const strictness = new Map();
const { database, pool } = await openPglite((text, values) => {
  if (/commit_(records|searched)/.test(text)) strictness.set(values[0], [...(strictness.get(values[0]) ?? []), values[4]]);
  const index = faults.findIndex(({ matches }) => matches.test(text));
  return index < 0 ? undefined : faults.splice(index, 1)[0].when;
});
after(() => database.close());
await migratePostgres({ pool });

const storage = postgresStorage({ pool });
const signal = new AbortController().signal;
const code = (expected, more = () => true) => (error) => error.code === expected && more(error);
const rows = async (text, values) => (await database.query(text, values)).rows;
const bytes = (text) => Uint8Array.from(text.slice(2).match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));

/** A user's records as the engine's port has them. */
async function openRecords(user, from = storage) {
  return from.given.open(user);
}
const nothing = { checks: [], deleteRanges: [], deletes: [], puts: [], strict: true };
const put = (store, key, body, blob) => ({ store, key, record: blob === undefined ? { body } : { body, blob } });

for (const { name, run } of storageConformance(storage)) test(`conformance: ${name}`, run);

test("bytes of keys sort as the keys do, and are read back", () => {
  const below = random(7);
  const units = [0, 1, 2, 0x2f, 0x41, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff];
  const piece = () => (below(6) === 0 ? "😀" : String.fromCharCode(units[below(units.length)]));
  const part = () => (below(2) === 0 ? [0, 1, 255, 256, 2 ** 32, 2 ** 53 - 1][below(6)] : Array.from({ length: below(4) }, piece).join(""));
  const keys = Array.from({ length: 400 }, () => Array.from({ length: below(4) }, part));
  for (const key of keys) assert.deepEqual(keyOf(bytes(keyText(key))), key);
  for (const one of keys) {
    for (const other of keys) {
      assert.equal(Math.sign(Buffer.compare(bytes(keyText(one)), bytes(keyText(other)))), compareKeys(one, other), JSON.stringify([one, other]));
    }
  }
  const { low, high } = rangeTexts({ store: "meta", lower: ["a"], lowerOpen: true });
  assert.ok(Buffer.compare(bytes(low), bytes(keyText(["a"]))) > 0 && Buffer.compare(bytes(low), bytes(keyText(["a", 0]))) <= 0);
  assert.ok(Buffer.compare(bytes(keyText(["\uffff"])), bytes(high)) < 0);
});

test("a vector is pgvector's own, and every bit of it comes back; what it could not give back is kept as bytes", async () => {
  const records = await openRecords("vectors");
  const floats = (...numbers) => new Uint8Array(Float32Array.from(numbers).buffer);
  const blobs = [
    [floats(0.1, -2.5, 3e38, 1.1754943508222875e-38), true],
    [floats(-0, 0, 1 / 3), true],
    [floats(1e-40, 1), false],
    [floats(NaN, 1), false],
    [floats(Infinity), false],
    [new Uint8Array([1, 2, 3]), false],
    [new Uint8Array(), false],
  ];
  await records.commit({ ...nothing, puts: blobs.map(([blob], number) => put("embeddings", ["c", number, 0], "{}", blob)) });
  const found = await records.scan({ store: "embeddings", lower: ["c"], lowerOpen: false, reverse: false }, { signal });
  assert.deepEqual(found.map(({ record }) => [...record.blob]), blobs.map(([blob]) => [...blob]));
  const kept = await rows("SELECT embedding IS NOT NULL AS is_vector, blob IS NOT NULL AS is_bytes FROM throughline.message_embeddings WHERE user_id = 'vectors' ORDER BY key");
  assert.deepEqual(kept, blobs.map(([, isVector]) => ({ is_vector: isVector, is_bytes: !isVector })));
  const [near] = await rows("SELECT embedding <-> '[0,0,0.33333334]' AS distance FROM throughline.message_embeddings WHERE user_id = 'vectors' AND vector_dims(embedding) = 3");
  assert.equal(near.distance, 0);
});

test("a commit whose answer was lost is carried out once, and one that was lost before is carried out", async () => {
  const records = await openRecords("lost");
  const increment = async (when) => {
    const [before] = await records.get([{ store: "meta", key: ["n"] }], { signal });
    const next = String(Number(before?.body ?? 0) + 1);
    if (when !== undefined) faults.push({ matches: /commit_records/, when });
    return records.commit({ ...nothing, checks: [{ store: "meta", key: ["n"], body: before?.body ?? null }], puts: [put("meta", ["n"], next)] });
  };
  for (const when of [undefined, "after", "before", "after"]) assert.equal(await increment(when), true, when);
  const [last] = await records.get([{ store: "meta", key: ["n"] }], { signal });
  assert.equal(last.body, "4");
  assert.equal(faults.length, 0);
});

test("a reading call that meets a lost connection is asked again; a server that stays away is told, as worth another try", async () => {
  const records = await openRecords("lost");
  faults.push({ matches: /get_records/, when: "before" });
  assert.equal((await records.get([{ store: "meta", key: ["n"] }], { signal })).length, 1);
  const away = Object.assign(new Error("connect ECONNREFUSED with an address"), { code: "ECONNREFUSED" });
  const gone = postgresStorage({ pool: { connect: () => Promise.reject(away) }, reconnectMs: 60 });
  await assert.rejects(createMemory({ storage: gone, tokenizer: "estimate" }), code("storage_unavailable", ({ retryable, message }) => retryable && message.includes("ECONNREFUSED") && !message.includes("address")));
});

test("what waits too long or is given up is cancelled by a second connection, and rejects", async () => {
  const asked = [];
  let end;
  const slow = {
    connect: async () => ({
      processID: 77,
      query: (text, values) => {
        asked.push([text, values]);
        return text.includes("cancel") ? Promise.resolve({ rows: [] }) : new Promise((_, reject) => (end = reject));
      },
      release: (destroy) => asked.push(["release", destroy === true]),
    }),
  };
  await assert.rejects(migratePostgres({ pool: slow, statementTimeoutMs: 20 }), code("timeout", ({ retryable }) => retryable));
  end(Object.assign(new Error("canceling statement"), { code: "57014" }));
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(asked.slice(1), [["SELECT pg_cancel_backend($1)", [77]], ["release", false], ["release", true]]);
  const controller = new AbortController();
  const given = migratePostgres({ pool: slow, signal: controller.signal });
  setTimeout(() => controller.abort(), 20);
  await assert.rejects(given, code("aborted"));
});

test("a whole memory works over it, a second one sees what the first wrote, and an erasure leaves no word in any table", async () => {
  const MARKER = "Zanzibar8471";
  const options = { userId: "o'Brien\"; DROP SCHEMA throughline CASCADE; --", storage, tokenizer: "estimate", embedder: hashingEmbedder(), languageModel: scriptedModel() };
  const [first, second] = [await createMemory(options), await createMemory(options)];
  const heard = [];
  second.on("append", ({ remote }) => heard.push(remote));
  const chat = await first.conversations.create({ title: "Trip" });
  const [{ seq, durable }] = await first.append(chat.id, { id: "m1", role: "user", content: `We fly to ${MARKER} on port 8471.` });
  assert.deepEqual([seq, durable], [1, true]);
  const [next] = await second.append(chat.id, { role: "assistant", content: "Noted." });
  assert.equal(next.seq, 2);
  await first.facts.add({ subject: "user", category: "preference", fact: `The user likes ${MARKER}.` });
  const context = await second.buildContext({ conversationId: chat.id, question: "Which port?", window: 8_000, reserve: 500 });
  assert.match(JSON.stringify(context.messages), new RegExp(MARKER));
  const [group] = await second.recall(MARKER);
  assert.equal(group.conversationId, chat.id);
  await first.settled();
  assert.ok((await second.stats()).vectors > 0);
  assert.equal((await second.stats()).durable, true);
  await until(() => heard.includes(true));
  assert.notDeepEqual(await tablesWith(database, MARKER), []);
  await first.erase({ user: true });
  assert.deepEqual(await tablesWith(database, MARKER), []);
  assert.deepEqual((await second.conversations.list()).items, []);
  await Promise.all([first.close(), second.close()]);
  const third = await createMemory(options);
  assert.deepEqual((await third.conversations.list()).items, []);
  await third.close();
});

test("contexts, hits and summaries are those of the same messages in memory", async () => {
  let now = Date.UTC(2026, 0, 1);
  const options = (storage) => ({ userId: "same", storage, tokenizer: "estimate", embedder: hashingEmbedder(), languageModel: scriptedModel(), clock: () => now });
  const memories = [await createMemory(options(memoryStorage())), await createMemory(options(storage))];
  const seen = [];
  for (const memory of memories) {
    now = Date.UTC(2026, 0, 1);
    await memory.conversations.create({ id: "c", title: "Importer" });
    for (let turn = 0; turn < 60; turn += 1) {
      now += 60_000;
      await memory.append("c", [
        { id: `q${turn}`, role: "user", content: `Question ${turn}: which port has service ${turn % 7}? ${"It matters to the importer. ".repeat(turn % 5)}` },
        { id: `a${turn}`, role: "assistant", content: `Service ${turn % 7} listens on port ${8000 + turn}. \u0000 \ud83d\ude00` },
      ]);
    }
    await memory.settled();
    const context = await memory.buildContext({ conversationId: "c", question: "Which port had service 3 first?", system: "Be terse.", window: 3_000, reserve: 500, retrieval: "always" });
    delete context.receipt.retrieval.ms;
    await memory.settled();
    seen.push({ context, hits: await memory.recall("port of service 5", { explain: true }), summary: await memory.summary("c") });
  }
  assert.deepEqual(seen[1].context, seen[0].context);
  assert.deepEqual(seen[1].hits, seen[0].hits);
  assert.deepEqual(seen[1].summary, seen[0].summary);
  assert.ok(seen[0].summary.summarizedUntilSeq > 0, "there is a summary");
  assert.ok(seen[0].context.receipt.sections.some(({ name, items }) => name === "retrieved" && items.length > 0), "something was retrieved");
  await Promise.all(memories.map((memory) => memory.close()));
});

test("messages wait for the disk unless the app says otherwise, and then follow", async () => {
  const stored = async (userId, policy) => {
    const memory = await createMemory({ userId, storage, tokenizer: "estimate", policy });
    const { id } = await memory.conversations.create();
    strictness.delete(userId);
    const [{ durable }] = await memory.append(id, { role: "user", content: "hello" });
    const strict = strictness.get(userId);
    await memory.flush();
    const afterwards = strictness.get(userId).slice(strict.length);
    await memory.close();
    return { durable, strict, afterwards };
  };
  assert.deepEqual(await stored("strict", {}), { durable: true, strict: [true], afterwards: [true] });
  assert.deepEqual(await stored("relaxed", { durability: "relaxed" }), { durable: false, strict: [false], afterwards: [true] });
});

test("a backup moves a user from a device to the server", async () => {
  const device = await createMemory({ userId: "moves", storage: memoryStorage(), tokenizer: "estimate" });
  const { id } = await device.conversations.create({ title: "Trip" });
  await device.append(id, [{ role: "user", content: "We fly on port 8471." }, { role: "assistant", content: "Noted." }]);
  const backup = await device.export();
  const server = await createMemory({ userId: "moves", storage, tokenizer: "estimate" });
  await server.import(backup, { trusted: true, worker: false });
  assert.deepEqual(await server.history(id), await device.history(id));
  await Promise.all([device.close(), server.close()]);
});

/** Tables that hold a text anywhere. */
test("an erased user's records fail for whoever had them open, and a table that an erasure forgets would show", async () => {
  const records = await openRecords("erased");
  await records.commit({ ...nothing, puts: Object.keys(TABLES).map((store) => put(store, ["k"], "{}")) });
  await records.destroy();
  await assert.rejects(records.count({ store: "meta", lowerOpen: false }, { signal }), code("storage_unavailable", ({ retryable }) => !retryable));
  await assert.rejects(records.commit(nothing), code("storage_unavailable"));
  const left = await rows("SELECT table_name AS name FROM information_schema.columns WHERE table_schema = 'throughline' AND column_name = 'user_id'");
  assert.ok(left.length >= Object.keys(TABLES).length + 3);
  for (const { name } of left) assert.deepEqual(await rows(`SELECT user_id FROM throughline.${name} WHERE user_id = 'erased'`), [], name);
});

test("a role that is bound by row-level security sees one user's rows, and writes no other's", async () => {
  for (const user of ["ann", "bob"]) await (await openRecords(user)).commit({ ...nothing, puts: Object.keys(TABLES).map((store) => put(store, ["k"], `{"of":"${user}"}`)) });
  await database.exec(`CREATE ROLE reader NOLOGIN; GRANT USAGE ON SCHEMA throughline TO reader;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA throughline TO reader; SET ROLE reader;`);
  try {
    for (const table of Object.values(TABLES)) {
      await database.exec("SELECT set_config('throughline.user_id', '', false)");
      assert.deepEqual(await rows(`SELECT user_id FROM throughline.${table}`), [], `${table}, nobody named`);
      await database.exec("SELECT set_config('throughline.user_id', 'ann', false)");
      assert.deepEqual(await rows(`SELECT DISTINCT user_id FROM throughline.${table}`), [{ user_id: "ann" }], table);
      await assert.rejects(database.query(`INSERT INTO throughline.${table} (user_id, key, body) VALUES ('bob', '\\x00', '')`), /row-level security/, table);
    }
    // A role of its own is enough for everything but the tables' making.
    const memory = await createMemory({ userId: "ann", storage: postgresStorage({ pool, migrate: false }), tokenizer: "estimate", onDataLoss: "open" });
    const { id } = await memory.conversations.create();
    await memory.append(id, { role: "user", content: "hello" });
    await memory.close();
  } finally {
    await database.exec("RESET ROLE");
  }
});

test("every key and index begins with the user, but for that of the times at which users are due", async () => {
  const keys = await rows(`SELECT c.relname AS table, (SELECT attname FROM pg_attribute WHERE attrelid = c.oid AND attnum = i.indkey[0]) AS first
    FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = 'throughline' AND c.relname <> 'schema_migrations' AND i.indexrelid <> 'throughline.memory_due_users_by_time'::regclass`);
  assert.ok(keys.length >= Object.keys(TABLES).length);
  for (const { table, first } of keys) assert.equal(first, "user_id", table);
});

test("a lock is held among all storages until it is released, or its holder is silent for too long", async () => {
  const other = postgresStorage({ pool });
  const release = await storage.given.tryLock("ann", "work");
  assert.equal(await other.given.tryLock("ann", "work"), null);
  const beside = await other.given.tryLock("bob", "work");
  beside();
  await until(async () => (await rows("SELECT FROM throughline.memory_leases WHERE user_id = 'bob'")).length === 0);
  // Whoever releases a lock can take it again, however long the way to the database is.
  faults.push({ matches: /release_lease/, when: new Promise((resolve) => setTimeout(resolve, 50)) });
  release();
  const again = await storage.given.tryLock("ann", "work");
  assert.equal(typeof again, "function");
  again();
  await until(async () => (await rows("SELECT FROM throughline.memory_leases")).length === 0);
  const held = await storage.given.tryLock("ann", "work");
  await database.exec("UPDATE throughline.memory_leases SET ends_at = now() - interval '1 second'");
  const taken = await other.given.tryLock("ann", "work");
  assert.equal(typeof taken, "function");
  // Who lost it cannot take it from who has it now.
  held();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(await storage.given.tryLock("ann", "work"), null);
  taken();
});

test("a storage that ends gives back what is still being taken or released", async () => {
  const ending = postgresStorage({ pool });
  const slow = () => new Promise((resolve) => setTimeout(resolve, 50));
  faults.push({ matches: /take_lease/, when: slow() }, { matches: /release_lease/, when: slow() });
  const late = ending.given.tryLock("late", "work").then((release) => release());
  await ending.end();
  assert.deepEqual(await rows("SELECT FROM throughline.memory_leases WHERE user_id = 'late'"), []);
  await late;
});

async function until(holds) {
  for (let tries = 0; !(await holds()); tries += 1) {
    assert.ok(tries < 200, "it never came to hold");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("tables are made once by however many begin at once, and a database of later tables is left alone", async () => {
  const begun = await Promise.all(Array.from({ length: 4 }, () => migratePostgres({ pool, schema: "at_once" })));
  assert.deepEqual(begun, Array.from({ length: 4 }, () => ({ layout: MIGRATIONS.length })));
  await database.exec("INSERT INTO at_once.schema_migrations (version) VALUES (1000)");
  for (const migrate of [true, false]) {
    await assert.rejects(createMemory({ storage: postgresStorage({ pool, schema: "at_once", migrate }), tokenizer: "estimate" }), code("schema_too_new"));
  }
  await assert.rejects(createMemory({ storage: postgresStorage({ pool, schema: "absent", migrate: false }), tokenizer: "estimate" }), code("storage_unavailable", ({ message }) => message.includes("migratePostgres")));
  assert.deepEqual(await rows("SELECT nspname FROM pg_namespace WHERE nspname = 'absent'"), []);
});

const RELEASES = new URL("./releases/", import.meta.url);
for (const name of existsSync(RELEASES) ? readdirSync(RELEASES).filter((file) => file.endsWith(".sql")) : []) {
  test(`tables of layout ${name.replace(".sql", "")} come to this one with all that is in them`, async () => {
    const old = await openPglite();
    await old.database.exec(readFileSync(new URL(name, RELEASES), "utf8"));
    await old.database.exec("SET search_path TO public");
    const memory = await createMemory({ userId: "alex", storage: postgresStorage({ pool: old.pool }), tokenizer: "estimate" });
    const { items } = await memory.conversations.list();
    assert.deepEqual(items.map(({ title }) => title), ["A chat of this layout"]);
    const messages = await memory.history(items[0].id);
    assert.equal(messages.length, 3);
    assert.match(JSON.stringify(await memory.recall("port")), /8471/);
    assert.equal((await memory.facts.list()).length, 1);
    const [{ seq }] = await memory.append(items[0].id, { role: "user", content: "And on." });
    assert.equal(seq, 4);
    await memory.close();
    const { rows: kept } = await old.database.query("SELECT count(*)::int AS n FROM throughline.search_messages WHERE user_id = 'alex'");
    // Where it searches, it has an entry for each message, of whichever layout.
    assert.deepEqual(kept, [{ n: name.includes("pgvector") ? 4 : 0 }]);
    await old.database.close();
  });
}

test("options that cannot work are told at once, by their names", async () => {
  const wrong = [
    [undefined, /object/], [{}, /pool and connectionString/], [{ pool, connectionString: "postgres://x" }, /pool and connectionString/],
    [{ pool: {} }, /pool/], [{ connectionString: "" }, /connectionString/], [{ pool, schema: "Robert'); --" }, /schema/],
    [{ pool, statementTimeoutMs: 0 }, /statementTimeoutMs/], [{ pool, reconnectMs: -1 }, /reconnectMs/], [{ pool, maxConnections: 0.5 }, /maxConnections/],
  ];
  for (const [options, message] of wrong) assert.throws(() => postgresStorage(options), code("invalid_config", (error) => message.test(error.message)), JSON.stringify(options));
  await assert.rejects(createMemory({ userId: "a\0b", storage }), code("invalid_config"));
});
