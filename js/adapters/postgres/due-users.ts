/** The queue of users with background work, as one worker sees it. */

import type { Database } from "./database.js";

/** A worker that says nothing for so many seconds has lost its users. */
const LEASE_SECONDS = 20;

/** A user that was taken. */
export interface DueUser {
  userId: string;
  /** How often the user's records were changed, in all. */
  changes: string;
}

/** What became of a user. */
export interface Outcome {
  /** The changes that were worked off; `null`: not all is done. */
  changes: string | null;
  /** Milliseconds until something is to be tried again; `null`: nothing is. */
  waitMs: number | null;
  /** Nothing could be done: it is tried again later and later. */
  hasFailed: boolean;
}

/** The queue of a database. */
export class DueUsers {
  readonly #ready: () => Promise<Database>;
  readonly #schema: string;
  readonly #holder = crypto.randomUUID();

  constructor(ready: () => Promise<Database>, schema: string) {
    this.#ready = ready;
    this.#schema = schema;
  }

  /** Takes up to `most` users, whom nobody else gets until they are released or not kept. `quietMs`: nothing changed for so long. */
  async take(most: number, quietMs: number): Promise<DueUser[]> {
    const rows = await this.#call("take_due_users", [this.#holder, most, LEASE_SECONDS, quietMs / 1000]);
    return (rows as { user_id: string; changes: string | number | bigint }[]).map((row) => ({ userId: row.user_id, changes: String(row.changes) }));
  }

  /** Keeps a user until the function that it answers is called; `onLost`: somebody else may have the user now. */
  keep(userId: string, onLost: () => void): () => void {
    const timer = setInterval(() => {
      this.#call("keep_due_user", [userId, this.#holder, LEASE_SECONDS]).then(([row]) => {
        if (!(row as { keep_due_user: boolean }).keep_due_user) onLost();
      }, () => undefined);
    }, (LEASE_SECONDS * 1000) / 3);
    // Node must not be kept alive by it.
    (timer as { unref?: () => void }).unref?.();
    return () => clearInterval(timer);
  }

  /** Gives a user back. `idleMs`: so long after the last change there is another look. */
  async release(userId: string, { changes, waitMs, hasFailed }: Outcome, idleMs: number): Promise<void> {
    const waitSeconds = waitMs === null ? null : waitMs / 1000;
    await this.#call("release_due_user", [userId, this.#holder, changes, waitSeconds, idleMs / 1000, hasFailed]);
  }

  async #call(name: string, values: unknown[]): Promise<unknown[]> {
    const places = values.map((_, index) => `$${index + 1}`).join(", ");
    return (await this.#ready()).run(`SELECT * FROM ${this.#schema}.${name}(${places})`, values);
  }
}
