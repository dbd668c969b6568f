// `node tests/postgres/benchmark-vectors.mjs <folder>`: what comparing a user's vectors one by one costs beside an HNSW index, over a
// server of its own with pgvector. The folder holds vectors.minilm384.f16 and queries.minilm384.f16 (rows of 384 halves): the first
// 10,000 rows are those of a user of 10,000; five users of 1,000 and one of 100,000 have rows near real ones.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { Random } from "../../bench/random.mjs";
import { summary } from "../../bench/timing.mjs";
import { FILLING } from "./benchmark.mjs";
import { startServer } from "./server.mjs";

const DIMENSIONS = 384;
const QUERIES = 50;
const FOUND = 10;
const BLOCK = 10_000;
/** How far a row is from the real one that it was made of; of the length of both. */
const APART = 0.5;
const COSINE = "direction::halfvec(384) <=> $2::halfvec(384)";
const MODEL = "minilm";
const USERS = [{ size: 1_000, count: 5, apart: APART }, { size: 10_000, count: 1, apart: 0 }, { size: 100_000, count: 1, apart: APART }];
const MEASURING = ["shared_buffers=2GB", "maintenance_work_mem=1GB", "max_wal_size=4GB", "jit=off"];

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Name the folder of the vectors.");
const random = new Random(7);
const [real, asked] = ["vectors", "queries"].map((name) => halves(readFileSync(join(folder, `${name}.minilm384.f16`))));
const queries = Array.from({ length: QUERIES }, (_, at) => {
  const query = asked.subarray(at * DIMENSIONS, (at + 1) * DIMENSIONS);
  const whole = Array.from(query, (value) => Math.round(value * 32_767));
  const high = whole.map((value) => Math.floor((value + 128) / 256));
  return [query, high, whole.map((value, place) => value - high[place] * 256)].map((numbers) => `[${numbers.join(",")}]`);
});
const userName = (size, number) => `user ${size} ${number}`;

function halves(bytes) {
  return Float32Array.from(new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2), (bits) => {
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1_023];
    const magnitude = exponent === 0 ? fraction * 2 ** -24 : 2 ** (exponent - 15) * (1 + fraction / 1_024);
    return bits >> 15 === 1 ? -magnitude : magnitude;
  });
}

/** A row as the store keeps it, near one of the real rows. */
function direction(at, apart) {
  const first = (at % (real.length / DIMENSIONS)) * DIMENSIONS;
  const row = real.slice(first, first + DIMENSIONS);
  const spread = (apart / Math.sqrt(DIMENSIONS)) * Math.sqrt(6);
  if (apart > 0) for (let place = 0; place < DIMENSIONS; place += 1) row[place] += (random.next() - random.next()) * spread;
  const largest = row.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return `[${Array.from(row, (value) => Math.round((value / largest) * 127)).join(",")}]`;
}

function* rows() {
  for (const { size, count, apart } of USERS) {
    for (let at = 0; at < size * count; at += 1) yield `${userName(size, Math.floor(at / size))}\t1\t${at % size}\t0\t${MODEL}\t${direction(at, apart)}\n`;
  }
}

/** Copies rows in, block by block. */
function fill(server) {
  const file = join(tmpdir(), `vectors-${process.pid}.tsv`);
  let block = [];
  const copy = () => {
    writeFileSync(file, block.join(""));
    const copied = spawnSync(join(server.programs, "psql"), ["-q", "-d", server.address("owner"), "-c", `\\copy search_vectors FROM '${file}'`], { encoding: "utf8" });
    if (copied.status !== 0) throw new Error(copied.stderr);
    block = [];
  };
  for (const row of rows()) if (block.push(row) === BLOCK) copy();
  copy();
  rmSync(file);
}

const server = await startServer([...FILLING, ...MEASURING]);
const client = new pg.Client({ connectionString: server.address("owner") });
try {
  await client.connect();
  await client.query(`CREATE TABLE search_vectors (user_id text COLLATE "C" NOT NULL, chat int NOT NULL, seq int NOT NULL, part int NOT NULL, model text COLLATE "C" NOT NULL,
    direction halfvec NOT NULL, PRIMARY KEY (user_id, chat, seq, part))`);
  fill(server);
  await client.query("VACUUM ANALYZE search_vectors");
  const [{ version, total, bytes }] = (await client.query("SELECT (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS version, count(*)::int AS total, pg_total_relation_size('search_vectors')::float AS bytes FROM search_vectors")).rows;
  console.log(`${(await client.query("SHOW server_version")).rows[0].server_version}, pgvector ${version}: ${total} rows, ${(bytes / total).toFixed(0)} bytes each; load ${loadavg()[0].toFixed(1)}`);
  await compare();
} finally {
  await client.end();
  await server.stop();
}

/** Milliseconds for which the server's process of this connection had a processor: what else the machine does is not in it. */
function workedMs() {
  return Number(readFileSync(`/proc/${client.processID}/schedstat`, "utf8").split(" ")[0]) / 1e6;
}

/** Times of one way of asking for users of a size, and how much of the exact answer it gives. */
async function ask(size, name, text, exact) {
  const parts = text.includes("$4") ? 3 : 1;
  const { count } = USERS.find((users) => users.size === size);
  const [times, answers] = [[], []];
  const worked = workedMs();
  for (const [at, query] of queries.entries()) {
    const begin = performance.now();
    const { rows: found } = await client.query({ name: `${name} ${size}`, text, values: [userName(size, at % count), ...query.slice(0, parts)] });
    times.push(performance.now() - begin);
    answers.push(found.map(({ seq }) => seq));
  }
  const recall = exact?.map((list, at) => list.filter((seq) => answers[at].includes(seq)).length / list.length);
  const { p50, p95 } = summary(times);
  console.log([size, name, `p50 ${p50.toFixed(1)}`, `p95 ${p95.toFixed(1)}`, `processor ${((workedMs() - worked) / QUERIES).toFixed(2)}`, recall === undefined ? "" : `recall@${FOUND} ${(recall.reduce((sum, one) => sum + one, 0) / recall.length).toFixed(3)}`, `load ${loadavg()[0].toFixed(1)}`].join(" | "));
  return answers;
}

async function compare() {
  const nearest = `SELECT seq FROM search_vectors WHERE user_id = $1 AND model = '${MODEL}' ORDER BY ${COSINE} LIMIT ${FOUND}`;
  const exact = {};
  for (const { size } of USERS) {
    // What search_found sends of a user's vectors.
    await ask(size, "every cosine, sent", `SELECT string_agg(int4send(n.seq) || float4send(n.near), ''::bytea) AS seq FROM (
      SELECT v.chat, v.seq, max(1 - (v.direction::vector <=> $2::vector))::real AS near FROM search_vectors AS v WHERE v.user_id = $1 AND v.model = '${MODEL}' GROUP BY v.chat, v.seq) AS n`);
    await ask(size, "every cosine of halves, sent", `SELECT string_agg(int4send(n.seq) || float4send(n.near), ''::bytea) AS seq FROM (
      SELECT v.chat, v.seq, max(1 - (v.direction <=> $2::halfvec))::real AS near FROM search_vectors AS v WHERE v.user_id = $1 AND v.model = '${MODEL}' GROUP BY v.chat, v.seq) AS n`);
    await ask(size, "every cosine by two products of halves, sent", `SELECT string_agg(int4send(n.seq) || float4send(n.near), ''::bytea) AS seq FROM (
      SELECT v.chat, v.seq, max((-256 * (v.direction <#> $3::halfvec) - (v.direction <#> $4::halfvec)) / sqrt(-(v.direction <#> v.direction)))::real AS near
      FROM search_vectors AS v WHERE v.user_id = $1 AND v.model = '${MODEL}' AND $2::text IS NOT NULL GROUP BY v.chat, v.seq) AS n`);
    exact[size] = await ask(size, "ten nearest of all", nearest.replaceAll("direction::halfvec(384)", "direction::vector(384)").replace("$2::halfvec(384)", "$2::vector(384)"));
  }
  await adding("no graph");
  await build("graph of one user of 10,000", `WHERE user_id = '${userName(10_000, 0)}' AND model = '${MODEL}'`);
  for (const effort of [40, 100, 200]) {
    await client.query(`SET hnsw.ef_search = ${effort}`);
    await ask(10_000, `graph of one user, ef ${effort}`, nearest.replace("$1", `'${userName(10_000, 0)}' AND $1::text IS NOT NULL`), exact[10_000]);
  }
  await client.query("DROP INDEX graph");
  await build("graph of a model", `WHERE model = '${MODEL}'`);
  await client.query("SET enable_sort = off; SET enable_bitmapscan = off");
  for (const [mode, effort, most] of [["off", 400, 20_000], ["strict_order", 40, 20_000], ["strict_order", 200, 20_000], ["strict_order", 200, 100_000]]) {
    await client.query(`SET hnsw.iterative_scan = ${mode}; SET hnsw.ef_search = ${effort}; SET hnsw.max_scan_tuples = ${most}`);
    for (const { size } of USERS) await ask(size, `graph of a model, ${mode} ef ${effort} up to ${most}`, nearest, exact[size]);
  }
  await adding("graph of a model");
}

async function build(name, where) {
  const begin = performance.now();
  await client.query(`CREATE INDEX graph ON search_vectors USING hnsw ((direction::halfvec(384)) halfvec_cosine_ops) ${where}`);
  const [{ bytes }] = (await client.query("SELECT pg_relation_size('graph')::float AS bytes")).rows;
  console.log(`${name}: built in ${((performance.now() - begin) / 1_000).toFixed(0)} s, ${(bytes / 1e6).toFixed(0)} MB; load ${loadavg()[0].toFixed(1)}`);
  await client.query("ANALYZE search_vectors");
}

/** What one more vector costs. */
async function adding(name) {
  const times = [];
  const worked = workedMs();
  for (let at = 0; at < 200; at += 1) {
    const given = direction(random.below(40_000), APART);
    const begin = performance.now();
    await client.query(`INSERT INTO search_vectors VALUES ($1, 2, $2, 0, '${MODEL}', $3)`, ["user added", Math.round(performance.now() * 1_000) % 2_000_000_000, given]);
    times.push(performance.now() - begin);
  }
  const { p50, p95 } = summary(times);
  console.log(`one more vector, ${name}: p50 ${p50.toFixed(2)}, p95 ${p95.toFixed(2)}, processor ${((workedMs() - worked) / times.length).toFixed(2)} ms; load ${loadavg()[0].toFixed(1)}`);
}
