/** Statements on a pool, each within its time, again where a connection was lost or another transaction won. */

import { MemoryError, aborted, untilAborted } from "../../errors.js";
import { failureOf } from "./failure.js";
import type { PostgresClient, PostgresPool } from "./pool.js";

/** How long what may take, in milliseconds. */
export interface DatabaseLimits {
  statementTimeoutMs: number;
  connectionTimeoutMs: number;
  /** A lost connection is replaced for so long. */
  reconnectMs: number;
}

/** Transactions that lose are tried again so often. */
const MOST_RACES = 10;
/** The first pause before something is tried again, and the longest. */
const PAUSES_MS = { first: 20, longest: 1_000 };
/** A statement is cancelled through a second connection; so long is that waited for. */
const CANCEL_MS = 2_000;

/** One database. */
export class Database {
  readonly #makePool: () => Promise<PostgresPool>;
  readonly #limits: DatabaseLimits;
  readonly #known = new WeakSet<PostgresClient>();
  #pool: Promise<PostgresPool> | undefined;

  constructor(makePool: () => Promise<PostgresPool>, limits: DatabaseLimits) {
    this.#makePool = makePool;
    this.#limits = limits;
  }

  /** Runs a statement that may be repeated. Rejects with a `MemoryError`. */
  async run(text: string, values: unknown[] = [], signal?: AbortSignal): Promise<unknown[]> {
    const giveUpAt = performance.now() + this.#limits.reconnectMs;
    let pauseMs = PAUSES_MS.first;
    for (let races = 1; ; pauseMs = Math.min(pauseMs * 2, PAUSES_MS.longest)) {
      try {
        return await this.#once(text, values, signal);
      } catch (thrown) {
        const { remedy, error } = failureOf(thrown);
        const isHopeless = remedy === "none" || (remedy === "again" ? races >= MOST_RACES : performance.now() + pauseMs > giveUpAt);
        if (isHopeless || signal?.aborted) throw error;
        if (remedy === "again") races += 1;
        // Writers that met are kept from meeting again.
        const pause = new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random())));
        await (signal === undefined ? pause : untilAborted(pause, signal));
      }
    }
  }

  /** A connection to be kept, and given back by its own `release`. */
  connect(): Promise<PostgresClient> {
    return this.#connect(undefined);
  }

  /** Closes every connection. */
  async end(): Promise<void> {
    await (await this.#pool)?.end?.();
  }

  async #once(text: string, values: unknown[], signal: AbortSignal | undefined): Promise<unknown[]> {
    const client = await this.#connect(signal);
    const answer = client.query(text, values);
    try {
      const { rows } = await inTime(answer, this.#limits.statementTimeoutMs, signal);
      client.release();
      return rows;
    } catch (thrown) {
      if (thrown instanceof GivenUp) void this.#cancel(client, answer);
      else client.release(failureOf(thrown).remedy === "reconnect");
      throw thrown;
    }
  }

  async #connect(signal: AbortSignal | undefined): Promise<PostgresClient> {
    this.#pool ??= this.#openPool().catch((error: unknown) => {
      this.#pool = undefined;
      throw error;
    });
    const connecting = (await this.#pool).connect();
    try {
      const client = await inTime(connecting, this.#limits.connectionTimeoutMs, signal);
      if (!this.#known.has(client)) client.on?.("error", () => undefined);
      this.#known.add(client);
      return client;
    } catch (thrown) {
      // It may still come, to nobody.
      if (thrown instanceof GivenUp) connecting.then((late) => late.release(), () => undefined);
      throw thrown;
    }
  }

  async #openPool(): Promise<PostgresPool> {
    const pool = await this.#makePool();
    // Without a listener, a connection that is lost while nobody uses it would end the process.
    pool.on?.("error", () => undefined);
    return pool;
  }

  /** Ends a statement that nobody waits for, and then its connection. */
  async #cancel(client: PostgresClient, answer: Promise<unknown>): Promise<void> {
    const { processID } = client;
    const over = answer.catch(() => undefined);
    if (typeof processID === "number") {
      const cancelling = this.#connect(undefined).then((other) =>
        other.query("SELECT pg_cancel_backend($1)", [processID]).then(() => other.release(), () => other.release(true)));
      await inTime(cancelling, CANCEL_MS, undefined).catch(() => undefined);
      await inTime(over, CANCEL_MS, undefined).catch(() => undefined);
    }
    client.release(true);
  }
}

/** Thrown where an answer is not waited for any longer. */
class GivenUp extends MemoryError {}

/** The answer, unless it takes too long or its signal is aborted. */
function inTime<Answer>(answer: Promise<Answer>, limitMs: number, signal: AbortSignal | undefined): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      end();
      const isAborted = signal?.aborted === true;
      const told = isAborted ? aborted(signal).message : `Storage: PostgreSQL did not answer within ${limitMs} milliseconds; whether a write was carried out is not known.`;
      reject(new GivenUp(isAborted ? "aborted" : "timeout", told));
    };
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
    };
    const timer = setTimeout(giveUp, limitMs);
    signal?.addEventListener("abort", giveUp);
    answer.then(resolve, reject).finally(end);
    if (signal?.aborted) giveUp();
  });
}
