import type { CallOptions } from "./conversations.js";

/** How far something may be trusted, lowest first. Derived text takes the lowest of its sources. */
export type Trust = "external" | "imported" | "assistant_inferred" | "user_stated" | "user_confirmed";

/**
 * Where a fact is in its life: in use, waiting for the user's approval, replaced by a newer one, removed on a model's
 * word, or forgotten by the user (then only id, hash and time are left, so that it is not learned again).
 */
export type FactStatus = "active" | "proposed" | "superseded" | "deleted" | "forgotten";

/** Where a fact came from. */
export interface FactSource {
  /** The user wrote it down, the user said it, or a model concluded it. */
  type: "explicit" | "statement" | "inference";
  /** The conversation, for extracted facts. */
  conversationId: string | null;
  /** The message, for extracted facts. */
  seq: number | null;
  /** Words of the message that show it, verbatim. */
  quote: string | null;
}

/** Something durable about the user. */
export interface Fact {
  /** `f<number>`; never used twice. */
  id: string;
  /** Unique per user where given: writing the same key again replaces. */
  key: string | null;
  /** Whom or what it is about; `"user"` by default. */
  subject: string;
  /** `preference`, `identity`, `project`, `constraint`, `style`, `decision` or another name that the app allows. */
  category: string;
  /** The fact in words. Empty once forgotten. */
  fact: string;
  /** 0 to 1. */
  confidence: number;
  /** How far it may be trusted. */
  trust: Trust;
  /** Where it is in its life. */
  status: FactStatus;
  /** Where it came from. */
  source: FactSource;
  /** Id of the fact that this one replaced. */
  supersedes: string | null;
  /** Hash of the normalised text: what a forgotten fact is recognised by. */
  fingerprint: string;
  /** Injected before others, and never dropped for relevance. */
  pinned: boolean;
  /** Milliseconds since 1970; not used from then on. */
  expiresAt: number | null;
  /** How often it was used. Not counted yet: 0. */
  accessCount: number;
  /** Not counted yet: `null`. Milliseconds since 1970. */
  lastAccessedAt: number | null;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** Milliseconds since 1970. */
  updatedAt: number;
}

/** An explicit write: the user asked to remember it. It ranks as confirmed. */
export interface AddFact extends CallOptions {
  /** The fact in words, 1 to 4,000 characters. */
  fact: string;
  /** Default `"preference"`. */
  category?: string;
  /** At most 128 bytes. Replaces the fact that has this key. */
  key?: string;
  /** Default `"user"`. */
  subject?: string;
  /** Default false. */
  pinned?: boolean;
  /** Milliseconds since 1970. Default: never. */
  expiresAt?: number;
}

/** Changes of a fact; what is left out stays. The old text is kept as a superseded fact. */
export interface UpdateFact extends CallOptions {
  /** The fact in words. */
  fact?: string;
  /** Its category. */
  category?: string;
  /** `null`: none. */
  key?: string | null;
  /** Whom or what it is about. */
  subject?: string;
  /** See {@link Fact.pinned}. */
  pinned?: boolean;
  /** `null`: never. */
  expiresAt?: number | null;
}

/** Which facts are listed. */
export interface ListFacts extends CallOptions {
  /** Only of this category. */
  category?: string;
  /** Only in this state. Default: active and proposed. */
  status?: FactStatus;
}

/** How facts are searched. */
export interface SearchFacts extends CallOptions {
  /** Most facts. Default 10. */
  topK?: number;
}

/** A found fact. */
export interface FactHit {
  /** The fact. */
  fact: Fact;
  /** 0 to 1, highest first. */
  score: number;
}

/** One decision about a fact. */
export interface FactEvent {
  /** Number of the entry, from 1. */
  number: number;
  /** Milliseconds since 1970. */
  at: number;
  /** What was decided. */
  operation: "ADD" | "UPDATE" | "DELETE" | "NOOP" | "FORGET" | "REJECT";
  /** The fact concerned, where there is one. */
  factId: string | null;
  /** The text before. */
  before: string | null;
  /** The text after. */
  after: string | null;
  /** Why, for a rejected operation. */
  reason: string | null;
}
