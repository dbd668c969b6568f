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
  /** The user wrote it down, the user said it, a model concluded it, or it stands in what the user pasted or quoted. */
  type: "explicit" | "statement" | "inference" | "quotation";
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
  /** 0 to 1: the model's own, but at most 0.95 for what the user said, 0.7 for what was concluded, 0.5 for what was quoted; 1 once the user wrote or approved it. */
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
  /** It stays on this device: no model elsewhere is shown it. Left out where it does not. */
  localOnly?: boolean;
  /** Milliseconds since 1970; not used from then on. */
  expiresAt: number | null;
  /**
   * Into how many contexts it was put. Written by background work, at most once a minute and by `settled()`: contexts since
   * then are not in it, and what a page that ends had not written is not counted.
   */
  accessCount: number;
  /** When it was put into a context last, milliseconds since 1970; `null`: never. Written as `accessCount` is. */
  lastAccessedAt: number | null;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** Milliseconds since 1970. */
  updatedAt: number;
}

/** An explicit write: the user asked to remember it. It ranks as confirmed, unless it is `suggested`. */
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
  /** No model elsewhere is shown it: no context for one, and no callback that is `remote`. Default false. */
  localOnly?: boolean;
  /** Milliseconds since 1970. Default: never. */
  expiresAt?: number;
  /**
   * True: on a model's word instead of the user's, as from a tool call. It waits for the user's `approve` (status
   * `proposed`, trust `assistant_inferred`), is never pinned, leaves every other fact in use, and is `invalid_argument`
   * where the user forgot the same. Default false.
   */
  suggested?: boolean;
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
  /** See {@link Fact.localOnly}. */
  localOnly?: boolean;
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
  operation: "ADD" | "UPDATE" | "DELETE" | "NOOP" | "FORGET" | "REJECT" | "REVIEW" | "OPT_IN" | "OPT_OUT";
  /** On whose word: the user's, a model's (extraction and judge), that of the check of facts, an import's. `null`: not known. */
  by: "user" | "model" | "audit" | "import" | null;
  /** {@link LanguageModel.id} of the model that decided; `null`: none did, or the app does not name it. */
  model: string | null;
  /** The fact concerned, where there is one. */
  factId: string | null;
  /** The text before. */
  before: string | null;
  /** The text after. */
  after: string | null;
  /** What the user changed of a fact that stays: names of its fields, such as `"pinned"`. */
  changed: string[];
  /** Why, for a rejected operation; the category, for `OPT_IN` and `OPT_OUT`. */
  reason: string | null;
}

/** A message that shows a fact. */
export interface FactPlace {
  /** The conversation. */
  conversationId: string;
  /** The message. */
  seq: number;
}

/** Which entries of the log are listed. */
export interface FactLogOptions extends CallOptions {
  /** Most entries. Default 100. */
  limit?: number;
  /** Only entries of lower numbers. */
  before?: number;
}

/** A special category of personal data: remembered only after the user agreed to it. */
export type SpecialCategory =
  | "health" | "belief" | "orientation" | "politics" | "ethnicity" | "union" | "biometric" | "criminal";

/** What the user agreed to. */
export interface FactConsent {
  /** Special categories that may be remembered. */
  optedIn: SpecialCategory[];
  /** Facts that were removed because an agreement ended. */
  removed: number;
}

/** Something that is wrong with what is remembered. */
export interface FactFinding {
  /**
   * Two facts cannot both hold; it reads like an instruction; its time is over; its quote does not stand in its message; it
   * holds a secret; it is of a special category without the user's agreement; a model takes it for out of date.
   */
  kind: "contradiction" | "instruction" | "expired" | "unsupported" | "secret" | "sensitive" | "outdated";
  /** The facts concerned. */
  factIds: string[];
  /** A model says so; else a rule does. */
  byModel: boolean;
}

/** What a look through the facts found. */
export interface FactCheck {
  /** When it was, milliseconds since 1970; 0: never. */
  at: number;
  /** What was found. */
  findings: FactFinding[];
}
