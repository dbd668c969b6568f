// PostgreSQL in WebAssembly, in this process, with pgvector: for what needs no server.
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";

/** A database of its own, and a pool of its one connection. `fails(text, values)` may answer `"before"` or `"after"`: the connection is lost then, before or after the statement is carried out. What it answers is waited for. */
export async function openPglite(fails = () => undefined) {
  const database = await PGlite.create({ extensions: { vector } });
  const lose = () => Promise.reject(new Error("Connection terminated unexpectedly"));
  const client = {
    query: async (text, values) => {
      const when = await fails(text, values);
      if (when === "before") return lose();
      const answer = await database.query(text, values);
      return when === "after" ? lose() : answer;
    },
    release() {},
  };
  return { database, pool: { connect: async () => client } };
}

/** The names of the tables of which a row, as text, matches a regular expression. */
export async function tablesWith(database, pattern) {
  const found = [];
  const { rows } = await database.query("SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'throughline'");
  for (const { name } of rows) {
    const { rows: [{ count }] } = await database.query(`SELECT count(*)::int AS count FROM throughline.${name} AS t WHERE t::text ~* $1`, [pattern]);
    if (count > 0) found.push(name);
  }
  return found;
}
