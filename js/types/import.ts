import type { CallOptions } from "./conversations.js";

/** An app whose exports are read, a plain file of messages (`"messages"`), or a backup of this package (`"throughline"`). */
export type ImportSource =
  | "throughline"
  | "chatgpt"
  | "claude"
  | "gemini"
  | "ai-studio"
  | "grok"
  | "open-webui"
  | "librechat"
  | "sillytavern"
  | "sharegpt"
  | "messages";

/**
 * What is imported: a file (plain, gzip or zip), its bytes, a stream of them, or several files (the shards of an export,
 * an unpacked folder as a file input gives it).
 */
export type ImportInput =
  | Blob
  | ArrayBuffer
  | Uint8Array
  | ReadableStream<Uint8Array>
  | readonly (Blob | ArrayBuffer | Uint8Array)[]
  | FileList;

/** Options of `import`. */
export interface ImportOptions extends CallOptions {
  /** Told at most about ten times a second, and once at the end of each phase. */
  onProgress?: (progress: ImportProgress) => void;
  /** Reads only what is of this app. Default: detected from what is in each file; names of files say nothing. */
  source?: ImportSource;
  /** Project that new conversations are put into; those of a backup keep their own. Default: none. */
  projectId?: string;
  /**
   * False reads in this thread instead of a worker, in slices of 8 ms. Default true: a worker where one can be made (not
   * in Node, nor under a Content-Security-Policy without `worker-src blob:`). A function makes the worker, for pages whose
   * policy allows only files: a new `Worker` of the package's file `throughline/import-worker.js` each time it is called.
   */
  worker?: boolean | (() => Worker);
  /** Of an encrypted backup. */
  passphrase?: string;
  /**
   * Whether a backup is the user's own: what it says about the user is believed then, and stays as it was. Else it is as
   * good as any app's export: its facts are proposals of trust `imported`, no model is asked about its messages by itself,
   * and its summaries are made anew. Default: true for an encrypted one, since nobody without the passphrase can have made
   * or changed it; false for others, since anybody can. Of a file that somebody else gave, with its passphrase, say false.
   */
  trusted?: boolean;
  /**
   * True: what the user erased comes in all the same, conversations whole, messages as a branch of theirs. Default false: it
   * is left out, and told in `skipped`. To be said only where the user wants that.
   */
  bringBack?: boolean;
  /** Most bytes of JSON or HTML after unpacking, all files together, from 1. Default 268,435,456 (256 MB). */
  maxBytes?: number;
}

/** How far an import is. */
export interface ImportProgress {
  /** `scan`: the files are checked, nothing is stored yet; `import`: conversations are being stored. */
  phase: "scan" | "import";
  /** Bytes of the files read in this phase, as they are stored (a zip's: packed). */
  bytes: number;
  /** Of how many. */
  totalBytes: number;
  /** Conversations finished, also those that were there already. */
  conversations: number;
  /** Messages of them. */
  messages: number;
}

/**
 * Why something was left out.
 *
 * | reason | meaning |
 * |---|---|
 * | `unknown_format` | the file is of no app that is known here, or an entry of a zip is locked by a password |
 * | `other_source` | the file is of another app than option `source` names |
 * | `not_conversations` | a part of an export that holds no conversations: projects, memories, account data, feedback, ChatGPT's `chat.html` |
 * | `invalid_json` | this entry is not JSON |
 * | `not_a_conversation` | this entry has not the shape of a conversation of its app |
 * | `empty` | this conversation has no message that says anything |
 * | `erased` | the user erased this conversation, or messages of it; `bringBack` imports them all the same |
 * | `lost` | a backup does not have it, since it could not be read when the backup was made |
 * | `rejected` | the engine refused a message of this conversation, e.g. one beyond `policy.limits.messageBytes`, or it was deleted meanwhile |
 */
export type ImportSkipReason =
  | "unknown_format"
  | "other_source"
  | "not_conversations"
  | "invalid_json"
  | "not_a_conversation"
  | "empty"
  | "erased"
  | "lost"
  | "rejected";

/** Something that was left out. */
export interface ImportSkipped {
  /** The file, and where there is one the entry: `conversations.json[12] at byte 34567`. */
  where: string;
  /** Why. */
  reason: ImportSkipReason;
  /** The reason in words, without anything that a user wrote. */
  message: string;
}

/** What an import did. */
export interface ImportReport {
  /** The app that the files are of; `"mixed"` for several, `null` where nothing was recognised. */
  source: ImportSource | "mixed" | null;
  /** Conversations that are new. */
  imported: number;
  /** Conversations that were there and have new messages now. */
  updated: number;
  /** Conversations that were there as they are. */
  unchanged: number;
  /** Ids of the conversations that are new or have new messages, in the order of the files. */
  conversations: string[];
  /** Messages stored. */
  messages: number;
  /** Facts stored; only backups have any. */
  facts: number;
  /** What was left out, and why. */
  skipped: ImportSkipped[];
}
