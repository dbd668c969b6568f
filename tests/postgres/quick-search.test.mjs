// Search in the database, without a server: PGlite with pgvector.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createMemory, memoryStorage } from "../../dist/index.js";
import { postgresStorage } from "../../dist/adapters/postgres.js";
import { hashingEmbedder } from "../../dist/adapters/testing.js";
import { QUESTIONS, assertAlike } from "./alike.mjs";
import { openPglite } from "./pglite.mjs";

const SEARCHED = ["search_chats", "search_messages", "search_terms", "search_vectors"];
const faults = [];
/** Statements by the function that they call. */
const called = new Map();
const { database, pool } = await openPglite((text, values) => {
  const [, name] = /(?:throughline|at_once)"?\.(\w+)\(/.exec(text) ?? [];
  called.set(name, [...(called.get(name) ?? []), values]);
  const index = faults.findIndex(({ matches }) => matches.test(text));
  return index < 0 ? undefined : faults.splice(index, 1)[0].when;
});
after(() => database.close());

const storage = postgresStorage({ pool });
const rows = async (text, values) => (await database.query(text, values)).rows;
const open = (userId, options = {}) => createMemory({ userId, storage, tokenizer: "estimate", embedder: hashingEmbedder({ dimensions: 16 }), ...options });
const counts = async (user) => Promise.all(SEARCHED.map(async (table) => (await rows(`SELECT count(*)::int AS n FROM throughline.${table} WHERE user_id = $1`, [user]))[0].n));

// What vectors change are scores: without them a few questions will do.
for (const [way, questions, least] of [["words and vectors", QUESTIONS, 100], ["words", QUESTIONS.slice(0, 5), 30]]) {
  test(`contexts and hits are those of the same messages in memory: ${way}`, async () => {
    called.clear();
    const groups = await assertAlike(memoryStorage(), storage, { way, questions });
    assert.ok(groups > least, `${groups} groups`);
    assert.ok(called.get("search_found").length >= 15 && called.get("search_lines").length > 0);
    const scanned = called.get("scan_records").map(([, , table]) => table);
    assert.ok(!scanned.includes("index_segment_chunks"), "no index is read");
  });
}

test("what a message is searched by is written, replaced and removed with it, and an erasure leaves nothing of it", async () => {
  const memory = await open("kept");
  await memory.conversations.create({ id: "Zanzibar" });
  await memory.append("Zanzibar", [{ id: "m1", role: "user", content: "We fly to Zanzibar on port 8471." }, { id: "m2", role: "assistant", content: "Noted, and thank you." }]);
  await memory.settled();
  const [chats, messages, terms, vectors] = await counts("kept");
  assert.deepEqual([chats, messages, vectors], [1, 2, 2]);
  assert.ok(terms > 5);
  await memory.remove("Zanzibar", "m2");
  await memory.settled();
  const after = await counts("kept");
  assert.deepEqual([after[0], after[3]], [1, 1]);
  assert.ok(after[2] < terms);
  assert.deepEqual(await rows("SELECT t.term FROM throughline.search_terms AS t LEFT JOIN throughline.search_messages AS m USING (user_id, chat, seq) WHERE t.term <> ALL (coalesce(m.terms, '{}'))"), []);
  await memory.erase({ conversationId: "Zanzibar" });
  assert.deepEqual(await counts("kept"), [0, 0, 0, 0]);
  await memory.conversations.create({ id: "next" });
  await memory.append("next", { role: "user", content: "And on." });
  await memory.settled();
  await memory.erase({ user: true });
  assert.deepEqual(await counts("kept"), [0, 0, 0, 0]);
  await memory.close();
});

test("a commit that is asked for again, because its answer was lost, leaves the entries as they were put", async () => {
  const memory = await open("lost");
  await memory.conversations.create({ id: "c" });
  faults.push({ matches: /commit_searched/, when: "after" }, { matches: /commit_searched/, when: "before" });
  await memory.append("c", { role: "user", content: "The port is 8471." });
  assert.equal(faults.length, 0);
  assert.equal((await memory.recall("port")).length, 1);
  assert.equal((await counts("lost"))[1], 1);
  await memory.close();
});

test("messages and vectors of before, and those that a tool wrote without more, are found, and have their entries then", async () => {
  const before = await open("before", { storage: postgresStorage({ pool, search: "engine" }) });
  await before.conversations.create({ id: "c" });
  await before.append("c", Array.from({ length: 30 }, (_, at) => ({ role: "user", content: `Message ${at} of service ${at % 5} on port ${8000 + at}.` })));
  await before.settled();
  const expected = await before.recall("port 8017", { explain: true });
  assert.deepEqual(await counts("before"), [0, 0, 0, 0]);
  await before.close();
  const now = await open("before");
  const found = await now.recall("port 8017", { explain: true });
  assert.deepEqual(found, expected);
  assert.deepEqual((await counts("before")).toSpliced(2, 1), [1, 30, 30]);
  await now.close();
  // A tool that rewrites records alone.
  await database.exec("UPDATE throughline.conversation_messages SET body = body WHERE user_id = 'before' AND body LIKE '%Message 17 %'");
  assert.equal((await counts("before"))[1], 29);
  const again = await open("before");
  assert.match(JSON.stringify(await again.recall("port 8017")), /Message 17 /);
  assert.equal((await counts("before"))[1], 30);
  await again.close();
});

test("vectors of another model are not compared, and each conversation has those of the model that it was embedded with", async () => {
  const [first, second] = [await open("models"), await open("models", { embedder: hashingEmbedder({ dimensions: 24 }) })];
  for (const [memory, id] of [[first, "a"], [second, "b"]]) {
    await memory.conversations.create({ id });
    await memory.append(id, { role: "user", content: "The cat sat on the mat." });
    await memory.settled();
  }
  const models = await rows("SELECT model, count(*)::int AS n FROM throughline.search_vectors WHERE user_id = 'models' GROUP BY model ORDER BY model");
  assert.ok(models.length >= 1 && models.every(({ n }) => n >= 1));
  for (const memory of [first, second]) assert.ok((await memory.recall("the mat", { explain: true })).length > 0);
  await Promise.all([first.close(), second.close()]);
});

test("a search that fails is told by its code, and buildContext with it", async () => {
  const memory = await open("fails");
  await memory.conversations.create({ id: "c" });
  await memory.append("c", { role: "user", content: "The port is 8471." });
  await memory.settled();
  await database.exec("ALTER FUNCTION throughline.search_found RENAME TO search_away");
  try {
    await assert.rejects(memory.recall("port"), { code: "storage_unavailable" });
    await assert.rejects(memory.buildContext({ conversationId: "c", question: "Which port did I say first?", retrieval: "always" }), { code: "storage_unavailable" });
  } finally {
    await database.exec("ALTER FUNCTION throughline.search_away RENAME TO search_found");
  }
  assert.equal((await memory.recall("port")).length, 1);
  await memory.close();
});

test("no statement of a search scans a table", async () => {
  // Rows of others, so many that no table is read whole for being small.
  await database.exec(`
    INSERT INTO throughline.search_chats SELECT 'other' || n, 'c', 1 FROM generate_series(1, 3000) AS n;
    INSERT INTO throughline.search_messages SELECT 'other' || n, 1, 1, 'line', 'marks', '{1,2}' FROM generate_series(1, 3000) AS n;
    INSERT INTO throughline.search_terms SELECT 'other' || n, t, 1, 1, 1 FROM generate_series(1, 3000) AS n, unnest(ARRAY[1, 2]::bigint[]) AS t;
    INSERT INTO throughline.search_vectors SELECT 'other' || n, 1, 1, 0, 'm', '[1,2]' FROM generate_series(1, 3000) AS n;
    ANALYZE`);
  const memory = await open("plans");
  await memory.conversations.create({ id: "c" });
  const scans = async () => rows(`SELECT relname AS table, seq_scan::int AS scans, idx_scan::int AS looked_up FROM pg_stat_user_tables WHERE schemaname = 'throughline' AND relname LIKE 'search%' ORDER BY relname`);
  const flush = () => database.exec("SELECT pg_stat_force_next_flush()").then(() => database.exec("SELECT pg_stat_clear_snapshot()"));
  await flush();
  const before = await scans();
  // So often that plans are kept.
  for (let turn = 0; turn < 8; turn += 1) {
    await memory.append("c", { id: `m${turn}`, role: "user", content: `She said "port ${turn} of the server" and left.` });
    await memory.settled();
    await memory.recall('who said "port of the server"?');
  }
  await memory.remove("c", "m3");
  await memory.erase({ conversationId: "c", messageId: "m5" });
  await memory.close();
  const again = await open("plans");
  await again.recall("server");
  await again.erase({ conversationId: "c" });
  await again.erase({ user: true });
  await again.close();
  await flush();
  const after = await scans();
  assert.deepEqual(after.map(({ table, scans: count }) => [table, count]), before.map(({ table, scans: count }) => [table, count]));
  for (const [at, { table, looked_up }] of after.entries()) assert.ok(looked_up > before[at].looked_up, table);
});
