import type { MemoryErrorCode } from "../errors.js";

/** What is erased: everything of the user, one conversation, or one fact, with all that came from it. */
export type EraseTarget = { user: true } | { conversationId: string } | { factId: string };

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
  /** Tokens sent, as counted here. */
  inputTokens: number;
  /** Tokens received, as counted here. */
  outputTokens: number;
  /** Milliseconds spent waiting. */
  ms: number;
}

/** Figures about a memory. `null`: the platform does not tell. */
export interface Stats {
  /** Conversations kept. */
  conversations: number;
  /** Messages kept. */
  messages: number;
  /** Tokens of all messages. */
  tokens: number;
  /** Vectors kept. */
  vectors: number;
  /** Facts kept, tombstones and history included. */
  facts: number;
  /** Background jobs due now. */
  jobs: number;
  /** Messages that are still to be embedded. */
  waitingForVectors: number;
  /** When a failed job is tried again, milliseconds since 1970. */
  nextRetryAt: number | null;
  /** Bytes in use by this site, all its storage together. */
  storageBytes: number | null;
  /** Bytes that this site may use. */
  quotaBytes: number | null;
  /** The browser promised not to evict it. */
  persisted: boolean | null;
  /** False: it is gone when the page or process ends. */
  durable: boolean;
  /** Bytes of the search index, about. */
  indexBytes: number;
  /** Bytes of the engine's WebAssembly memory, every memory of the page together. It grows and never shrinks. */
  wasmBytes: number;
  /** What each callback purpose has cost since the memory was opened. */
  spent: Partial<Record<string, PurposeStats>>;
  /** How tokens are counted now: encoding and version, or `estimate/1`. */
  countedWith: string;
}

/** What each event carries. Further fields can be added. */
export interface MemoryEvents {
  /** Messages were stored. */
  append: { conversationId: string; count: number };
  /** A context was built. */
  context: { conversationId: string; tokens: number };
  /** A conversation was compacted: the tokens of the messages that were folded, and how far the summary reaches now. */
  compaction: { conversationId: string; version: number; summarizedUntilSeq: number; tokens: number };
  /** A fact was added, changed, proposed or removed. */
  fact: { operation: string; factId: string | null };
  /** A piece of background work was done. */
  job: { kind: string; conversationId: string; state: string };
  /** Something was removed from storage. */
  storage: { state: string; conversationId?: string };
  /** Something failed that no call could report: a background job, or the load of a vocabulary. */
  error: {
    code: MemoryErrorCode;
    message: string;
    retryable: boolean;
    job?: string;
    conversationId?: string;
    attempts?: number;
  };
}

/** Name of an event. */
export type MemoryEventName = keyof MemoryEvents;
