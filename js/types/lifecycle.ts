import type { MemoryErrorCode } from "../errors.js";

/**
 * What is erased: everything of the user, one conversation, one message, or one fact, with all that came from it. Message
 * ids are unique in a conversation only: name the conversation beside an id that can occur in several.
 */
export type EraseTarget =
  | { user: true }
  | { conversationId: string }
  | { messageId: string; conversationId?: string }
  | { factId: string };

/** What became of an erasure. */
export interface Erasure {
  /** Removed records, by store. */
  erased: Record<string, number>;
  /** What may still be there, in words: e.g. what the browser's own files keep until it cleans them up. */
  remains: string[];
}

/** What a purpose has cost so far. */
export interface PurposeStats {
  /** Calls of the callback. */
  calls: number;
  /** Calls that failed. */
  failures?: number;
  /** Milliseconds spent waiting. */
  ms: number;
  /** Tokens sent. */
  inputTokens?: number;
  /** Tokens received. */
  outputTokens?: number;
}

/** Figures about a memory. A figure that the platform does not tell is left out or `null`. */
export interface Stats {
  /** Conversations stored. */
  conversations?: number;
  /** Messages stored. */
  messages: number;
  /** Their tokens. */
  tokens: number;
  /** Vectors stored. */
  vectors: number;
  /** Sealed index segments. */
  segments?: number;
  /** Facts in use. */
  facts?: number;
  /** Bytes in storage, where the platform tells. */
  storageBytes?: number | null;
  /** Bytes of WebAssembly memory of the page, all memories together. */
  wasmBytes: number;
  /** The browser promised not to evict it. */
  persisted?: boolean | null;
  /** Background jobs that are due. */
  jobs: number;
  /** What each callback purpose has cost. */
  spent?: Record<string, PurposeStats>;
}

/** What each event carries. Further fields can be added. */
export interface MemoryEvents {
  /** Messages were stored. */
  append: { conversationId: string; messages?: { id: string; seq: number }[] };
  /** A context was built. */
  context: { conversationId: string; tokens: number };
  /** A conversation was compacted, or an attempt failed. */
  compaction: { conversationId: string; summarizedUntilSeq?: number; version?: number };
  /** A fact was added, changed, proposed or removed. */
  fact: { operation: string; factId: string | null };
  /** A background job began, ended or failed. */
  job: { kind: string; conversationId?: string; state: string };
  /** Storage was opened, blocked, filled up or changed by another tab. */
  storage: { state: string };
  /** Something failed that no call could report. */
  error: { code: MemoryErrorCode; message: string; retryable: boolean };
}

/** Name of an event. */
export type MemoryEventName = keyof MemoryEvents;
