/** How much there is or was: messages of every branch, and conversations. */
export interface StoredFigures {
  /** Messages, those of every branch. */
  messages: number;
  /** Conversations. */
  conversations: number;
}

/**
 * Damage of storage, in numbers.
 *
 * | kind | what happened |
 * |---|---|
 * | `removed` | the database is gone, and an empty one is in its place: site data was cleared or evicted, or the browser threw a damaged database away |
 * | `replaced` | another database is in its place |
 * | `truncated` | it lacks what was written last |
 * | `damaged` | records are missing or cannot be read |
 */
export interface StorageDamage {
  /** What happened, see the table. */
  kind: "removed" | "replaced" | "truncated" | "damaged";
  /** What there was, as it was last known outside the database; `null` where nothing was known there. */
  expected: StoredFigures | null;
  /** What there was when the damage was found; `null` where it was found later, while reading. */
  found: StoredFigures | null;
  /** At least so many messages are gone; `null` where nobody can tell. */
  lost: number | null;
  /** Messages whose records are missing within conversations that are there. */
  missing: number;
  /** Records that are there and cannot be read as they were written; of messages, those that were read so far. */
  unreadable: { conversations: number; messages: number; facts: number; notes: number };
  /** When it was found, milliseconds since 1970. */
  at: number;
  /** Whether `storage.acknowledgeDamage` was called. */
  acknowledged: boolean;
}

/**
 * What `createMemory` does where data was lost: `"reject"` (`storage_corrupt`, with the {@link StorageDamage} as `details`;
 * nothing is changed) or `"open"`: go on with what is left.
 */
export type DataLossDecision = "reject" | "open";

/**
 * A place off this device where a short text can be kept for this user and device: numbers only, so that even after all site
 * data was cleared it can be told that there was something.
 */
export interface StorageHint {
  /** The text that was saved last; `null` or `undefined` where there is none. */
  load(): Promise<string | null | undefined> | string | null | undefined;
  /** Keeps the text in place of the former one; `null`: everything was erased on the user's word. */
  save(text: string | null): Promise<void> | void;
}

/** Figures about where the data is kept. What the platform does not tell is `null`. */
export interface StorageInfo {
  /** Records outlive the page or process. */
  durable: boolean;
  /** The browser promised not to evict it. */
  persisted: boolean | null;
  /** Everything is gone when this private window is closed. Chromium never tells. */
  ephemeral: boolean | null;
  /** This is a frame in another site's page: it has a storage of its own, and sees nothing of what the user has elsewhere. */
  partitioned: boolean | null;
  /** Bytes in use by this site. */
  bytes: number | null;
  /** Bytes that this site may use. */
  quotaBytes: number | null;
  /** Damage that was found and not acknowledged. */
  damage: StorageDamage | null;
}
