/** In which order the writes to each conversation are carried out: that of the calls. */

/** Writes to one conversation: one, or appends in a row. `tail` is their end, `after` what they wait for; neither rejects. */
interface Writes {
  tail: Promise<unknown>;
  after: Promise<unknown> | undefined;
  areAppends: boolean;
}

/** The writes of one memory that are under way. */
export class WriteOrder {
  readonly #latest = new Map<string, Writes>();

  /** Starts a write; `start` is given what it is to wait for. */
  add<T>(conversationId: string, isAppend: boolean, start: (after: Promise<unknown> | undefined) => Promise<T>): Promise<T> {
    const before = this.#latest.get(conversationId);
    // Appends in a row do not wait for each other: the engine keeps their order, and stores them together where it can.
    const joined = isAppend && before?.areAppends === true ? before : undefined;
    const after = joined === undefined ? before?.tail : joined.after;
    const call = start(after);
    const settled = call.catch(() => undefined);
    const tail = joined === undefined ? settled : Promise.all([joined.tail, settled]);
    const writes: Writes = { tail, after, areAppends: isAppend };
    this.#latest.set(conversationId, writes);
    void tail.then(() => {
      if (this.#latest.get(conversationId) === writes) this.#latest.delete(conversationId);
    });
    return call;
  }

  /** Resolves when all that was started has ended. */
  async settled(): Promise<void> {
    await Promise.all([...this.#latest.values()].map(({ tail }) => tail));
  }
}
