// Opens databases for tests/store_external.rs: in PostgreSQL at the address of THROUGHLINE_POSTGRES, else in PGlite.
import pg from "pg";
import { postgresStorage } from "../../dist/adapters/postgres.js";
import { openPglite } from "./pglite.mjs";

const address = process.env.THROUGHLINE_POSTGRES;
const { pool } = address === undefined ? await openPglite() : { pool: new pg.Pool({ connectionString: address, allowExitOnIdle: true }) };
const storage = postgresStorage({ pool, schema: "conformance" });

/** What the engine would be given. */
export const open = (name) => storage.hold(name).open();
