import type { CallOptions, MessageFormat, RawMessage } from "./conversations.js";

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
   * The new question. It goes last, whole, and is not stored: append it when you send it. Left out when the newest
   * message of the conversation is the question.
   */
  question?: string;
  /** The app's system prompt; sent whole. */
  system?: string;
  /** Tokens that fit the model. Default `policy.budget.windowTokens`. */
  window?: number;
  /** Tokens kept for the answer. Default `policy.budget.reserveTokens`. */
  reserve?: number;
  /** Format of the answer. Default: that of the conversation's newest message, else `"openai"`. */
  format?: MessageFormat;
  /** Results of the app's own retrieval. */
  documents?: readonly ContextDocument[];
  /** The tool definitions that are sent with the request: counted, not changed. */
  tools?: readonly object[] | Readonly<Record<string, object>>;
  /** Whether old messages are looked up: when the question calls for it, always, or never. Default `"auto"`. */
  retrieval?: "auto" | "always" | "never";
}

/** Scores of one hit, each 0 to 1. Signals that were not used are left out. */
export interface Scores {
  /** Vector similarity. */
  semantic?: number;
  /** Lexical match. */
  keyword?: number;
  /** Age. */
  recency?: number;
  /** The question names something of the message. */
  reference?: number;
}

/** One thing that went into a section. */
export interface ReceiptItem {
  /** `message`, `group`, `summary`, `fact`, `document`, `system` or `question`. */
  kind: string;
  /** What it is. */
  id: string;
  /** First and last position of the messages it holds, both inclusive. */
  range?: { conversationId?: string; from: number; to: number } | null;
  /** Tokens it takes. */
  tokens: number;
  /** Final score, for what was retrieved. */
  score?: number | null;
  /** The signals behind the score. */
  scores?: Scores | null;
  /** Why it is there. */
  reason: string;
}

/** One thing that was left out. */
export interface ReceiptDrop {
  /** What it is. */
  id: string;
  /** Tokens it would have taken. */
  tokens: number;
  /** Why it is not there. */
  reason: string;
}

/** One section of a context. */
export interface ReceiptSection {
  /** `system`, `memory`, `summary`, `retrieved`, `documents`, `recent` or `question`. */
  name: string;
  /** Most tokens it could take; `null` where there is no cap. */
  cap: number | null;
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
  decision: string;
  /** Why. */
  reasons: string[];
  /** `hybrid`, `lexical` or `none`. */
  mode: string;
  /** Hits that were considered. */
  candidates: number;
  /** Milliseconds it took. */
  ms: number;
}

/** Everything about a context, as plain data, stable in order, and enough to draw the whole prompt. */
export interface Receipt {
  /** Every section, in the order of the prompt. */
  sections: ReceiptSection[];
  /** What became of retrieval. */
  retrieval: ReceiptRetrieval;
  /** What had to be repaired so that the provider's rules hold, e.g. a tool call without a result. */
  repairs: unknown[];
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
    /** False: the numbers are estimates. */
    exact?: boolean;
  };
  /** Hash of that part: equal hashes mean that the provider's prompt cache can be hit. */
  prefixHash: string;
}

/** What to send to the model. */
export interface Context<Message extends object = RawMessage> {
  /** The system prompt, where the format keeps it apart; else it is the first message and this is empty. */
  system: string;
  /** The messages, in the format asked for. */
  messages: Message[];
  /** Indexes of messages after which the provider's prompt cache can be marked. */
  cacheBreakpoints: number[];
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
  /** Only messages up to this time, milliseconds since 1970. */
  until?: number;
}

/** Options of `recall`. */
export interface RecallOptions extends CallOptions {
  /** Only this conversation. Default: every remembered one. */
  conversationId?: string;
  /** Most groups. Default `policy.retrieval.topK`. */
  topK?: number;
  /** Groups below this score are left out, 0 to 1. Default `policy.retrieval.minScore`. */
  threshold?: number;
  /** Messages before a hit that go with it. Default `policy.retrieval.before`. */
  before?: number;
  /** Messages after a hit that go with it. Default `policy.retrieval.after`. */
  after?: number;
  /** Narrows the search. */
  filter?: RecallFilter;
  /** Adds the signals behind each score. Default false. */
  explain?: boolean;
}

/** A found message with its neighbours. */
export interface RecallGroup<Message extends object = RawMessage> {
  /** The conversation. */
  conversationId: string;
  /** The raw messages, in order, as they were given. */
  messages: Message[];
  /** The messages that were hit. */
  hits: { id: string; seq: number; score: number }[];
  /** Final score, 0 to 1, highest first. */
  score: number;
  /** The signals behind the score, where `explain` was asked. */
  scores?: Scores | null;
}
