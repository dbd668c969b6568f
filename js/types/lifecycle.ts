import type { MemoryErrorCode } from "../errors.js";
import type { FactFinding } from "./facts.js";
import type { StorageDamage } from "./storage.js";
import type { MessageStatus } from "./streams.js";
import type { ModelUsage } from "./usage.js";

/**
 * What is erased: everything of the user, one conversation, one message (as `remove` does; without its conversation where
 * only one has the id), or one fact with those that it replaced, each with all that came from it.
 */
export type EraseTarget =
  | { user: true }
  | { conversationId: string }
  | { conversationId: string; messageId: string }
  | { messageId: string }
  | { factId: string };

/** What became of an erasure. */
export interface Erasure {
  /** Removed records, by store. */
  erased: Record<string, number>;
  /** What may still be there, by place. */
  remains: Remnant[];
}

/** What of the erased may still be in one place. */
export interface Remnant {
  /** `browser_files`: on disk; `other_tabs`: in the memory of other tabs; `page_memory`: in that of this page, outside the engine. */
  place: "browser_files" | "other_tabs" | "page_memory";
  /** What it is, in words. */
  what: string;
  /** Why it is there. */
  why: string;
  /** How long, as it was measured with this browser's engine. */
  until: string;
  /** How to be rid of it now. */
  remedy: string;
}

/** What a purpose has cost so far. */
export interface PurposeStats {
  /** Calls of the callback. */
  calls: number;
  /** Milliseconds spent waiting. */
  ms: number;
  /** Tokens sent. */
  inputTokens: number;
  /** Tokens received. */
  outputTokens: number;
}

/** A background job that failed. */
export interface FailedJob {
  /** What it does. */
  job: "embed" | "compact" | "extract";
  /** Its conversation. */
  conversationId: string;
  /** Why it failed last. */
  code: MemoryErrorCode;
  /** How often it failed. */
  attempts: number;
  /**
   * When it is tried again, milliseconds since 1970; `null`: with the next message of its conversation, or by `retryJobs`, since
   * it failed `policy.limits.jobAttempts` times or the callback said that it is of no use (`retryable: false`).
   */
  retryAt: number | null;
}

/** Figures about a memory. A figure that the platform does not tell is left out or `null`. */
export interface Stats {
  /** Conversations stored. */
  conversations: number;
  /** Messages stored, those of every branch. */
  messages: number;
  /** Their tokens. */
  tokens: number;
  /** Vectors stored; a long message has several. */
  vectors: number;
  /** Messages that are still to be embedded, with those whose vectors were found missing or damaged in storage. */
  waitingForVectors: number;
  /** Facts stored, history and tombstones included. */
  facts: number;
  /** Bytes in use by this site, where the platform tells. */
  storageBytes: number | null;
  /** Bytes that this site may use, where the platform tells. */
  quotaBytes: number | null;
  /**
   * When `export` last gave out a whole backup, milliseconds since 1970; `null` where it never did, or everything was erased
   * since. Browsers can lose what they store, so show its age, and remind users to export.
   */
  lastExportAt: number | null;
  /** Damage of storage that was found and not acknowledged. */
  damage: StorageDamage | null;
  /** Records outlive the page or process. */
  durable: boolean;
  /** A newer version of the package wrote the data: it can be read, and each write rejects with `schema_too_new`. */
  readOnly: boolean;
  /** Bytes of the search index's words and metadata, about. */
  indexBytes: number;
  /**
   * Sealed segments of the search index in storage: how many, the messages and vectors that they cover, their bytes. They
   * make the next start quick; messages outside them, mostly fewer than 512, are read instead.
   */
  segments: { count: number; messages: number; vectors: number; bytes: number };
  /** Bytes of WebAssembly memory of the page, all memories together. */
  wasmBytes: number;
  /** The browser promised not to evict it. */
  persisted: boolean | null;
  /** Background jobs that are due. */
  jobs: number;
  /** Background jobs that failed and have not succeeded since. */
  failedJobs: FailedJob[];
  /** When a failed job is tried again, milliseconds since 1970. */
  nextRetryAt: number | null;
  /** What each callback purpose has cost since this memory was opened. */
  spent: Record<string, PurposeStats>;
  /**
   * What providers billed, as `reportUsage` was told, by every tab and since the data was made: the model reported last first.
   * Beyond 64 models, those reported longest ago are summed up in a last one with empty names.
   */
  usage: ModelUsage[];
  /** How tokens are counted now, e.g. `o200k_base/1`. */
  countedWith: string;
}

/** Where it happened. */
interface Remote {
  /** It happened in another tab or worker of this user. Calls of this memory see it already. */
  remote?: true;
}

/** What each event carries. Further fields can be added. */
export interface MemoryEvents {
  /** Messages were stored. */
  append: { conversationId: string; count: number } & Remote;
  /** A message that was streamed ended: through this memory or another, or it was found without its writer. */
  stream: { conversationId: string; id: string; seq: number; status: Exclude<MessageStatus, "streaming"> } & Remote;
  /** A context was built. */
  context: { conversationId: string; tokens: number };
  /** A conversation was compacted: the tokens of the messages that were folded, and how far the summary reaches now. */
  compaction: { conversationId: string; version: number; summarizedUntilSeq: number; tokens: number } & Remote;
  /**
   * A conversation was made (`created`), its title, project or `remember` changed (`updated`), or its active path
   * (`turned`), a note was written or taken away (`noted`), a session got its episode (`episode`), another store's changes
   * came in (`synced`).
   */
  conversation: { conversationId: string; state: "created" | "updated" | "turned" | "noted" | "episode" | "synced" } & Remote;
  /**
   * A fact was added, changed, proposed, refused or removed; an agreement was made or ended (`OPT_IN`, `OPT_OUT`); facts of another store came in (`SYNC`, without an id); a check found
   * something (`FINDING`, with its `kind`, see `FactFinding`).
   */
  fact: (
    | {
        operation: "ADD" | "UPDATE" | "DELETE" | "FORGET" | "ERASE" | "REJECT" | "REVIEW" | "OPT_IN" | "OPT_OUT" | "SYNC";
        factId: string | null;
        kind?: undefined;
      }
    | { operation: "FINDING"; factId: string | null; kind: FactFinding["kind"] }
  ) &
    Remote;
  /** A piece of background work was done. */
  job: { kind: "embed" | "compact" | "extract"; conversationId: string; state: "done" };
  /**
   * Something was removed from storage: `message_removed` and `conversation_deleted` name the conversation, `erased` means
   * everything. `imported`: a backup was imported. `resumed`: the page came back from the browser's cache, and anything may have changed meanwhile. `damaged`:
   * stored data was lost or cannot be read. `ephemeral`: everything is gone when this private window closes. `partitioned`:
   * this frame has a storage of its own, apart from the one that the user has elsewhere.
   * `files_removed`: the browser's files of this data were removed while it is open. Everything can be read until the last tab
   * closes, and nothing is on disk: let the user export now. Chromium with LevelDB shows it; `append` then answers `durable: false`.
   * `unavailable`: the stored data was deleted from outside, or cannot be read; nothing of it is in memory any more.
   */
  storage: (
    | { state: "message_removed" | "conversation_deleted"; conversationId: string; damage?: undefined }
    | { state: "damaged"; damage: StorageDamage; conversationId?: undefined }
    | {
        state: "erased" | "imported" | "resumed" | "ephemeral" | "partitioned" | "files_removed" | "unavailable";
        conversationId?: undefined;
        damage?: undefined;
      }
  ) &
    Remote;
  /** Something failed that no call could report: a background job, a write of a message that is streaming, a late write to disk, or the load of a vocabulary. */
  error: {
    code: MemoryErrorCode;
    message: string;
    retryable: boolean;
    /** The background job that failed. */
    job?: string;
    /** Its conversation. */
    conversationId?: string;
    /** How often it has failed since it last succeeded. */
    attempts?: number;
    /** Messages that were acknowledged with `durable: false` and are gone. */
    lost?: number;
  };
}

/** Name of an event. */
export type MemoryEventName = keyof MemoryEvents;
