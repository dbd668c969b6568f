/** What the cases of the storage conformance suite share: a user's records, and words for what is not as it should be. */

import type {
  ExternalStorageOptions, KeyedRecord, OpenedStorage, RecordAddress, RecordCommit, RecordKey, RecordQuery, RecordRange, StoredRecord,
} from "../../types/external-storage.js";

/** What of a storage is examined. */
export type ExaminedStorage = Pick<ExternalStorageOptions, "open" | "tryLock" | "channel">;

/** What a case does; it rejects where the storage does not keep a promise. */
export type Examination = (place: Place) => Promise<void>;

/** The stores that the engine has. */
export const STORES = [
  "meta", "conversations", "messages", "message_ids", "summaries", "summary_heads", "facts", "fact_sources", "episodes", "notes", "embeddings",
  "segments", "segment_chunks", "jobs", "audit", "changes",
] as const;

const WHOLE = { lowerOpen: false, reverse: false };
const SHOWN_CHARACTERS = 300;

/** A handle on a user's records, in the words of the cases. */
export class Handle {
  readonly opened: OpenedStorage;
  readonly #signal = new AbortController().signal;

  constructor(opened: OpenedStorage) {
    this.opened = opened;
  }

  get(addresses: readonly RecordAddress[]): Promise<readonly (StoredRecord | null)[]> {
    return this.opened.get(addresses, { signal: this.#signal });
  }

  scan(store: string, query: Partial<RecordQuery> = {}): Promise<readonly KeyedRecord[]> {
    return this.opened.scan({ ...WHOLE, ...query, store }, { signal: this.#signal });
  }

  count(store: string, { lowerOpen = false, ...range }: Partial<RecordRange> = {}): Promise<number> {
    return this.opened.count({ ...range, lowerOpen, store }, { signal: this.#signal });
  }

  commit(parts: Partial<RecordCommit>): Promise<boolean> {
    return this.opened.commit({ checks: [], deleteRanges: [], deletes: [], puts: [], strict: false, ...parts });
  }

  /** Writes records, which is to succeed. */
  async put(...puts: RecordCommit["puts"]): Promise<void> {
    same("the answer of a commit without checks", await this.commit({ puts }), true);
  }

  async keys(store: string, query: Partial<RecordQuery> = {}): Promise<RecordKey[]> {
    return (await this.scan(store, query)).map(({ key }) => key);
  }

  async body(store: string, key: RecordKey): Promise<string | null> {
    const [record] = await this.get([{ store, key }]);
    return record?.body ?? null;
  }
}

/** Where a case works: a user of its own. */
export class Place {
  readonly storage: ExaminedStorage;
  readonly userId: string;
  readonly #handles: Handle[] = [];

  constructor(storage: ExaminedStorage, userId: string) {
    this.storage = storage;
    this.userId = userId;
  }

  /** Another handle on the user's records. */
  async open(userId = this.userId): Promise<Handle> {
    const handle = new Handle(await this.storage.open(userId));
    this.#handles.push(handle);
    return handle;
  }

  /** Closes a handle, which is not used any more. */
  close(handle: Handle): void {
    this.#handles.splice(this.#handles.indexOf(handle), 1);
    handle.opened.close();
  }

  /** Runs a case between two destructions. */
  async examine(examination: Examination): Promise<void> {
    await this.destroy();
    try {
      await examination(this);
    } finally {
      for (const handle of this.#handles.splice(0)) handle.opened.close();
      await this.destroy();
    }
  }

  /** Removes all records of a user. */
  async destroy(userId = this.userId): Promise<void> {
    const opened = await this.storage.open(userId);
    await opened.destroy();
    opened.close();
  }
}

/** A record to be put. */
export function record(store: string, key: RecordKey, body: string, blob?: Uint8Array): RecordCommit["puts"][number] {
  return { store, key, record: blob === undefined ? { body } : { body, blob } };
}

/** Ends the case unless both are equal, as plain data. */
export function same(what: string, seen: unknown, expected: unknown): void {
  const [saw, wanted] = [shown(seen), shown(expected)];
  if (saw === wanted) return;
  const at = Math.max(0, [...saw].findIndex((character, index) => character !== [...wanted][index]) - SHOWN_CHARACTERS / 3);
  throw new Error(`${what}: ${saw.slice(at, at + SHOWN_CHARACTERS)} in place of ${wanted.slice(at, at + SHOWN_CHARACTERS)}`);
}

/** Waits for both, also where one fails: nothing may go on behind the end of a case. */
export async function together(...both: Promise<void>[]): Promise<void> {
  await Promise.allSettled(both);
  await Promise.all(both);
}

/** One text for what is equal: bytes are bytes in whatever array, and a field that is `undefined` is none. */
function shown(value: unknown): string {
  return (
    JSON.stringify(value, function (this: Record<string, unknown>, name, part: unknown) {
      // Asked of the holder: a Buffer of Node becomes something else before this sees it.
      const bytes = this[name];
      if (bytes instanceof Uint8Array) return `bytes ${bytes.join(" ")}`;
      if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
      return Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)));
    }) ?? String(value)
  );
}

/** The order of keys that the port asks for. */
export function compareKeys(one: RecordKey, other: RecordKey): number {
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const [a, b] = [one[at], other[at]];
    if (a === b) continue;
    if (a === undefined || b === undefined) return a === undefined ? -1 : 1;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a < b ? -1 : 1;
  }
  return 0;
}
