/**
 * Puts on disk what was acknowledged before it was (`policy.durability: "relaxed"`): one strict write follows at most a second
 * or twenty messages later, and at once where the page is hidden, since it may be frozen or discarded without a word.
 */

import { isPageHidden, onPageChange } from "./page-life.js";

/** Messages wait at most so many milliseconds for the disk. */
const LONGEST_MS = 1_000;
/** So many messages are not waited with. */
const MOST_MESSAGES = 20;

/** Keeps what is not on disk yet within bounds. */
export class Barrier {
  readonly #flush: () => Promise<unknown>;
  readonly #failed: (error: unknown) => void;
  readonly #listening = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #unsynced = 0;
  #isRunning = false;

  /** `flush` puts all on disk; `failed` hears why it could not. It is then tried again. */
  constructor(flush: () => Promise<unknown>, failed: (error: unknown) => void) {
    this.#flush = flush;
    this.#failed = failed;
    onPageChange(({ isHidden }) => isHidden && this.#start(), this.#listening.signal);
  }

  /** So many messages are acknowledged and not on disk. To be called after every call of the engine. */
  note(unsynced: number): void {
    this.#unsynced = unsynced;
    if (unsynced === 0) this.#clear();
    // Timers of a hidden page are slow, and it may not come to life again.
    else if (unsynced >= MOST_MESSAGES || isPageHidden()) this.#start();
    else this.#later();
  }

  /** No barrier begins any more. */
  close(): void {
    this.#listening.abort();
    this.#clear();
  }

  #start(): void {
    if (this.#isRunning || this.#unsynced === 0 || this.#listening.signal.aborted) return;
    this.#clear();
    this.#isRunning = true;
    this.#flush().then(
      () => {
        this.#isRunning = false;
        // More may have come meanwhile.
        this.note(this.#unsynced);
      },
      (error: unknown) => {
        this.#isRunning = false;
        this.#later();
        this.#failed(error);
      },
    );
  }

  #later(): void {
    if (this.#listening.signal.aborted) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#start();
    }, LONGEST_MS);
  }

  #clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
