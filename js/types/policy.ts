import type { SourceTrust } from "./sessions.js";

/** Most tokens per section of a context. Where the window is too small for all of them, they shrink in proportion. */
export interface BudgetPolicy {
  /** Reported for the system prompt; a longer prompt is sent whole all the same. Default 2,000. */
  systemTokens?: number;
  /** What is remembered about the user. Default 1,000. */
  memoryTokens?: number;
  /** The rolling summary. Default 2,000. */
  summaryTokens?: number;
  /** Retrieved message groups. Default 3,000. */
  retrievedTokens?: number;
  /** The app's own documents. Default 3,000. */
  documentsTokens?: number;
  /** The notes of the conversation. Default 1,000. */
  notesTokens?: number;
  /**
   * What is known from other sessions: the project's summary, half of it at most, and the last episodes. Default 1,000, and
   * never more than a twentieth of what the prompt may take.
   */
  episodesTokens?: number;
  /** The recent window. Default 6,000. */
  recentTokens?: number;
  /** Room kept for the answer where the call names none. Default 4,000. */
  reserveTokens?: number;
  /** Context window assumed where the call names none. Default 16,000. */
  windowTokens?: number;
}

/** How much of the newest conversation stays as it was said. */
export interface RecentPolicy {
  /** By number of messages instead of by tokens, from 1. Default: by tokens. */
  maxMessages?: number;
  /**
   * When the window overflows, its start moves forward until this share of its room is used, so that the prefix then
   * stays as it is for many turns. 0.1 to 1, default 0.5.
   */
  keepRatio?: number;
}

/** Weights of the rerank signals, each 0 to 1. A hit's score starts as their weighted mean. */
export interface RerankWeights {
  /** Vector similarity. Default 0.45. */
  semantic?: number;
  /** Lexical match at message, window and session level. Default 0.25. */
  keyword?: number;
  /** Age. With the fitted ranking it counts only where the question asks for what is newest. Default 0.15. */
  recency?: number;
  /**
   * The question names something of the message (an identifier, a speaker or role, its day) or asks for a kind of thing
   * that it tells (a time, a number, a name). Default 0.15.
   */
  reference?: number;
}

/** When and how old messages are retrieved. */
export interface RetrievalPolicy {
  /** Every remembered conversation of the user (the current one counts more), or the current one only. Default `"user"`. */
  scope?: "user" | "conversation";
  /** Messages before a hit that go with it. Default 2. */
  before?: number;
  /** Messages after a hit that go with it. Default 2. */
  after?: number;
  /** Most hits considered for one context; of these, what has room is read. Default 64. */
  topK?: number;
  /**
   * Hits below this final score are left out. The best hit's score says how sure the search is that anything in it is
   * meant, the others' are in proportion; with a floor, those below half of the best are left out too. 0 to 1, default 0.25.
   */
  minScore?: number;
  /**
   * How the signals are computed. `"fitted"`: from the message, its surroundings and its session, by constants fitted on
   * real conversations so that the default weights serve. `"seeds"`: the plain reading of the weights, that is scaled cosine,
   * BM25 of the message, age always, what the question names; 20 points of recall weaker on chats. Default `"fitted"`.
   */
  ranking?: "fitted" | "seeds";
  /** Weights of the rerank. */
  weights?: RerankWeights;
  /** Half-life of the recency signal, in days. 0.001 to 1,000,000, default 30. */
  recencyHalfLifeDays?: number;
  /** Factor on hits of other conversations. 0 to 1, default 0.6. */
  otherConversationFactor?: number;
}

/** When and how old messages are folded into the rolling summary. */
export interface CompactionPolicy {
  /** False: never by itself; `compact()` still works. Default true. */
  automatic?: boolean;
  /** Compaction starts when the tokens neither summarised nor in the recent window pass this mark. Default 8,000. */
  highWaterTokens?: number;
  /** It leaves this share of the high mark uncompacted. 0 to 1, default 0.25. */
  lowWaterRatio?: number;
  /** Longest summary, in tokens. Default 1,500. */
  maxSummaryTokens?: number;
  /**
   * How long the provider keeps the start of a prompt in its cache after it was last used. 0 to 86,400,000, default 300,000:
   * five minutes, Anthropic's, and about what others do.
   */
  cacheTtlMs?: number;
  /**
   * Once nothing was asked for so long, the next prompt is paid in full whatever it begins with, so compaction starts from
   * this share of the high mark already. 0.1 to 1; 1: only at the mark. Default 0.5.
   */
  coldRatio?: number;
  /** What must be kept, added to the instructions of every summarising call. */
  instructions?: string;
  /**
   * In place of the built-in task of the rolling summary. What the answer must look like, and that the transcript is data,
   * is said in any case.
   */
  prompt?: string;
}

/** Episodes: what happened in a session, for the start of later conversations. */
export interface EpisodePolicy {
  /** False: never by itself; `episodes.end()` still works. Default true. */
  automatic?: boolean;
  /** A session is over when nothing was said for this long. 1,000 to 10,000,000,000, default 1,800,000: half an hour. */
  idleMs?: number;
  /** A session that ended longer ago is left alone, so that old chats cost nothing. Default 604,800,000: a week. */
  maxAgeMs?: number;
  /** Sessions of fewer messages are left alone. Default 4. */
  minMessages?: number;
  /** Longest episode, in tokens. Default 300. */
  maxTokens?: number;
  /** Most episodes in a new conversation's context. Default 3. */
  shown?: number;
  /**
   * Episodes of lower trust are in no context and no project's summary. Default `"assistant_inferred"`: those of sessions
   * with results of tools, or with imported messages, stay out, because anybody can have written these.
   */
  minTrust?: SourceTrust;
}

/** What is remembered about the user. */
export interface FactPolicy {
  /** False: facts come only from explicit writes. Default true. */
  extract?: boolean;
  /**
   * Categories that may be remembered without an explicit write. Default preference, identity, project, constraint,
   * style, decision. Special categories (health, belief and others) are not allowed by naming them here: the user agrees to
   * each with `facts.optIn`.
   */
  categories?: string[];
  /** True: an extracted fact waits for approval before it is used. Default false. */
  review?: boolean;
  /** Facts below this confidence are not kept. 0 to 1, default 0.5. */
  minConfidence?: number;
  /** Similar existing facts shown to the judge for each candidate. Default 5. */
  judgeNeighbours?: number;
  /**
   * Extraction waits until this many new user messages are there, until the conversation is idle, until the user speaks in
   * another one, or until `settled()` is called. Default 4: less than half of the tokens of 1 with the same facts in the end,
   * which are then known two messages later (BENCHMARKS.md, "Reading several messages at once").
   */
  batchMessages?: number;
  /** A conversation in which nothing was said for this long is idle, in milliseconds. 0 to 86,400,000, default 60,000. */
  idleMs?: number;
  /**
   * Where not all facts fit into a context, those below this score are left out unless they are pinned. 0 to 1, default 0.1:
   * what has nothing to do with the question and was not changed for a month.
   */
  minScore?: number;
  /**
   * What is remembered is looked through for mistakes every so many days, where it changed (see `facts.check`). 0: never by
   * itself. Up to 3,650, default 7.
   */
  auditDays?: number;
}

/** How long results of tools stay whole in a context. What is stored, searched and summarised is always whole. */
export interface ToolResultPolicy {
  /**
   * Results of turns older than this many are shortened, in steps of this many turns, at least ten, so that the start of the
   * prompt stays the same between. 0: only those of the newest turn are whole. Those of a turn that takes more than half of
   * the recent window's room are shortened at once. `null` or Infinity: never shortened, unless the newest turn would not
   * fit at all. Default 12.
   */
  fullTurns?: number | null;
  /** What is kept of each, in tokens: its start, and how long it was. 16 to 1,000,000, default 200. */
  shrunkTokens?: number;
}

/** Limits of what is accepted, and of waiting. */
export interface LimitPolicy {
  /** Longest raw message, in bytes of its JSON text. 1 to 16 MiB (16,777,216), the default: browsers limit a record's size. */
  messageBytes?: number;
  /** Longest id, in UTF-8 bytes. Default 512. */
  idBytes?: number;
  /** A callback that has not answered by then has failed with `timeout`. 1 to 86,400,000, default 120,000. */
  callbackTimeoutMs?: number;
  /**
   * The embedder has so long for a question, in milliseconds; then the search goes on by words alone, and the receipt says so.
   * 1 to 86,400,000, default 2,000; never longer than `callbackTimeoutMs`.
   */
  queryEmbeddingTimeoutMs?: number;
  /** A failed job waits this long, then twice as long each time, an hour at most. 0 to 3,600,000, default 1,000. */
  jobRetryMs?: number;
  /** A job is given up after this many failures until the next append. Default 5. */
  jobAttempts?: number;
}

/** Every threshold, cap, weight and opt-in. A field left out has its default; a wrong one is `invalid_config`. */
export interface Policy {
  /** Section caps of a context. */
  budget?: BudgetPolicy;
  /** The recent window. */
  recent?: RecentPolicy;
  /** When and how old messages are retrieved. */
  retrieval?: RetrievalPolicy;
  /** When and how old messages are folded into the rolling summary. */
  compaction?: CompactionPolicy;
  /** Summaries of sessions. */
  episodes?: EpisodePolicy;
  /** What is remembered about the user. */
  facts?: FactPolicy;
  /** How long results of tools stay whole. */
  toolResults?: ToolResultPolicy;
  /** Limits of what is accepted, and of waiting. */
  limits?: LimitPolicy;
  /**
   * Whether messages are on disk before `append`, `edit` and the end of a stream answer. `"strict"`: yes, they answer
   * `durable: true`. `"relaxed"`: they answer `durable: false` at once; a crash of the browser takes nothing, and a power cut at
   * most the last second or 20 messages: by then one write that waits for the disk takes all along, and at once where the page
   * is hidden, at `flush()` and at `close()`. Everything else, removing and erasing too, always waits. Default `"strict"`.
   */
  durability?: "strict" | "relaxed";
  /** Which index answers vector queries: by size, always a scan, or always the graph. Default `"auto"`. */
  vectorIndex?: "auto" | "exact" | "hnsw";
}
