/** The lines of a backup file that are not records (docs/backup.md), and what counts as one. */

/** Names the format in the first line. */
export const FORMAT = "throughline-backup";
/** Version of the format: a reader refuses a higher one. */
export const VERSION = 1;
/** Names an encrypted file in its first line. */
export const ENCRYPTED_FORMAT = "throughline-backup-encrypted";
/** Bytes of lines after which their hash is written. */
export const CHECKED_BYTES = 1024 * 1024;

/** The kinds of records. */
export const KINDS = ["conversation", "message", "removedId", "summary", "earlierSummary", "summaryPart", "episode", "note", "project", "optIn", "fact", "factSource", "audit", "skipped"] as const;

/** One of {@link KINDS}. */
export type Kind = (typeof KINDS)[number];

/** How many records of each kind there are. */
export type Counts = Record<Kind, number>;

/** Nothing yet. */
export function noCounts(): Counts {
  return Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Counts;
}

/** The first line. */
export const HEADER = JSON.stringify({ format: FORMAT, version: VERSION });
