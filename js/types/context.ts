import type { CallOptions, MessageFormat, RawMessage } from "./conversations.js";
import type { MemoryErrorCode } from "../errors.js";
import type { Profile } from "./profile.js";
import type { MessageStatus } from "./streams.js";
import type { ModelName } from "./usage.js";

/** A document of the app's own retrieval, put into its own section with its source named. */
export interface ContextDocument {
  /** Names it in the receipt. */
  id: string;
  /** The text. */
  text: string;
  /** Where it is from, shown to the model. */
  source?: string;
}

/** What a context is built for. */
export interface BuildContextRequest extends CallOptions {
  /** The conversation. */
  conversationId: string;
  /**
   * The question. It goes last, whole, and is not stored by this call. Left out, the newest turn of the conversation is
   * the question. A question that is stored as the newest message already is not sent twice.
   */
  question?: string;
  /**
   * The app's system prompt; sent whole. System and developer messages that were appended are kept and never sent (a note in
   * the receipt says so): give the prompt here, with each call.
   */
  system?: string;
  /** Tokens that fit the model. Default `policy.budget.windowTokens`. */
  window?: number;
  /** Tokens kept for the answer. Default `policy.budget.reserveTokens`, a quarter of the window at most. */
  reserve?: number;
  /** Format of the answer. Default `"openai"`. */
  format?: MessageFormat;
  /** Who takes it. Default: the profile of the format. One that does not go with the format is `invalid_argument`. */
  profile?: Profile;
  /**
   * True: calls and results of the history are written as text, since the request sends no `tools` and some providers
   * then refuse tool blocks. Default false; what the profile cannot take as tools is written as text in any case.
   */
  flattenTools?: boolean;
  /** Results of the app's own retrieval. */
  documents?: readonly ContextDocument[];
  /** The tool definitions that are sent with the request: counted, not changed. */
  tools?: readonly object[] | Readonly<Record<string, object>>;
  /** Whether old messages are looked up: when the question calls for it, always, or never. Default `"auto"`. */
  retrieval?: "auto" | "always" | "never";
  /**
   * Where the context is sent: to a model elsewhere, or on this device. For one elsewhere everything that was marked
   * `localOnly` is left out, and a newest turn that was is `invalid_argument`. Default `"remote"`.
   */
  destination?: "remote" | "local";
  /**
   * Who will bill it, as `reportUsage` names it: what is counted is corrected by what that model billed before. Default: the
   * model that was reported for this conversation last, else the one that was reported for any. Name it where the user
   * changes models.
   */
  model?: ModelName;
}

/** The signals behind the score of a hit, each 0 to 1 unless it says otherwise. `null`: not used. Further ones can come. */
export interface Scores {
  /** Vector similarity; `null` without a vector of the question or the message. */
  semantic?: number | null;
  /** Lexical match, fused. */
  keyword?: number;
  /** Age; `null` where the question does not ask for what is newest. */
  recency?: number | null;
  /** The question names something of the message, or asks for a kind of thing that it tells. */
  reference?: number;
  /** How much of what the question quotes stands in the message, word for word in a row; `null` where it quotes nothing. */
  quoted?: number | null;
  /** Share of the weighted mean that was lost because the message is short or asks. */
  penalty?: number;
  /** Best weighted mean of a message of the same session; it lends to the others. */
  sessionBest?: number;
  /** BM25 of the message, 0 and up. */
  message?: number;
  /** BM25 of the message and its neighbours, 0 and up. */
  window?: number;
  /** BM25 of its session, 0 and up. */
  session?: number;
  /** Share of the question's terms, weighted by rarity, that is found in the message. */
  coverage?: number;
  /** Cosine of the question's and the message's vectors; `null` without them. */
  cosine?: number | null;
}

/** What an item of a receipt is. Further ones can come. */
export type ReceiptItemKind =
  | "system" | "tools" | "fact" | "project" | "episode" | "summary" | "note" | "message" | "document" | "question";

/** Why an item is in a context. Further ones can come. */
export type ReceiptReason =
  | "instructions" | "remembered" | "same_project" | "last_session" | "covers_earlier" | "noted" | "recent_window" | "hit"
  | "neighbour" | "needed_now" | "given_by_app" | "question" | "current_turn";

/** Why something is not in a context. Further ones can come. */
export type ReceiptDropReason = "no_room" | "below_floor" | "duplicate" | "outside_window";

/** A section of a context. Further ones can come. */
export type ReceiptSectionName =
  | "system" | "memory" | "episodes" | "summary" | "notes" | "recent" | "documents" | "retrieved" | "question";

/** One thing that went into a section. */
export interface ReceiptItem {
  /** What it is. */
  kind: ReceiptItemKind;
  /** Id of the message, fact or document. */
  id: string;
  /** The messages covered, for messages and summaries: first and last position, both inclusive. */
  range?: { conversationId: string; from: number; to: number };
  /** Who speaks, for messages. */
  role?: "system" | "user" | "assistant" | "tool";
  /** Tokens it takes, message overhead included. */
  tokens: number;
  /**
   * Of a message too long for the room, which is shown in part, word for word, with `[...]` where something is left out:
   * its tokens before and after. The whole message is what `history(range.conversationId, { from: range.from, to: range.to })`
   * answers.
   */
  reduced?: { from: number; to: number };
  /** Final score, 0 to 1, for what was retrieved. */
  score?: number;
  /** The signals behind the score. */
  scores?: Scores;
  /** Why it is there. */
  reason: ReceiptReason;
}

/** One thing that was left out. */
export interface ReceiptDrop {
  /** What it is. */
  id: string;
  /** Tokens it would have taken. */
  tokens: number;
  /** Why it is not there. */
  reason: ReceiptDropReason;
}

/** One section of a context. */
export interface ReceiptSection {
  /** Which one. */
  name: ReceiptSectionName;
  /** Most tokens it could take in this call. */
  cap: number;
  /** Tokens it takes. */
  tokens: number;
  /** What is in it, in the order of the prompt. */
  items: ReceiptItem[];
  /** What was left out. */
  dropped: ReceiptDrop[];
}

/** What became of retrieval. */
export interface ReceiptRetrieval {
  /** Whether it ran. */
  decision: "retrieve" | "skip";
  /**
   * Why, at least one.
   *
   * For, so that hits below the usual floor may be brought:
   * - `always`: the call says so.
   * - `past_reference`: it points at something said before ("you said", "last week"), or turns back to it.
   * - `identifier`, `unresolved_mention`: it names something that an older message has and the recent window has not.
   * - `personal`: it is about the user's own things, names somebody who speaks in the messages (`name`), or asks for advice or
   *   a text that depends on what they have told.
   * - `older_match`: an older message has more of its words than the recent window, or word for word what it quotes.
   *
   * For, without more: what the search finds above the floor decides.
   * - `exact_detail`: it asks for a detail ("when", "which port"); retrieved history gets twice the room.
   * - `topic_shift`: none of its words stands in the recent window.
   * - `in_doubt`: nothing speaks for it or against it.
   *
   * After a search: `nothing_found`: nothing was above the floor. `summary`: the summary said more about it than the messages
   * found, and led to those that it was made of.
   *
   * Against:
   * - `never`: the call says so. `nothing_older`: all there is stands in the recent window.
   * - `small_talk`: a greeting, thanks, agreement.
   * - `about_last_answer`: the last answer is to be put another way, gone on with, or corrected.
   * - `self_contained`: it brings the text it is about, or asks for a calculation, a poem.
   * - `general_knowledge`: it asks what anybody may know, and no older message has more than a word of it.
   * - `answered_by_recent`: it is about what the recent window says.
   * - `no_older_match`: there are no vectors to compare, and no older message has more than a little of its words.
   */
  reasons: string[];
  /** By words and vectors, by words only, or not at all. */
  mode: "hybrid" | "lexical" | "none";
  /**
   * Why the question has no vector although there is an embedder, as a code: `timeout` (see
   * `policy.limits.queryEmbeddingTimeoutMs`), `embedding_failed`, `embedding_dimension_mismatch`. `null`: it has one, or none
   * was wanted.
   */
  embeddingError: MemoryErrorCode | null;
  /** Messages that were scored. */
  candidates: number;
  /** Milliseconds in the index, callbacks excluded. */
  ms: number;
}

/** Everything about a context, as plain data, stable in order, and enough to draw the whole prompt. */
export interface Receipt {
  /** Every section, in the order of the prompt. */
  sections: ReceiptSection[];
  /** What became of retrieval. */
  retrieval: ReceiptRetrieval;
  /**
   * What had to be mended so that the profile takes the messages: the rule's name in `src/formats` (R7: a call that never
   * got its result; R8: a tool result shortened; R11: messages joined; R13: system text folded in; R14: an empty message
   * left out; R15: tools written as text; R16: call ids replaced; R22: media named in a note), the message's position where
   * it is a stored one, and what was done, in words.
   */
  repairs: { rule: string; seq: number | null; what: string }[];
  /**
   * Parts of sent messages that refer to what expires, or what only the account that made it can read (R23): an uploaded
   * `file`, spoken `audio`, a `container`, an `item` kept by the provider, an `asset`. Sent to another account they are
   * refused. In messages that were converted from another format they are notes already, and not listed.
   */
  references: { seq: number; kind: "file" | "audio" | "container" | "item" | "asset" }[];
  /** Token totals. */
  tokens: {
    /** Of the whole prompt. Never more than `window - reserve`. */
    total: number;
    /** Tokens that fit the model. */
    window: number;
    /** Tokens kept for the answer. */
    reserve: number;
    /** Of the part that stays the same until the next compaction. */
    prefix: number;
    /** What the request itself and joining texts cost: `total` minus the sections. */
    overhead: number;
    /** What sending the whole conversation would take. */
    fullHistory: number;
    /** False: estimates, because the model has no public tokenizer or its vocabulary is not loaded; or corrected counts. */
    exact: boolean;
    /**
     * What every number of tokens in this receipt was multiplied by, because the model billed so much more, or less, than was
     * counted (see `reportUsage`); 1: nothing.
     */
    correction: number;
  };
  /**
   * Hash of the prompt's start: the system text and the first message of the recent window. While it stays the same,
   * messages are only appended, and the provider's prompt cache can be hit.
   */
  prefixHash: string;
  /** What is off, in words: no embedder, no language model, an estimate instead of a count. */
  notes: string[];
  /** Something that was marked `localOnly` was left out, since the context goes elsewhere. It does not say what. */
  heldBack: boolean;
}

/**
 * A position after which the prompt is likely to differ in the next turn, or in another conversation: where a provider's
 * prompt cache can be told to stop. Up to it the prompt is byte for byte what the call before sent, until a compaction or an
 * edit of memory.
 */
export interface CacheBreakpoint {
  /**
   * - `"memory"`: the end of the app's prompt and of what is remembered about the user, which all conversations share. It is
   *   there only where something follows it in `system`.
   * - `"system"`: the end of the system text.
   * - `"earlier"`: the end of the message in front of the history's last turn: what was `"history"` one turn before. A cache
   *   that looks back only so many blocks (Anthropic's 20) finds it however many calls that turn made.
   * - `"history"`: the end of the message in front of the newest turn. What comes behind it, the question with what was found
   *   for it, is sent once, so a cache for it would be paid and never read.
   */
  after: "memory" | "system" | "earlier" | "history";
  /**
   * How much of `system` is in front of it, for `"memory"` and `"system"`: `system.slice(0, systemLength)`. For marks in the
   * middle of the system text send it in pieces; what is between two positions begins with the blank line that parts them.
   */
  systemLength?: number;
  /** Index into `messages`, for `"earlier"` and `"history"`: the mark goes on the message's last block that may have one. */
  messageIndex?: number;
  /** Tokens up to and including this position, those of tool definitions, which come first, too. */
  tokens: number;
}

/** What to send to the model. */
export interface Context<Message extends object = RawMessage> {
  /**
   * The system text: the app's prompt, what is remembered about the user, what is known from other
   * sessions, the rolling summary, the notes. OpenAI Responses takes it
   * as `instructions`, Gemini as `systemInstruction`. May be empty, and is with the profile `"strict"`, which has it in the
   * first message.
   */
  system: string;
  /** The messages, in the format asked for: the items of OpenAI Responses' `input`, Gemini's `contents`. */
  messages: Message[];
  /**
   * Where the provider's prompt cache can be told to stop, in the order of the prompt: four at most, which is what providers
   * allow. Positions are left out where no model of the profile's provider keeps anything so short (Anthropic, OpenAI and the
   * AI SDK 1,024 tokens, Gemini 2,048); models that ask for more (4,096) are for the caller to know, by `tokens`.
   *
   * - Anthropic: a `cache_control` on each position, never on a thinking block.
   * - OpenAI: nothing is to be done; models from GPT-5.6 on, which charge for what is written to the cache, take a
   *   `prompt_cache_breakpoint` at each.
   * - Gemini: nothing is to be done; an explicit cache holds `system` and the messages up to `"history"` or `"earlier"`.
   * - In the page (WebLLM, Prompt API) and with local servers: nothing; `"history"` is how far they need not read again.
   */
  cacheBreakpoints: CacheBreakpoint[];
  /** Tokens of the whole prompt, as `receipt.tokens.total`. */
  tokens: number;
  /** How it came about. */
  receipt: Receipt;
}

/** Narrows `recall` before anything is scored. */
export interface RecallFilter {
  /** Only conversations of this project. */
  projectId?: string;
  /** Only messages of these roles. */
  roles?: readonly ("system" | "user" | "assistant" | "tool")[];
  /** Only messages from this time on, milliseconds since 1970. */
  since?: number;
  /** Only messages up to this time, inclusive, milliseconds since 1970. */
  until?: number;
  /** Only messages from this position on, inclusive. */
  from?: number;
  /** Only messages up to this position, inclusive: with `from` and `conversationId`, those of a node of `summary().tree`. */
  to?: number;
}

/** Options of `recall`. */
export interface RecallOptions extends CallOptions {
  /** Only this conversation. Default: every remembered one. */
  conversationId?: string;
  /** Most hits, a whole number from 0; more than 1,000 counts as 1,000. Default 10. */
  topK?: number;
  /** Hits below this score are left out, 0 to 1. Default 0: whatever matches at all, best first. */
  threshold?: number;
  /** Messages before a hit that go with it. Default `policy.retrieval.before`. */
  before?: number;
  /** Messages after a hit that go with it. Default `policy.retrieval.after`. */
  after?: number;
  /** Limits which messages can be hits; the neighbours that go with a hit, whole turns, are not filtered. */
  filter?: RecallFilter;
  /** False leaves out the signals behind each score. Default true. */
  explain?: boolean;
}

/** A found message. */
export interface RecallHit {
  /** Its id. */
  id: string;
  /** Its position. */
  seq: number;
  /** Whether it is whole. Of a message that is streaming, what was indexed so far was searched. */
  status: MessageStatus;
  /** Final score, 0 to 1. */
  score: number;
  /** The signals behind the score. */
  scores?: Scores;
}

/** A found message with its neighbours. */
export interface RecallGroup<Message extends object = RawMessage> {
  /** The conversation. */
  conversationId: string;
  /** First and last position, both inclusive. */
  range: [number, number];
  /** The raw messages, in order, as they were given. */
  messages: Message[];
  /** The messages that were hit. */
  hits: RecallHit[];
  /** Best score of the hits, 0 to 1. */
  score: number;
  /** The signals of the best hit. */
  scores?: Scores;
}
