/** Imports that are running, and stopping them: what is being imported would come back behind an erasure. */

import type { Session } from "./session.js";
import type { ImportInput, ImportOptions, ImportReport } from "./types.js";

/** The imports of one memory. */
export class RunningImports {
  readonly #session: Session;
  readonly #running = new Map<AbortController, Promise<unknown>>();

  constructor(session: Session) {
    this.#session = session;
  }

  /** Whether nothing is being imported. */
  get isEmpty(): boolean {
    return this.#running.size === 0;
  }

  /** Imports. */
  start(input: ImportInput, options: ImportOptions): Promise<ImportReport> {
    const stop = new AbortController();
    const { signal } = options;
    signal?.addEventListener("abort", () => stop.abort(signal.reason), { once: true });
    if (signal?.aborted) stop.abort(signal.reason);
    const running = this.#session.import(input, { ...options, signal: stop.signal });
    this.#running.set(stop, running);
    return running.finally(() => this.#running.delete(stop));
  }

  /** Stops them, and waits until nothing of them is written any more. */
  async stop(): Promise<void> {
    for (const stop of this.#running.keys()) stop.abort();
    await Promise.allSettled(this.#running.values());
  }
}
