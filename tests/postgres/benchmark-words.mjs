// `node tests/postgres/benchmark-words.mjs [messages]`: what the engine's postings find and cost beside PostgreSQL's own means for words, a
// tsvector with GIN and trigrams with GIN, over a server of its own. One user has 1,000 messages, one so many (10,000), and a third
// ten copies of the second's. What is looked for are things that stand in one message, and words that somebody remembers of one.
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import pg from "pg";
import { createMemory } from "throughline";
import { postgresStorage } from "throughline/postgres";
import { makeCorpus } from "../../bench/corpus.mjs";
import { summary } from "../../bench/timing.mjs";
import { FILLING } from "./benchmark.mjs";
import { startServer } from "./server.mjs";

const [many = "10000"] = process.argv.slice(2);
const SIZES = [1_000, Number(many)];
const COPIES = 10;
const CONVERSATION = 500;
const BATCH = 50;
const FOUND = 10;

const server = await startServer([...FILLING, "shared_buffers=1GB", "maintenance_work_mem=512MB", "jit=off"]);
const owner = new pg.Client({ connectionString: server.address("owner") });
const pool = new pg.Pool({ connectionString: server.address(), max: 2 });
/** Values of the last question to the search in the database. */
let asked;
const watching = {
  connect: async () => {
    const client = await pool.connect();
    return { processID: client.processID, release: (failed) => client.release(failed), query: (text, values) => {
      if (text.includes("search_found")) asked = values;
      return client.query(text, values);
    } };
  },
};

/** Milliseconds for which the server's process of this connection had a processor. */
const workedMs = () => Number(readFileSync(`/proc/${owner.processID}/schedstat`, "utf8").split(" ")[0]) / 1e6;

/** Runs a statement for each question; tells times, and how many of them found their message among the first ten. */
async function time(label, list, statement) {
  const [times, worked] = [[], workedMs()];
  const missed = new Map();
  for (const one of list) {
    const begin = performance.now();
    const { rows } = await owner.query(...statement(one));
    times.push(performance.now() - begin);
    if (!(one.isFound?.() ?? rows.slice(0, FOUND).some(({ seq }) => seq === one.seq))) missed.set(one.kind, (missed.get(one.kind) ?? 0) + 1);
  }
  const { p50, p95 } = summary(times);
  const misses = [...missed].map(([kind, count]) => `${kind} ${count}`).join(", ");
  console.log(`${label} | p50 ${p50.toFixed(1)} | p95 ${p95.toFixed(1)} | processor ${((workedMs() - worked) / list.length).toFixed(2)} | missed ${[...missed.values()].reduce((sum, one) => sum + one, 0)} of ${list.length}: ${misses}`);
}

async function fill(userId, texts) {
  const storage = postgresStorage({ pool: watching, search: "database" });
  const memory = await createMemory({ userId, storage, tokenizer: "estimate" });
  for (let at = 0; at < texts.length; at += BATCH) {
    const id = `c${Math.floor(at / CONVERSATION)}`;
    if (at % CONVERSATION === 0) await memory.conversations.create({ id });
    await memory.append(id, texts.slice(at, at + BATCH).map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content })));
  }
  await memory.settled();
  const rows = texts.map((body, at) => ({ seq: at, body }));
  await owner.query("INSERT INTO texts SELECT $1, seq, body, to_tsvector('simple', body) FROM json_to_recordset($2) AS t (seq int, body text)", [userId, JSON.stringify(rows)]);
  return memory;
}

async function sizes() {
  const relations = ["throughline.search_terms", "throughline.search_terms_pkey", "texts_words", "texts_trigrams"];
  const [{ messages }] = (await owner.query("SELECT count(*)::int AS messages FROM texts")).rows;
  for (const name of relations) {
    const [{ bytes }] = (await owner.query("SELECT pg_relation_size($1::regclass)::float AS bytes", [name])).rows;
    console.log(`${name}: ${(bytes / messages).toFixed(0)} bytes a message`);
  }
  const [{ bytes }] = (await owner.query("SELECT sum(pg_column_size(words))::float AS bytes FROM texts")).rows;
  console.log(`tsvector in the row: ${(bytes / messages).toFixed(0)} bytes a message; terms: ${(await owner.query("SELECT count(*)::float AS n FROM throughline.search_terms")).rows[0].n / messages} a message`);
}

try {
  await owner.connect();
  await owner.query(`CREATE EXTENSION pg_trgm; CREATE TABLE texts (user_id text COLLATE "C", seq int, body text, words tsvector, PRIMARY KEY (user_id, seq))`);
  const corpora = SIZES.map((size) => makeCorpus({ size, questions: 60, perClass: 3 }));
  const memories = [];
  for (const [at, { texts }] of corpora.entries()) memories.push(await fill(`user ${SIZES[at]}`, texts));
  const copied = `user ${SIZES[1] * COPIES}`;
  await owner.query(`INSERT INTO texts SELECT $1, seq + ${SIZES[1]} * copy, body, words FROM texts, generate_series(0, ${COPIES - 1}) AS copy WHERE user_id = $2`, [copied, `user ${SIZES[1]}`]);
  await owner.query(`INSERT INTO throughline.memory_users (user_id) VALUES ($1)`, [copied]);
  await owner.query(`INSERT INTO throughline.search_chats SELECT $1, conversation || set_byte('\\x00', 0, copy), chat + 100000 * copy FROM throughline.search_chats, generate_series(0, ${COPIES - 1}) AS copy WHERE user_id = $2`, [copied, `user ${SIZES[1]}`]);
  await owner.query(`INSERT INTO throughline.search_terms SELECT $1, term, chat + 100000 * copy, seq, frequency FROM throughline.search_terms, generate_series(0, ${COPIES - 1}) AS copy WHERE user_id = $2`, [copied, `user ${SIZES[1]}`]);
  await owner.query("CREATE INDEX texts_words ON texts USING gin (words); CREATE INDEX texts_trigrams ON texts USING gin (body gin_trgm_ops)");
  await owner.query("VACUUM ANALYZE");
  console.log(`${(await owner.query("SHOW server_version")).rows[0].server_version}; load ${loadavg()[0].toFixed(1)}`);
  await sizes();
  for (const [at, { asked: remembered, exact }] of corpora.entries()) {
    const things = exact.map(({ kind, query, target }) => ({ kind, query, seq: target }));
    const words = remembered.map(({ query, target }) => ({ kind: "remembered words", query, seq: target }));
    for (const one of [...things, ...words]) {
      const groups = await memories[at].recall(one.query, { topK: FOUND });
      const [conversation, seq] = [`c${Math.floor(one.seq / CONVERSATION)}`, (one.seq % CONVERSATION) + 1];
      const isFound = groups.some(({ conversationId, hits }) => conversationId === conversation && hits.some((hit) => hit.seq === seq));
      one.isFound = () => isFound;
      one.values = asked;
    }
    for (const userId of at === 1 ? [`user ${SIZES[1]}`, copied] : [`user ${SIZES[0]}`]) {
      const [{ incarnation }] = (await owner.query("SELECT incarnation FROM throughline.memory_users WHERE user_id = $1", [userId])).rows;
      const found = ({ values }) => ["SELECT * FROM throughline.search_found($1, $2, $3::text::bigint[], $4, $5, $6)", [userId, incarnation, ...values.slice(2)]];
      // Of copies nobody can say which is the right one.
      const plain = (list) => list.map(({ kind, query, seq }) => ({ kind, query, seq, ...(userId === copied && { isFound: () => true }) }));
      const some = (query) => query.split(/[^\p{L}\p{N}]+/u).filter(Boolean).join(" or ");
      await time(`${userId} | things | postings`, things, found);
      await time(`${userId} | things | tsvector`, plain(things), ({ query }) => ["SELECT seq FROM texts WHERE user_id = $1 AND words @@ plainto_tsquery('simple', $2) ORDER BY ts_rank(words, plainto_tsquery('simple', $2)) DESC LIMIT 10", [userId, query]]);
      await time(`${userId} | things | trigrams`, plain(things), ({ query }) => ["SELECT seq FROM texts WHERE user_id = $1 AND body ILIKE '%' || replace($2, '_', '\\_') || '%' LIMIT 10", [userId, query]]);
      await time(`${userId} | words | postings`, words, found);
      await time(`${userId} | words | tsvector`, plain(words), ({ query }) => ["SELECT seq FROM texts WHERE user_id = $1 AND words @@ websearch_to_tsquery('simple', $2) ORDER BY ts_rank(words, websearch_to_tsquery('simple', $2)) DESC LIMIT 10", [userId, some(query)]]);
      await time(`${userId} | words | trigrams`, plain(words), ({ query }) => ["SELECT seq FROM texts WHERE user_id = $1 AND $2 <% body ORDER BY $2 <<-> body LIMIT 10", [userId, query]]);
    }
  }
  for (const memory of memories) await memory.close();
  await owner.query(`ALTER TABLE texts OWNER TO app; ALTER TABLE texts ENABLE ROW LEVEL SECURITY; ALTER TABLE texts FORCE ROW LEVEL SECURITY;
    CREATE POLICY own_rows ON texts USING (user_id = current_setting('throughline.user_id', true))`);
  const bound = await pool.connect();
  await bound.query("SELECT set_config('throughline.user_id', $1, false)", [copied]);
  for (const where of ["words @@ plainto_tsquery('simple', 'port 8471')", "body ILIKE '%8471%'"]) {
    const plan = await bound.query(`EXPLAIN SELECT seq FROM texts WHERE user_id = '${copied}' AND ${where}`);
    console.log(plan.rows.map((row) => row["QUERY PLAN"]).join("\n"));
  }
  bound.release();
} finally {
  await pool.end();
  await owner.end();
  await server.stop();
}
