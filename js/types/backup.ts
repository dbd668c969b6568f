import type { CallOptions } from "./conversations.js";

/** Options of `export`. */
export interface ExportOptions extends CallOptions {
  /**
   * Encrypts the file (AES-256-GCM, the key from the passphrase by PBKDF2 with 600,000 rounds). It cannot be read without
   * the passphrase, by nobody. Needs a secure context. Default: not encrypted.
   */
  encrypt?: { passphrase: string };
  /** Told at most about ten times a second, and once at the end. */
  onProgress?: (progress: ExportProgress) => void;
}

/** Options of `export` into a stream, for files that are too large for a Blob. */
export interface ExportToOptions extends ExportOptions {
  /** Takes the file's bytes; closed at the end, aborted where the export fails. */
  to: WritableStream<Uint8Array>;
}

/** How far an export is. */
export interface ExportProgress {
  /** Conversations written. */
  conversations: number;
  /** Messages written. */
  messages: number;
  /** Messages that there are, about. */
  totalMessages: number;
}

/** What an export wrote. */
export interface ExportReport {
  /** Conversations in the file. */
  conversations: number;
  /** Messages in it, of every branch, and places of removed ones. */
  messages: number;
  /** Facts in it, those that are history included. */
  facts: number;
  /** Records that could not be read, and so are not in the file: the store is damaged. The list is in the file too. */
  skipped: ExportSkipped[];
}

/** A record that could not be read. */
export interface ExportSkipped {
  /** The store, and where in it: ids and positions. */
  where: string;
  /** `unreadable`: it is not as it was written; `missing`: it is not there. */
  reason: "unreadable" | "missing";
}

/** A backup file, with what was written into it. */
export interface Backup extends Blob {
  /** What is in it. */
  readonly report: ExportReport;
}
