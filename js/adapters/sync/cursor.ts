/** How far one peer and this store have seen each other; kept in the store itself, so it survives restarts. */

import type { Changes } from "../../changes.js";

/** Milliseconds between two times that a cursor is kept while an exchange goes on. */
const KEEP_MS = 1_000;

interface Kept {
  store: string;
  generation: number;
  ours: Record<string, string>;
  theirs: Record<string, string>;
  erasedOurs: number;
  erasedTheirs: number;
  factsOurs: string;
  factsTheirs: string;
}

/** A cursor. What it says less than is true costs time and no more: every piece can be taken again. */
export class Cursor {
  /** The peer's store. */
  store = "";
  generation = 0;
  /** Versions of our conversations that the peer has seen, by mark. */
  ours = new Map<string, string>();
  /** Versions of the peer's conversations that we have seen, by its mark. */
  theirs = new Map<string, string>();
  /** Marks of erased conversations that the peer has seen, and that we have. */
  erasedOurs = 0;
  erasedTheirs = 0;
  /** Digests of the facts on both sides after the last exchange; they differ where one side may not have some. */
  factsOurs = "";
  factsTheirs = "";
  readonly #changes: Changes;
  readonly #peer: string;
  #keptAt = 0;

  private constructor(changes: Changes, peer: string) {
    this.#changes = changes;
    this.#peer = peer;
  }

  /** The cursor as it was kept last. */
  static async load(changes: Changes, peer: string): Promise<Cursor> {
    const cursor = new Cursor(changes, peer);
    const kept = (await changes.load(peer)) as Kept | null;
    if (kept === null) return cursor;
    cursor.ours = new Map(Object.entries(kept.ours));
    cursor.theirs = new Map(Object.entries(kept.theirs));
    const { store, generation, erasedOurs, erasedTheirs, factsOurs, factsTheirs } = kept;
    return Object.assign(cursor, { store, generation, erasedOurs, erasedTheirs, factsOurs, factsTheirs });
  }

  /** Begins anew with a store that was not met before, or from which everything was erased. */
  reset(store: string, generation: number): void {
    Object.assign(this, { store, generation, ours: new Map(), theirs: new Map(), erasedOurs: 0, erasedTheirs: 0, factsOurs: "", factsTheirs: "" });
  }

  /** Keeps it; without `now` only where it was not kept for a while. */
  async keep(now: boolean): Promise<void> {
    const time = Date.now();
    if (!now && time - this.#keptAt < KEEP_MS) return;
    this.#keptAt = time;
    const { store, generation, erasedOurs, erasedTheirs, factsOurs, factsTheirs } = this;
    const kept: Kept = {
      store, generation, ours: Object.fromEntries(this.ours), theirs: Object.fromEntries(this.theirs), erasedOurs, erasedTheirs, factsOurs, factsTheirs,
    };
    await this.#changes.save(this.#peer, kept);
  }
}
