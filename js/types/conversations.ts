/**
 * A message format: OpenAI chat completions, OpenAI Responses (each item of the list is one message), Anthropic
 * Messages, Gemini `contents`, LangChain (stored form, plain objects or the JSON of its classes; written in the stored
 * form), or the AI SDK (`"ai-sdk"` stands for whichever of its two message shapes the messages have).
 */
export type MessageFormat =
  | "openai"
  | "openai-responses"
  | "anthropic"
  | "gemini"
  | "langchain"
  | "ai-sdk"
  | "ai-sdk-ui"
  | "ai-sdk-model";

/** A message as it comes back: the object that was given, equal in every field. */
export type RawMessage = Record<string, unknown>;

/** Options of a call that can be given up. */
export interface CallOptions {
  /** Rejects the call with `aborted`. A write that has begun is carried out all the same. */
  signal?: AbortSignal;
}

/** A conversation. */
export interface Conversation {
  /** Its id. */
  id: string;
  /** The title that was set, else the first user text, cut at 50 characters, else `"Untitled"`. */
  title: string;
  /** A group of conversations that belong together, where it is in one. */
  projectId: string | null;
  /** False: nothing of it is embedded, remembered or found from other conversations. */
  remember: boolean;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** Milliseconds since 1970, of the last append or rename. */
  updatedAt: number;
  /** Number of messages. */
  messageCount: number;
  /** Sum of the messages' token counts. */
  tokens: number;
}

/** A new conversation. */
export interface CreateConversation {
  /** 1 to 512 bytes. Default: a random UUID. An id that is taken is `conflict`. */
  id?: string;
  /** Default: made from the first user text. */
  title?: string;
  /** A group of conversations that belong together. */
  projectId?: string;
  /** False for a temporary chat. Default true. */
  remember?: boolean;
}

/** Changes of a conversation; what is left out stays. */
export interface UpdateConversation {
  /** Empty text goes back to the title made from the first user text. */
  title?: string | null;
  /** A group of conversations that belong together. */
  projectId?: string | null;
  /** See {@link Conversation.remember}. */
  remember?: boolean;
}

/** Which conversations are listed. */
export interface ListConversations extends CallOptions {
  /** Most items, 1 to 1,000. Default 50. */
  limit?: number;
  /** `next` of the page before. */
  before?: string;
}

/** One page of conversations, newest first. */
export interface ConversationPage {
  /** The conversations. */
  items: Conversation[];
  /** Give it as `before` for the next page; absent on the last one. */
  next?: string;
}

/** Options of `append`. */
export interface AppendOptions extends CallOptions {
  /** The messages' format. Default: detected for each message. */
  format?: MessageFormat;
  /** Id of the message that the first one follows. Default: the newest. */
  parentId?: string;
}

/** Where a message went. */
export interface AppendedMessage {
  /** The message's own id, else `seq:<position>`. */
  id: string;
  /** Position in the conversation: dense, from 1. */
  seq: number;
  /** Whether it would survive a power cut now. Never so with `memoryStorage()`. */
  durable: boolean;
}

/** Which messages `history` answers with. */
export interface HistoryOptions extends CallOptions {
  /** First position, inclusive. Default 1. */
  from?: number;
  /** Last position, inclusive. Default: the newest. */
  to?: number;
  /** Most messages, counted from `from`. Default: all. */
  limit?: number;
}

/** A named part of a summary. */
export interface SummarySection {
  /** `goal`, `confirmed`, `decisions`, `constraints`, `failed`, `open`, `next` or `identifiers`. */
  name: string;
  /** Its lines. */
  items: string[];
}

/** The rolling summary of a conversation. */
export interface Summary {
  /** The text as it stands in a context; empty where nothing was summarised yet. */
  text: string;
  /** The text by named sections, in a fixed order. */
  sections: SummarySection[];
  /** Identifiers (paths, ports, error codes, numbers, commands, names) found in what it covers. */
  identifiers: string[];
  /** Every message up to this position, inclusive, is covered; 0: none. */
  summarizedUntilSeq: number;
  /** Rises by one with every compaction; 0: none yet. */
  version: number;
  /** Milliseconds since 1970; 0: never. */
  updatedAt: number;
}

/** Options of `compact`. */
export interface CompactOptions extends CallOptions {
  /** Everything outside the recent window, also below the high-water mark. Default false. */
  force?: boolean;
}
