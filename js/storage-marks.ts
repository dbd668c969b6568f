/**
 * What is known of a database outside of it: its name and how much was known to be on disk. Kept where the database is not, so
 * that its loss is noticed: in localStorage, in workers in the Cache API, and with the app where it gives a place.
 */

import { contentHash } from "./content-hash.js";
import type { StorageHint } from "./types.js";

/** What the engine says of its store. Numbers only. */
export interface Mark {
  storeId: string;
  generation: number;
  positions: number;
  born: number;
  facts: number;
  messages: number;
  conversations: number;
}

/** What only rises within a generation. */
const RISING = ["positions", "born", "facts"] as const;

/** Pause between two calls of the app's own place, in milliseconds. */
const HINT_PAUSE_MS = 10_000;

/** One user's marks. */
export class StorageMarks {
  readonly #key: string;
  readonly #hint: StorageHint | undefined;
  #hinted: string | undefined;
  #hintedAt = Number.NEGATIVE_INFINITY;

  /** The user's id is in the key only as a hash. */
  constructor(name: string, userId: string, hint: StorageHint | undefined) {
    this.#key = `throughline:mark:${contentHash(name, userId)}`;
    this.#hint = hint;
  }

  /** The marks that are kept. */
  async load(): Promise<Mark[]> {
    const here = localStore() === undefined ? await this.#loadFromCache() : this.#loadLocal();
    const hinted = await this.#loadHint();
    return [here, hinted].filter((mark) => mark !== undefined);
  }

  /**
   * Keeps a mark, unless the one that is there says more. One of another store is replaced only with `replace`: else a tab that
   * has not heard of an erasure would bring its mark back.
   */
  save(mark: Mark, replace = false): void {
    const local = localStore();
    if (local === undefined) void this.#saveToCache(mark, replace);
    else {
      const kept = joined(this.#loadLocal(), mark, replace);
      if (kept !== undefined) attempt(() => local.setItem(this.#key, JSON.stringify(kept)));
    }
    this.#saveHint(mark, replace);
  }

  /** Forgets everything: the database is about to be erased on the user's word. */
  async clear(): Promise<void> {
    attempt(() => localStore()?.removeItem(this.#key));
    await this.#withCache((cache) => cache.delete(this.#url()));
    this.#hinted = undefined;
    await settle(() => this.#hint?.save(null));
  }

  #loadLocal(): Mark | undefined {
    return readMark(attempt(() => localStore()?.getItem(this.#key)));
  }

  async #loadFromCache(): Promise<Mark | undefined> {
    return readMark(await this.#withCache(async (cache) => (await cache.match(this.#url()))?.text()));
  }

  async #saveToCache(mark: Mark, replace: boolean): Promise<void> {
    const kept = joined(await this.#loadFromCache(), mark, replace);
    if (kept !== undefined) await this.#withCache((cache) => cache.put(this.#url(), new Response(JSON.stringify(kept))));
  }

  async #withCache<T>(work: (cache: Cache) => Promise<T>): Promise<T | undefined> {
    // Node has none, and neither have insecure contexts.
    const { caches } = globalThis as { caches?: CacheStorage };
    if (caches === undefined) return undefined;
    return settle(async () => work(await caches.open("throughline")));
  }

  #url(): string {
    return `/${encodeURIComponent(this.#key)}`;
  }

  async #loadHint(): Promise<Mark | undefined> {
    const text = await settle(() => this.#hint?.load());
    this.#hinted = text ?? undefined;
    return readMark(text);
  }

  #saveHint(mark: Mark, replace: boolean): void {
    const now = Date.now();
    if (this.#hint === undefined || (!replace && now - this.#hintedAt < HINT_PAUSE_MS)) return;
    const kept = joined(readMark(this.#hinted), mark, true);
    const text = JSON.stringify(kept);
    if (text === this.#hinted) return;
    this.#hinted = text;
    this.#hintedAt = now;
    void settle(() => this.#hint?.save(text));
  }
}

/** The mark to keep; `undefined`: the one that is there stays. */
function joined(kept: Mark | undefined, mark: Mark, replace: boolean): Mark | undefined {
  if (kept?.storeId !== mark.storeId) return replace ? mark : undefined;
  if (kept.generation !== mark.generation) return kept.generation > mark.generation ? undefined : mark;
  // A memory whose database was taken away counts nothing any more; what it had is what is lost.
  const isBehind = RISING.some((name) => mark[name] < kept[name]);
  const [positions, born, facts] = RISING.map((name) => Math.max(kept[name], mark[name])) as [number, number, number];
  return { ...(isBehind ? kept : mark), positions, born, facts };
}

/** Pages have it, unless the browser forbids it; workers do not. */
function localStore(): globalThis.Storage | undefined {
  // Node warns where it is only looked at.
  if (typeof document === "undefined") return undefined;
  return attempt(() => globalThis.localStorage);
}

function readMark(text: string | null | undefined): Mark | undefined {
  if (typeof text !== "string" || text === "") return undefined;
  return attempt(() => {
    const { storeId, generation, positions, born, facts, messages, conversations } = JSON.parse(text) as Mark;
    const numbers = [generation, positions, born, facts, messages, conversations];
    if (typeof storeId !== "string" || !numbers.every((number) => Number.isSafeInteger(number) && number >= 0)) return undefined;
    return { storeId, generation, positions, born, facts, messages, conversations };
  });
}

/** Whatever the platform or the app throws: then there is no mark. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

async function settle<T>(work: () => Promise<T> | T): Promise<T | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
}
