import { MemoryError, notLoaded } from "../../errors.js";

/** A connection of a pool: what is used of a `Client` of `pg`. */
export interface PostgresClient {
  /** Runs one statement. */
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  /** Gives it back to the pool; with `true` it is closed. */
  release(destroy?: boolean): void;
  /** The server process that serves it, by which a statement is cancelled. */
  readonly processID?: number | null;
  /** Hears that the connection was lost, or of a notification. */
  on?(event: "error" | "end" | "notification", listener: (told: never) => void): unknown;
}

/** Connections to one database: what is used of a `Pool` of `pg`. */
export interface PostgresPool {
  /** A connection that is free, waited for where there is none. */
  connect(): Promise<PostgresClient>;
  /** Hears that a connection that nobody used was lost. */
  on?(event: "error", listener: (error: Error) => void): unknown;
  /** Closes all connections. */
  end?(): Promise<unknown>;
}

/** How a pool is made where none is given. */
export interface PoolOptions {
  connectionString: string;
  /** Most connections at once. */
  maxConnections: number;
  connectionTimeoutMs: number;
}

/** A pool of the package `pg`. */
export async function makePool({ connectionString, maxConnections, connectionTimeoutMs }: PoolOptions): Promise<PostgresPool> {
  const pg = await import("pg").catch((cause: unknown) => {
    if ((cause as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") notLoaded("The package pg")(cause);
    throw new MemoryError("invalid_config", "Option connectionString needs the package pg: npm install pg, or give a pool.", { cause });
  });
  return new pg.default.Pool({ connectionString, max: maxConnections, connectionTimeoutMillis: connectionTimeoutMs, keepAlive: true, application_name: "throughline" });
}
