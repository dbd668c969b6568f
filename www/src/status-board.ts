/** What the page tells its panels: that something changed, and how it stands. */

import type { Status, Topic } from "./page-state.ts";
import { tellError, type ToldError } from "./wording.ts";

/** Listeners by topic, and the status line. */
export class StatusBoard {
  status: Status = { kind: "busy", words: "Opening the memory" };
  readonly #listeners = new Map<Topic, Set<() => void>>();

  /** Calls the listener after every change of these topics. Answers with a function that ends it. */
  subscribe(topics: readonly Topic[], listener: () => void): () => void {
    for (const topic of topics) {
      const listeners = this.#listeners.get(topic) ?? new Set();
      this.#listeners.set(topic, listeners.add(listener));
    }
    return () => {
      for (const topic of topics) this.#listeners.get(topic)?.delete(listener);
    };
  }

  /** Tells the listeners of a topic. */
  changed(...topics: Topic[]): void {
    for (const topic of topics) for (const listener of this.#listeners.get(topic) ?? []) listener();
  }

  /** Sets the status line. */
  say(status: Status): void {
    this.status = status;
    this.changed("status");
  }

  /** Tells a failure in the status line. */
  fail(error: unknown): void {
    this.tell(tellError(error));
  }

  /** Tells a failure that has its words already. */
  tell(error: ToldError): void {
    this.say({ kind: "error", words: error.words, error });
  }

  /** Runs what the person asked for and tells its failure; an earlier failure is no longer told after a success. */
  async attempt(action: () => Promise<unknown>): Promise<boolean> {
    const before = this.status;
    const done = await this.inBackground(action);
    if (done && before.kind === "error" && this.status === before && this.isUsable()) this.say({ kind: "ready", words: "Ready" });
    return done;
  }

  /** Runs what nobody asked for and tells its failure. True when it went well. */
  async inBackground(action: () => Promise<unknown>): Promise<boolean> {
    try {
      await action();
      return true;
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  /** Whether all is well once no failure is told. */
  protected isUsable(): boolean {
    return true;
  }
}
