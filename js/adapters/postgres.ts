/** `throughline/postgres`: PostgreSQL as the storage of a memory, for any number of users in any number of processes. */

import { MemoryError } from "../errors.js";
import { externalStorage } from "../external-storage.js";
import type { ExternalStorage } from "../types.js";
import { Database } from "./postgres/database.js";
import { DueUsers } from "./postgres/due-users.js";
import { Leases } from "./postgres/leases.js";
import { keepsVectors, layoutOf, migrate } from "./postgres/migrate.js";
import { MIGRATIONS } from "./postgres/migrations.js";
import { Notices } from "./postgres/notices.js";
import { makePool, type PostgresPool } from "./postgres/pool.js";
import { PostgresRecords } from "./postgres/records.js";
import { JobRunner, type JobOptions, type JobReport } from "./postgres/run-jobs.js";
import { PostgresSealedLog } from "./postgres/sealed-log.js";
import type { SealedLog } from "./sync/sealed-log.js";

export type { JobReport, WorkedMemory } from "./postgres/run-jobs.js";
export type { PostgresClient, PostgresPool } from "./postgres/pool.js";

/** Which database, and how it is reached: one of `pool` and `connectionString`. */
export interface PostgresOptions {
  /** The app's pool of `pg`, or what has its `connect`. The app ends it. */
  pool?: PostgresPool;
  /** Makes a pool with the package `pg`, which the app installs. `end` ends it. */
  connectionString?: string;
  /** Most connections of the pool that is made. Default 10. */
  maxConnections?: number;
  /** The schema that holds the tables: up to 63 of `a` to `z`, `0` to `9` and `_`, no digit first. Default `"throughline"`. */
  schema?: string;
  /** Longest wait for a statement, in milliseconds, from 1. It is cancelled then, and the call rejects with `timeout`. Default 30,000. */
  statementTimeoutMs?: number;
  /** Longest wait for a connection, in milliseconds, from 1. Default 10,000. */
  connectionTimeoutMs?: number;
  /**
   * How long a lost connection is replaced, in milliseconds, from 0: what was asked is asked again, and a write whose answer was
   * lost is carried out once. Default 15,000, which a restart of the server takes at most as a rule.
   */
  reconnectMs?: number;
}

/** Options of {@link postgresStorage}. */
export interface PostgresStorageOptions extends PostgresOptions {
  /** Makes or changes the tables when first opened. Default true; false where the app's role may not: see {@link migratePostgres}. */
  migrate?: boolean;
  /**
   * Memories in other processes hear at once of what was stored (LISTEN and NOTIFY), which takes one connection of the pool while a
   * memory is open. Default false: they see it when they are next used.
   */
  notifications?: boolean;
  /**
   * Who searches: `"database"` keeps what messages are found by in tables of its own and answers a question from there, so that
   * no index is read or held by the process; `"engine"` keeps an index among the records, which each memory reads once and then
   * searches by itself. Both find the same. Default `"database"` where vectors are pgvector's, else `"engine"`: a database without
   * pgvector searches for memories without an embedder only.
   */
  search?: "database" | "engine";
}

/** Storage in PostgreSQL, for any number of users. */
export interface PostgresStorage extends ExternalStorage {
  /** Closes the pool that was made here. To be called when every memory is closed; a pool that was given is left alone. */
  end(): Promise<void>;
}

/** Options of {@link postgresLog}. */
export interface PostgresLogOptions extends PostgresOptions {
  /** Makes or changes the tables when first used. Default true; false where the app's role may not: see {@link migratePostgres}. */
  migrate?: boolean;
}

/** Logs in PostgreSQL, one for each user. */
export interface PostgresLog {
  /** A user's log, for `sealedLogHandler`. */
  of(userId: string): SealedLog;
  /** Removes a user's log: devices that have read it are refused from then on, under the name of the peer that they know it by. */
  delete(userId: string): Promise<void>;
  /** Closes the pool that was made here; a pool that was given is left alone. */
  end(): Promise<void>;
}

/** What this package asks of a storage that {@link postgresStorage} made. */
interface QueuedStorage extends PostgresStorage {
  /** @internal */
  readonly dueUsers?: () => DueUsers;
}

/** Options of {@link runJobs}. */
export interface RunJobsOptions extends JobOptions {
  /** Where the users are. */
  storage: PostgresStorage;
}

/**
 * PostgreSQL 13 or later as the storage of any number of users, in any number of processes, for `createMemory` on a
 * server. What may be read and written of whom is up to the app: it names the user.
 *
 * ```ts
 * const storage = postgresStorage({ connectionString: process.env.DATABASE_URL });
 * const memory = await createMemory({ userId: "alex", storage });
 * ```
 *
 * @throws `invalid_config` naming the option. What cannot be reached or used is told by `createMemory`.
 */
export function postgresStorage(options: PostgresStorageOptions): PostgresStorage {
  const { database, schema, sql } = databaseOf(options);
  const { migrate: mayMigrate = true, notifications = false, search } = options;
  if (search !== undefined && search !== "database" && search !== "engine") throw invalid('Option search must be "database" or "engine".');
  const leases = new Leases(database, sql);
  const notices = notifications ? new Notices(database) : undefined;
  let ready: Promise<boolean> | undefined;
  /** Whether vectors are kept as pgvector has them, once the tables are there. */
  const prepared = (): Promise<boolean> =>
    (ready ??= (mayMigrate ? migrate(database, sql) : requireLayout(database, sql)).then(() => keepsVectors(database, sql)).catch((error: unknown) => {
      ready = undefined;
      throw error;
    }));
  const storage = externalStorage({
    name: `postgres:${schema}`,
    durable: true,
    open: async (userId) => {
      if (userId.includes("\0")) throw new MemoryError("invalid_config", "Option userId: PostgreSQL holds no text with U+0000.");
      const hasVectors = await prepared();
      return PostgresRecords.open(database, { schema: sql, hasVectors, searches: (search ?? (hasVectors ? "database" : "engine")) === "database" }, userId);
    },
    tryLock: (userId, lock) => leases.take(userId, lock),
    ...(notices !== undefined && { channel: (name) => notices.open(name) }),
  });
  const end = async (): Promise<void> => {
    notices?.close();
    await leases.idle();
    if (options.pool === undefined) await database.end();
  };
  const dueUsers = (): DueUsers => new DueUsers(() => prepared().then(() => database), sql);
  return Object.assign(storage, { end, dueUsers });
}

/**
 * Logs of what devices exchange sealed (`syncMemory` with a `key`), for any number of users: the server stores what it cannot
 * read. Whose log a request is about is up to the app.
 *
 * ```ts
 * const logs = postgresLog({ connectionString: process.env.DATABASE_URL });
 * export const POST = sealedLogHandler({ logFor: async (request) => logs.of(await signedIn(request)) });
 * ```
 *
 * @throws `invalid_config` naming the option. What the database refuses is told by the exchange.
 */
export function postgresLog(options: PostgresLogOptions): PostgresLog {
  const { database, sql } = databaseOf(options);
  let ready: Promise<Database> | undefined;
  const prepared = (): Promise<Database> =>
    (ready ??= (options.migrate ?? true ? migrate(database, sql) : requireLayout(database, sql)).then(() => database).catch((error: unknown) => {
      ready = undefined;
      throw error;
    }));
  const of = (userId: string): PostgresSealedLog => {
    if (typeof userId !== "string" || userId === "" || userId.includes("\0")) throw invalid("The user of a log must be text that is not empty, without U+0000.");
    return new PostgresSealedLog(prepared, sql, userId);
  };
  const end = async (): Promise<void> => {
    if (options.pool === undefined) await database.end();
  };
  return { of, delete: (userId) => of(userId).delete(), end };
}

/**
 * Does the background work of every user of a storage: a process that runs this needs no request of a user. Any number of processes
 * may: a user is in one at a time, and the users of one that was killed go to the others after 20 seconds.
 *
 * ```ts
 * const storage = postgresStorage({ connectionString: process.env.DATABASE_URL });
 * const languageModel = openAiLanguageModel({ baseUrl: "http://localhost:11434/v1", model: "qwen3:8b", contextWindow: 32_000 });
 * await runJobs({ storage, memoryFor: (userId) => createMemory({ userId, storage, languageModel }) });
 * ```
 *
 * @returns Once `signal` is aborted or, with `once`, no user is due: what was done.
 * @throws `invalid_config` naming the option; what the database refuses for good, and with `once` whatever keeps it from being asked.
 */
export async function runJobs(options: RunJobsOptions): Promise<JobReport> {
  const dueUsers = (options?.storage as QueuedStorage | undefined)?.dueUsers;
  if (typeof dueUsers !== "function") throw new MemoryError("invalid_config", "runJobs: option storage must be one that postgresStorage made.");
  return new JobRunner(dueUsers(), options).run();
}

/**
 * Makes the tables, or brings those of an older version to the layout of this one: for a step of a deployment, under a role that
 * may. Several at once wait for each other. The tables are changed all or not at all; pgvector is installed by a statement before.
 *
 * @returns The layout's number.
 * @throws `schema_too_new` where a later version was here; else as `createMemory`.
 */
export async function migratePostgres(options: PostgresOptions & { signal?: AbortSignal }): Promise<{ layout: number }> {
  const { database, sql } = databaseOf(options);
  try {
    await migrate(database, sql, options.signal);
    return { layout: MIGRATIONS.length };
  } finally {
    if (options.pool === undefined) await database.end();
  }
}

async function requireLayout(database: Database, schema: string): Promise<void> {
  const layout = await layoutOf(database, schema);
  if (layout === MIGRATIONS.length) return;
  throw new MemoryError("storage_unavailable", `Storage: the tables in PostgreSQL are of layout ${layout}, and this version needs ${MIGRATIONS.length}. Run migratePostgres first.`);
}

function databaseOf(options: PostgresOptions): { database: Database; schema: string; sql: string } {
  if (typeof options !== "object" || options === null) throw invalid("Give an object with pool or connectionString.");
  const { pool, connectionString, schema = "throughline" } = options;
  if ((pool === undefined) === (connectionString === undefined)) throw invalid("Give one of pool and connectionString.");
  if (pool !== undefined && typeof pool?.connect !== "function") throw invalid("Option pool must be a pool of pg.");
  if (connectionString !== undefined && (typeof connectionString !== "string" || connectionString === "")) throw invalid("Option connectionString must be text.");
  if (typeof schema !== "string" || !/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) throw invalid("Option schema must be up to 63 of a to z, 0 to 9 and _, no digit first.");
  const limits = {
    statementTimeoutMs: whole(options.statementTimeoutMs ?? 30_000, 1, "statementTimeoutMs"),
    connectionTimeoutMs: whole(options.connectionTimeoutMs ?? 10_000, 1, "connectionTimeoutMs"),
    reconnectMs: whole(options.reconnectMs ?? 15_000, 0, "reconnectMs"),
  };
  const maxConnections = whole(options.maxConnections ?? 10, 1, "maxConnections");
  const make = (): Promise<PostgresPool> =>
    pool !== undefined ? Promise.resolve(pool) : makePool({ connectionString: connectionString as string, maxConnections, connectionTimeoutMs: limits.connectionTimeoutMs });
  return { database: new Database(make, limits), schema, sql: `"${schema}"` };
}

function whole(value: unknown, low: number, name: string): number {
  if (Number.isInteger(value) && (value as number) >= low && (value as number) < 2 ** 31) return value as number;
  throw invalid(`Option ${name} must be a whole number of milliseconds or connections from ${low}.`);
}

function invalid(message: string): MemoryError {
  return new MemoryError("invalid_config", `PostgreSQL: ${message}`);
}
