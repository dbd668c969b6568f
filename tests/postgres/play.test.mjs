// The store over a real PostgreSQL server against a plain model, as quick-play.test.mjs plays it over PGlite. `npm run test:postgres`.
import { after, before, test } from "node:test";
import { postgresStorage } from "throughline/postgres";
import { play } from "./play.mjs";
import { startServer } from "./server.mjs";

const first = Number(process.env.PLAY_FIRST ?? 1);
const seeds = Number(process.env.PLAY_SEEDS ?? 10);
/** Users who are played at once, each by two memories. */
const AT_ONCE = 5;

let server;
before(async () => (server = await startServer()));
after(() => server?.stop());

for (const search of ["database", "engine"]) {
  test(`two memories of a user do what a plain model does, many users at once; search in the ${search}`, { timeout: 900_000 }, async () => {
    const storage = postgresStorage({ connectionString: server.address(), maxConnections: 8, ...(search === "engine" ? { search } : {}) });
    for (let seed = first; seed < first + seeds; seed += AT_ONCE) {
      const together = Array.from({ length: Math.min(AT_ONCE, first + seeds - seed) }, (_, index) => play(seed + index, storage));
      await Promise.all(together);
    }
    await storage.end();
  });
}
