/** Background work for all users of a database, by any number of processes that run this. */

import { MemoryError, toMemoryError } from "../../errors.js";
import type { Memory } from "../../memory.js";
import type { DueUser, DueUsers, Outcome } from "./due-users.js";

/** A memory as it is worked off. */
export type WorkedMemory = Pick<Memory, "settled" | "stats" | "close">;

/** Options of `runJobs`, but for the storage. */
export interface JobOptions {
  /**
   * Opens the memory of a user for this work alone, with the models that the work needs: it is closed here. Who opens it over another
   * storage, or with another policy, than the app does elsewhere gets what that makes of it.
   */
  memoryFor: (userId: string) => Promise<WorkedMemory>;
  /** Ends the work: what is under way is given up and goes to whoever is next. */
  signal?: AbortSignal;
  /** Users at once, 1 to 1,000. Default 4. */
  concurrency?: number;
  /** Ends when no user is due, as a task that is run from time to time wants it. Default false: it goes on until `signal`. */
  once?: boolean;
  /**
   * A user is due when nothing of them was written for so long, in milliseconds from 0, and after ten times that in any case: the
   * process that talks with them does the work as a rule. Default 30,000; 0 where no other process works.
   */
  quietMs?: number;
  /** So long after the last change there is another look, in milliseconds from 0: `policy.episodes.idleMs`. Default 1,800,000. */
  idleMs?: number;
  /** Between two looks for users while none is due, in milliseconds from 10. Default 1,000. */
  pollMs?: number;
  /**
   * Hears what failed: a user's memory could not be opened or worked off (tried again after half a minute, then twice as long each
   * time, up to an hour), or, without `userId`, the database is away. Failed jobs are events of the memory. Default: a warning.
   */
  onError?: (error: MemoryError, userId?: string) => void;
}

/** What was done. */
export interface JobReport {
  /** Users whose work was done, each time counted. */
  users: number;
  /** Times that a user's work could not be done. */
  failures: number;
}

/** One process's work. */
export class JobRunner {
  readonly #queue: DueUsers;
  readonly #options: Required<Omit<JobOptions, "signal" | "memoryFor">> & Pick<JobOptions, "memoryFor">;
  readonly #signal: AbortSignal;
  readonly #running = new Set<Promise<void>>();
  /** Each gives up the work of one user. */
  readonly #givingUp = new Set<AbortController>();
  #wake: (() => void) | undefined;
  readonly #report: JobReport = { users: 0, failures: 0 };

  constructor(queue: DueUsers, options: JobOptions) {
    if (typeof options.memoryFor !== "function") throw invalid("option memoryFor must be a function that opens a user's memory.");
    this.#queue = queue;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#options = {
      memoryFor: options.memoryFor,
      concurrency: within(options.concurrency ?? 4, 1, 1_000, "concurrency"),
      once: options.once ?? false,
      quietMs: within(options.quietMs ?? 30_000, 0, 1e9, "quietMs"),
      idleMs: within(options.idleMs ?? 1_800_000, 0, 1e10, "idleMs"),
      pollMs: within(options.pollMs ?? 1_000, 10, 1e9, "pollMs"),
      onError: options.onError ?? warn,
    };
  }

  /** Works until `signal` is aborted or, with `once`, nothing is left. */
  async run(): Promise<JobReport> {
    const end = (): void => {
      for (const each of this.#givingUp) each.abort();
      this.#wake?.();
    };
    this.#signal.addEventListener("abort", end);
    try {
      while (!this.#signal.aborted) {
        const free = this.#options.concurrency - this.#running.size;
        const taken = free === 0 ? [] : await this.#take(free);
        for (const due of taken) this.#start(due);
        if (taken.length > 0) continue;
        if (this.#signal.aborted || (this.#options.once && this.#running.size === 0)) break;
        await this.#pause(free === 0);
      }
    } finally {
      await Promise.all(this.#running);
      this.#signal.removeEventListener("abort", end);
    }
    return this.#report;
  }

  async #take(most: number): Promise<DueUser[]> {
    try {
      return await this.#queue.take(most, this.#options.quietMs);
    } catch (thrown) {
      const error = thrown as MemoryError;
      if (this.#options.once || !error.retryable) throw error;
      this.#tell(error);
      return [];
    }
  }

  #start(due: DueUser): void {
    const running = this.#workFor(due).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Until one of those under way ends or, where there is room for more, a while has passed. */
  async #pause(isFull: boolean): Promise<void> {
    const over = new Promise<void>((resolve) => (this.#wake = resolve));
    // Workers that began together are not to look together.
    const timer = isFull ? undefined : setTimeout(() => this.#wake?.(), this.#options.pollMs * (0.75 + Math.random() / 2));
    await Promise.race([over, ...this.#running]);
    clearTimeout(timer);
  }

  /** Works one user off; never rejects. */
  async #workFor({ userId, changes }: DueUser): Promise<void> {
    const givenUp = new AbortController();
    this.#givingUp.add(givenUp);
    if (this.#signal.aborted) givenUp.abort();
    const release = this.#queue.keep(userId, () => givenUp.abort());
    const outcome = await this.#outcome(userId, changes, givenUp.signal);
    release();
    this.#givingUp.delete(givenUp);
    // Where this fails, the user is taken again as one whose worker is silent.
    await this.#queue.release(userId, outcome, this.#options.idleMs).catch((error: unknown) => this.#tell(error as MemoryError, userId));
  }

  async #outcome(userId: string, changes: string, signal: AbortSignal): Promise<Outcome> {
    let memory: WorkedMemory | undefined;
    try {
      if (signal.aborted) return { changes: null, waitMs: null, hasFailed: false };
      memory = await this.#options.memoryFor(userId);
      await memory.settled({ signal });
      const { nextRetryAt } = await memory.stats();
      await memory.close();
      this.#report.users += 1;
      return { changes, waitMs: nextRetryAt === null ? null : Math.max(nextRetryAt - Date.now(), 0), hasFailed: false };
    } catch (thrown) {
      await memory?.close().catch(() => undefined);
      if (signal.aborted) return { changes: null, waitMs: null, hasFailed: false };
      this.#report.failures += 1;
      this.#tell(toMemoryError(thrown, "engine_unavailable", "A user's memory could not be opened or worked off; see the error's cause."), userId);
      return { changes: null, waitMs: null, hasFailed: true };
    }
  }

  #tell(error: MemoryError, userId?: string): void {
    try {
      this.#options.onError(error, userId);
    } catch {
      // What the app's listener throws must not end the work.
    }
  }
}

function warn(error: MemoryError): void {
  console.warn(`throughline: background work failed (${error.code}). ${error.message}`);
}

function within(value: unknown, low: number, high: number, name: string): number {
  if (Number.isInteger(value) && (value as number) >= low && (value as number) <= high) return value as number;
  throw invalid(`option ${name} must be a whole number from ${low} to ${high}.`);
}

function invalid(message: string): MemoryError {
  return new MemoryError("invalid_config", `runJobs: ${message}`);
}
