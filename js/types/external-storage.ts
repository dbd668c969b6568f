/** A record's key: its components in order. Numbers are whole, from 0, and sort before text; text sorts by UTF-16 code units. A shorter key sorts before those that it begins. */
export type RecordKey = readonly (string | number)[];

/** What is stored under a key. */
export interface StoredRecord {
  /** Well-formed text, to be given back to the letter. */
  readonly body: string;
  /** Bytes beside it, where it has any; none and no bytes are two things. */
  readonly blob?: Uint8Array;
}

/** Where a record is. */
export interface RecordAddress {
  /** One of 16 names that the engine knows (`"messages"`, `"facts"`, ...); a storage keeps stores of any name. */
  readonly store: string;
  /** Its key there. */
  readonly key: RecordKey;
}

/** Records of a store whose keys are in an interval. */
export interface RecordRange {
  /** The store. */
  readonly store: string;
  /** The lowest key; left out: from the first. */
  readonly lower?: RecordKey;
  /** The lowest key is itself not in the range. */
  readonly lowerOpen: boolean;
  /** The key after the range, itself not in it; left out: to the last. */
  readonly upper?: RecordKey;
}

/** What is read of a range. */
export interface RecordQuery extends RecordRange {
  /** Most records. Left out: all. */
  readonly limit?: number;
  /** The highest key first. */
  readonly reverse: boolean;
}

/** A record with its key. */
export interface KeyedRecord {
  /** Its key. */
  readonly key: RecordKey;
  /** What is stored. */
  readonly record: StoredRecord;
}

/**
 * One transaction: where every check holds, all is written, else nothing. In this order: ranges are removed, then single
 * records, then records are put; of two puts on a key the later one stays.
 */
export interface RecordCommit {
  /** The record's body must still be this text; `null`: there must be none. */
  readonly checks: readonly (RecordAddress & { readonly body: string | null })[];
  /** Whole ranges to remove. */
  readonly deleteRanges: readonly RecordRange[];
  /** Single records to remove, which need not be there. */
  readonly deletes: readonly RecordAddress[];
  /** Records to write, in place of what is there; each message with what it is searched by, where the storage searches. */
  readonly puts: readonly (RecordAddress & { readonly record: StoredRecord; readonly entry?: MessageEntry })[];
  /** It, and all before it, must outlive a crash and a power cut before the answer is given. */
  readonly strict: boolean;
}

/** What a storage that searches keeps of a message beside its record, made by the engine. It goes with the message, and is replaced with it. */
export interface MessageEntry {
  /** What the engine keeps of the message in memory; its form is the engine's own. */
  readonly line: Uint8Array;
  /** Its words in order, as the engine compares them with a quotation. */
  readonly marks: Uint8Array;
  /** The terms that it holds: hashes of 64 bits, as signed numbers. */
  readonly terms: readonly bigint[];
  /** How often it holds each of them, 1 to 65,535. */
  readonly frequencies: readonly number[];
}

/** Messages of a conversation, both ends included. */
export interface MessageRange {
  /** The conversation. */
  readonly conversationId: string;
  /** The first position. */
  readonly from: number;
  /** The last position. */
  readonly to: number;
}

/** What is looked up for one question. */
export interface SearchLookup {
  /** The terms whose holders are wanted, all of them. */
  readonly terms: readonly bigint[];
  /** The marks of every message that holds one of the terms are wanted too. */
  readonly marks: boolean;
  /** With the vector: the embedder as records of vectors name it (`model` in their body). */
  readonly model?: string;
  /** The question's vector: the similarity of every vector of the model is wanted. */
  readonly vector?: Float32Array;
}

/** What was found in one conversation. */
export interface SearchFinding {
  /**
   * What `bytes` tells of each message behind its position, which takes four bytes, highest first. `"term"`: how often it holds the
   * term, two bytes, highest first. `"marks"`: their length in four bytes, highest first, and they. `"near"`: the cosine of its nearest
   * vector, a float of four bytes, highest first.
   */
  readonly kind: "term" | "marks" | "near";
  /** Of `"term"`: its place in the lookup, from 0. */
  readonly place?: number;
  /** The conversation. */
  readonly conversationId: string;
  /** The messages, in any order. */
  readonly bytes: Uint8Array;
}

/**
 * Search where the records are, so that the engine holds no index: it asks for what a question needs, and ranks that with its own
 * code. What is found must be what is stored: contexts are then those of any other storage.
 */
export interface StorageSearch {
  /** It compares vectors, quantised as the engine does it. Where it does not, it is used only by a memory without an embedder. */
  readonly vectors: boolean;
  /**
   * The lines of messages, in order: of each its position and the line's length, four bytes each, highest first, and the line. A
   * message without an entry is left out; the engine reads it, and puts it again with one.
   */
  lines(ranges: readonly MessageRange[], options: RecordReadOptions): Promise<readonly Uint8Array[]>;
  /** Whatever is found, in any order. */
  find(lookup: SearchLookup, options: RecordReadOptions): Promise<readonly SearchFinding[]>;
}

/** Options of a reading call. */
export interface RecordReadOptions {
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/**
 * One user's records, opened. A call that cannot be carried out rejects with a `MemoryError`, best one of the codes
 * `storage_unavailable`, `storage_blocked`, `storage_conflict`, `storage_quota_exceeded`, `storage_corrupt`, `schema_too_new`,
 * `timeout`; of anything else the app is told `storage_unavailable`. Each sees what every commit before it wrote, whoever wrote it.
 */
export interface OpenedStorage {
  /** The records of these addresses, in their order, of one moment; `null` where there is none. */
  get(addresses: readonly RecordAddress[], options: RecordReadOptions): Promise<readonly (StoredRecord | null)[]>;
  /** The records of a range, in the order of their keys. */
  scan(query: RecordQuery, options: RecordReadOptions): Promise<readonly KeyedRecord[]>;
  /** How many records are in a range. */
  count(range: RecordRange, options: RecordReadOptions): Promise<number>;
  /** Carries a commit out: false, and nothing is changed, where a check does not hold. */
  commit(commit: RecordCommit): Promise<boolean>;
  /** Removes everything of this user. Every later call of each who has it open rejects with `storage_unavailable`. */
  destroy(): Promise<void>;
  /** Releases what it holds. It is not called again after that. */
  close(): void;
  /** Searches what is stored. Left out: the engine does, with an index that it keeps among the records. */
  readonly search?: StorageSearch;
}

/** Brings what one memory tells to the others of its user, as a `BroadcastChannel` does. */
export interface StorageChannel {
  /** Tells the others, not itself. */
  postMessage(message: unknown): void;
  /** Hears what the others tell. */
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  /** Neither tells nor hears any more. */
  close(): void;
}

/** What a storage of the app's own is made of; see `externalStorage`. */
export interface ExternalStorageOptions {
  /** Names the database, 1 to 200 characters: what has the same name in a process is taken for the same one. */
  name: string;
  /** Records outlive the process. */
  durable: boolean;
  /** Opens the records of a user, and makes a place for them where there is none. Rejects as {@link OpenedStorage} says. */
  open(userId: string): Promise<OpenedStorage>;
  /**
   * Takes a lock among all that have the user's data open, where it is free: a function that releases it, else `null`. Only who
   * may begin background work depends on it, nothing else. Left out: locks of this process.
   */
  tryLock?(userId: string, lock: string): Promise<(() => void) | null>;
  /** A channel between all that have the database open. Left out: a `BroadcastChannel`, which reaches this process. */
  channel?(name: string): StorageChannel;
}

/** A storage of the app's own, e.g. a database of its server. Made by `externalStorage` or by an entry such as `throughline/postgres`. */
export interface ExternalStorage {
  /** Tells it from other storage. */
  readonly kind: "external";
  /** Names the database. */
  readonly name: string;
}
