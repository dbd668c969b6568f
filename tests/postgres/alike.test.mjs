// Contexts and hits over a real PostgreSQL server are those of the same messages in memory. With pgvector vectors are compared in the
// database; without it the engine does it, over an index that the database keeps.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { memoryStorage } from "../../dist/index.js";
import { postgresStorage } from "../../dist/adapters/postgres.js";
import { WAYS, assertAlike } from "./alike.mjs";
import { startServer } from "./server.mjs";

let server;
let pool;
before(async () => {
  server = await startServer();
  pool = new pg.Pool({ connectionString: server.address() });
});
after(async () => {
  await pool?.end();
  await server?.stop();
});

for (const [way, { dimensions }] of Object.entries(WAYS)) {
  test(`contexts and hits are those of the same messages in memory: ${way}`, { timeout: 600_000 }, async () => {
    const hasPgvector = (await server.asOwner("SELECT FROM pg_extension WHERE extname = 'vector'")).length > 0;
    const isSearched = hasPgvector || dimensions.length === 0;
    const schema = `alike_${Object.keys(WAYS).indexOf(way)}`;
    const storage = postgresStorage({ pool, schema, ...(isSearched && { search: "database" }) });
    const groups = await assertAlike(memoryStorage(), storage, { way, seed: 12 + Object.keys(WAYS).indexOf(way) });
    assert.ok(groups > 100, `${groups} groups`);
    const [kept] = await server.asOwner(`SELECT (SELECT count(*)::int FROM ${schema}.search_terms) AS terms, (SELECT count(*)::int FROM ${schema}.index_segment_chunks) AS chunks`);
    assert.equal(kept.terms > 0, isSearched);
    assert.equal(kept.chunks > 0, !isSearched);
    if (isSearched && hasPgvector) {
      const models = await server.asOwner(`SELECT DISTINCT model FROM ${schema}.search_vectors`);
      assert.equal(models.length, dimensions.length, JSON.stringify(models));
    }
  });
}
