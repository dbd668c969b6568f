/**
 * A storage that the app gives, as the engine calls it: flat lists become objects and back (src/wasm/external.rs), and whatever
 * the storage does (throws anything, answers nonsense) arrives at the engine as a usable answer or as a typed failure.
 */

import type { EngineStorage } from "./engine-glue.js";
import { entryOf, searchPort } from "./external-search.js";
import { MemoryError, closed, isMemoryError } from "./errors.js";
import type { ExternalStorageOptions, KeyedRecord, OpenedStorage, RecordAddress, RecordCommit, RecordKey, RecordRange, StoredRecord } from "./types.js";

/** One memory's hold on the records of its user. */
export class ExternalStore {
  readonly #storage: ExternalStorageOptions;
  readonly #userId: string;
  #opened: OpenedStorage | undefined;
  /** What it failed with last. */
  failure: MemoryError | undefined;

  constructor(storage: ExternalStorageOptions, userId: string) {
    this.#storage = storage;
    this.#userId = userId;
  }

  /** Opens the records anew, for an engine that is about to be. */
  async open(): Promise<EngineStorage> {
    this.close();
    const opened = await this.#typed(() => this.#storage.open(this.#userId));
    this.#opened = opened;
    const call = async <Answer>(work: () => Promise<Answer>): Promise<Answer> => {
      if (this.#opened !== opened) throw closed();
      return this.#typed(work);
    };
    return {
      durable: this.#storage.durable,
      get: (list, signal) => call(async () => {
        const records = await opened.get(groups(list, 2).map(addressOf), { signal });
        if (!Array.isArray(records)) throw foreign();
        return records.map((record: StoredRecord | null | undefined) => (record === null || record === undefined ? undefined : checked(record)));
      }),
      scan: ([store, lower, lowerOpen, upper, limit, reverse], signal) => call(async () => {
        const range = rangeOf([store, lower, lowerOpen, upper]);
        const found = await opened.scan({ ...range, ...(limit !== undefined && { limit: limit as number }), reverse: reverse as boolean }, { signal });
        if (!Array.isArray(found)) throw foreign();
        return (found as KeyedRecord[]).flatMap(({ key, record }) => [key, checked(record)]);
      }),
      count: (range, signal) => call(() => opened.count(rangeOf(range), { signal })),
      commit: (lists) => call(() => opened.commit(commitOf(lists))),
      destroy: () => call(() => opened.destroy()),
      close: () => this.#opened === opened && this.close(),
      ...(opened.search !== undefined && { search: searchPort(opened.search, call) }),
    };
  }

  /** Releases what is open. */
  close(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    opened?.close();
  }

  async #typed<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      if (isMemoryError(error, "closed")) throw error;
      throw (this.failure = isMemoryError(error) ? error : new MemoryError("storage_unavailable", "The storage that was given failed; see the error's cause.", { cause: error }));
    }
  }
}

function groups(list: readonly unknown[], width: number): (readonly unknown[])[] {
  return Array.from({ length: list.length / width }, (_, index) => list.slice(index * width, (index + 1) * width));
}

function addressOf([store, key]: readonly unknown[]): RecordAddress {
  return { store: store as string, key: key as RecordKey };
}

function rangeOf([store, lower, lowerOpen, upper]: readonly unknown[]): RecordRange {
  return {
    store: store as string,
    ...(lower !== undefined && { lower: lower as RecordKey }),
    lowerOpen: lowerOpen as boolean,
    ...(upper !== undefined && { upper: upper as RecordKey }),
  };
}

function commitOf([checks, ranges, deletes, puts, strict]: readonly unknown[]): RecordCommit {
  const lists = [checks, ranges, deletes, puts] as unknown[][];
  const [checked, emptied, removed, put] = lists.map((list, index) => groups(list, [3, 4, 2, 4][index] as number)) as unknown[][][];
  return {
    checks: (checked as unknown[][]).map((each) => ({ ...addressOf(each), body: each[2] as string | null })),
    deleteRanges: (emptied as unknown[][]).map(rangeOf),
    deletes: (removed as unknown[][]).map(addressOf),
    puts: (put as unknown[][]).map((each) => {
      const written = { ...addressOf(each), record: each[2] as StoredRecord };
      return each[3] === undefined ? written : { ...written, entry: entryOf(each[3] as Uint8Array[]) };
    }),
    strict: strict as boolean,
  };
}

function checked(record: StoredRecord): StoredRecord {
  if (typeof record?.body !== "string" || !(record.blob === undefined || record.blob instanceof Uint8Array)) throw foreign();
  return record;
}

function foreign(): MemoryError {
  return new MemoryError("storage_unavailable", "The storage that was given answered something else than was asked.");
}
