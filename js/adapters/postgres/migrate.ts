/** Brings a database to the layout of this version. */

import { MemoryError } from "../../errors.js";
import type { Database } from "./database.js";
import { MIGRATIONS } from "./migrations.js";

/** Held while a layout is changed: any number that nobody else uses. */
const LOCK = "7317092663126482551";

/** The layout that a database has; 0: none. Rejects with `schema_too_new` where it is a later version's. */
export async function layoutOf(database: Database, schema: string, signal?: AbortSignal): Promise<number> {
  const [there] = (await database.run("SELECT to_regclass($1) IS NOT NULL AS is_there", [`${schema}.schema_migrations`], signal)) as { is_there: boolean }[];
  if (there?.is_there !== true) return 0;
  const [row] = (await database.run(`SELECT coalesce(max(version), 0) AS version FROM ${schema}.schema_migrations`, [], signal)) as { version: number }[];
  const layout = row?.version ?? 0;
  if (layout <= MIGRATIONS.length) return layout;
  throw new MemoryError("schema_too_new", `Storage: the tables in PostgreSQL are of layout ${layout}, and this version of the package knows ${MIGRATIONS.length}. Update the package.`);
}

/** Carries out the steps that are missing, all or none, while nobody else does. */
export async function migrate(database: Database, schema: string, signal?: AbortSignal): Promise<void> {
  const layout = await layoutOf(database, schema, signal);
  if (layout === MIGRATIONS.length) return;
  // The first step decided how vectors are kept.
  const keepsBytes = layout > 0 && !(await keepsVectors(database, schema));
  const names = { schema, vectors: keepsBytes ? undefined : await schemaOfVectors(database, signal) };
  const steps = MIGRATIONS.map(
    (step, index) => `
  IF present < ${index + 1} THEN
    EXECUTE $step$${step(names)}$step$;
    INSERT INTO ${schema}.schema_migrations (version) VALUES (${index + 1});
  END IF;`,
  );
  // One statement, so it is one transaction whatever the pool is.
  const text = `DO $throughline$
DECLARE present int;
BEGIN
  PERFORM pg_advisory_xact_lock(${LOCK});
  IF to_regnamespace('${schema}') IS NULL THEN
    CREATE SCHEMA ${schema};
  END IF;
  CREATE TABLE IF NOT EXISTS ${schema}.schema_migrations (version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
  SELECT coalesce(max(version), 0) INTO present FROM ${schema}.schema_migrations;
${steps.join("")}
END $throughline$`;
  await database.run(text, [], signal);
}

/** Whether the database keeps vectors as pgvector has them. */
export async function keepsVectors(database: Database, schema: string): Promise<boolean> {
  const text = `SELECT FROM pg_attribute JOIN pg_type AS t ON t.oid = atttypid
    WHERE attrelid = '${schema}.message_embeddings'::regclass AND attname = 'embedding' AND typname = 'vector'`;
  return (await database.run(text)).length === 1;
}

/** The schema of pgvector, quoted; it is installed where the server has it and the database does not. */
async function schemaOfVectors(database: Database, signal: AbortSignal | undefined): Promise<string | undefined> {
  const find = async (): Promise<string | undefined> => {
    const text = "SELECT quote_ident(nspname) AS name FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace WHERE extname = 'vector'";
    const [row] = (await database.run(text, [], signal)) as { name: string }[];
    return row?.name;
  };
  const found = await find();
  if (found !== undefined) return found;
  if ((await database.run("SELECT FROM pg_available_extensions WHERE name = 'vector'", [], signal)).length === 0) return undefined;
  try {
    await database.run("CREATE EXTENSION IF NOT EXISTS vector", [], signal);
  } catch (error) {
    // Another process may have been first.
    const theirs = await find();
    if (theirs === undefined) throw error;
    return theirs;
  }
  return find();
}
