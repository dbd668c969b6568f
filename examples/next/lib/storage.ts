import { postgresStorage, type PostgresStorage } from "throughline/postgres";

/** The PostgreSQL of DATABASE_URL; without one, a PostgreSQL in this process whose files are in the folder "memory" (PGlite). */
export async function openStorage(): Promise<PostgresStorage> {
  const { DATABASE_URL: connectionString, PGLITE_FOLDER = "./memory" } = process.env;
  if (connectionString) return postgresStorage({ connectionString, maxConnections: 10 });
  const [{ PGlite }, { vector }] = await Promise.all([import("@electric-sql/pglite"), import("@electric-sql/pglite-pgvector")]);
  const database = await PGlite.create(PGLITE_FOLDER, { extensions: { vector } });
  const connection = { query: (text: string, values?: unknown[]) => database.query(text, values), release() {} };
  return postgresStorage({ pool: { connect: () => Promise.resolve(connection) } });
}
