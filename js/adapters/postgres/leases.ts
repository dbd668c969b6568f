/** Locks among all processes: rows that end by themselves, kept up while they are held. */

import type { Database } from "./database.js";

/** A lock whose holder was killed is free again after so many seconds. */
const LEASE_SECONDS = 15;

/** The locks of a database. */
export class Leases {
  readonly #database: Database;
  readonly #schema: string;
  /** What is being released is free for whoever asks next here. */
  readonly #releasing = new Map<string, Promise<unknown>>();
  /** What is asked of the database at the moment. */
  readonly #asking = new Set<Promise<unknown>>();

  constructor(database: Database, schema: string) {
    this.#database = database;
    this.#schema = schema;
  }

  /** Takes a lock where it is free: a function that releases it, else `null`. */
  async take(user: string, lock: string): Promise<(() => void) | null> {
    const name = JSON.stringify([user, lock]);
    await this.#releasing.get(name);
    const holder = crypto.randomUUID();
    const take = async (): Promise<boolean> => {
      const [row] = await this.#ask("take_lease($1, $2, $3, $4) AS taken", [user, lock, holder, LEASE_SECONDS]);
      return (row as { taken: boolean }).taken;
    };
    if (!(await take())) return null;
    const timer = setInterval(() => {
      // Who lost it goes on: every commit of background work checks that nobody else began.
      take().then((isHeld) => isHeld || clearInterval(timer), () => undefined);
    }, (LEASE_SECONDS * 1000) / 3);
    // Node must not be kept alive by it.
    (timer as { unref?: () => void }).unref?.();
    return () => {
      clearInterval(timer);
      // Where this fails, it ends by itself.
      const released = this.#ask("release_lease($1, $2, $3)", [user, lock, holder]).catch(() => undefined);
      this.#releasing.set(name, released);
      void released.then(() => this.#releasing.get(name) === released && this.#releasing.delete(name));
    };
  }

  /** Resolves when nothing is being taken or released: a lock that comes too late for its memory is given back as well. */
  async idle(): Promise<void> {
    while (this.#asking.size > 0) {
      await Promise.allSettled(this.#asking);
      // Whoever waited for the answer has its turn.
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  #ask(call: string, values: unknown[]): Promise<unknown[]> {
    const asking = this.#database.run(`SELECT ${this.#schema}.${call}`, values);
    const noted = asking.finally(() => this.#asking.delete(noted)).catch(() => undefined);
    this.#asking.add(noted);
    return asking;
  }
}
