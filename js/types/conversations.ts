import type { SourceTrust } from "./sessions.js";

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
  /** The conversation that it does a part of the work of, where it does. */
  parentId: string | null;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** Milliseconds since 1970, of the last append or rename. */
  updatedAt: number;
  /** Number of messages, those of every branch. */
  messageCount: number;
  /** Whether a message has been edited or answered anew: then some messages are not on the active path. */
  hasBranches: boolean;
  /** Sum of the messages' token counts, those of every branch. */
  tokens: number;
  /** The app that it was imported from, where it was. */
  source: string | null;
  /** Hash of what was imported, as the importer gave it. */
  importHash: string | null;
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
  /**
   * The conversation that it does a part of the work of: a sub-agent's. It is listed only with `list({ parentId })`, nothing
   * of it is searched, learned or summarised for other conversations, and it goes with its parent. Of what is said in it
   * only the result enters the parent, which the app appends there.
   */
  parentId?: string;
  /** When it was made, where that was elsewhere; milliseconds since 1970. Default: now. */
  createdAt?: number;
  /** When it was changed last, where that was elsewhere; milliseconds since 1970. Default: `createdAt`. */
  updatedAt?: number;
  /** The app that it is imported from. */
  source?: string;
  /** Hash of what is imported, to recognise it again. */
  importHash?: string;
}

/** Changes of a conversation; what is left out stays. */
export interface UpdateConversation {
  /** Empty text goes back to the title made from the first user text. */
  title?: string | null;
  /** A group of conversations that belong together. */
  projectId?: string | null;
  /** See {@link Conversation.remember}. */
  remember?: boolean;
  /** See {@link Conversation.source}. It, and `importHash`, leave `updatedAt` as it is. */
  source?: string;
  /** See {@link Conversation.importHash}. */
  importHash?: string;
}

/** Which conversations are listed. */
export interface ListConversations extends CallOptions {
  /** Most items, 1 to 1,000. Default 50. */
  limit?: number;
  /** `next` of the page before. */
  before?: string;
  /** Those that do a part of this conversation's work. Default: those that are no part of another. */
  parentId?: string;
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
  /**
   * Id of the message that the first one follows; the others follow each other. `null`: it follows none. Default: the
   * newest of the active path. Where that message has been followed already, this begins a branch, which is the active
   * path from then on. An id that is not there is `not_found`.
   *
   * A new answer to the same question is `setActiveLeaf(conversationId, questionId)`, `buildContext`, `append`: the
   * answer before stays as a branch.
   */
  parentId?: string | null;
  /**
   * They stay on this device: they are in no context for a model elsewhere, and no callback that is `remote` sees them, nor
   * any summary. What is answered to them in the same turn, and an edit of them, stays too. Default false.
   */
  localOnly?: boolean;
}

/** Options of `edit`. */
export interface EditOptions extends CallOptions {
  /** The message's format. Default: detected. */
  format?: MessageFormat;
}

/** Options of `remove`. */
export interface RemoveOptions extends CallOptions {
  /**
   * True: with everything that follows the message, on every branch. Default false: what follows it follows its parent
   * from then on.
   */
  descendants?: boolean;
}

/** Options of `setActiveLeaf`. */
export interface ActiveLeafOptions extends CallOptions {
  /**
   * True: the path goes on to the newest message below the one that is named, which is what a person means who picks a
   * branch by its first message. Default false: the path ends at the message.
   */
  descend?: boolean;
}

/** What an edit, a removal or another active leaf made void. */
export interface Invalidated {
  /**
   * The rolling summary covered what is no longer on the path. The furthest earlier one that covers only what still is
   * took its place, or none; the rest is summarised again in the background.
   */
  summary: boolean;
  /** Messages that left the active path or were removed. */
  messages: number;
  /** Facts that were withdrawn, since the message that alone showed them was edited or removed. */
  facts: number;
  /** Vectors that left the search index. */
  vectors: number;
}

/** Where an edited message went. The active path ends with it: an answer to it is appended next. */
export interface EditedMessage extends AppendedMessage {
  /** What the edit made void. */
  invalidated: Invalidated;
}

/** A message of the tree, without its text. */
export interface TreeMessage {
  /** The message's id. */
  id: string;
  /** Its position: a message follows one of a lower position. Positions of removed messages are not used again. */
  seq: number;
  /** The message that it follows; `null`: none. */
  parentId: string | null;
  /** Who speaks. */
  role: "system" | "user" | "assistant" | "tool";
  /** On the active path, which alone is in contexts, summaries and searches. */
  active: boolean;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** Ids of the messages that follow it, oldest first: more than one where there are branches. */
  children: string[];
}

/** Where a message went. */
export interface AppendedMessage {
  /** The message's own id, else `seq:<position>`. */
  id: string;
  /** Position in the conversation: in the order of arrival, dense, from 1. */
  seq: number;
  /**
   * Whether it would survive a power cut now. Never so with `memoryStorage()`; with `policy.durability: "relaxed"`, and for what
   * was imported, only after the next `flush()`.
   */
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
  /** True: the messages of every branch, by position. Default false: those of the active path. */
  all?: boolean;
  /** True answers with `HistoryEntry`: each message with its id, position and status, in place of the raw messages. Default false. */
  withStatus?: boolean;
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
  /** The lowest trust of what it was made from, where that is known. */
  trust?: SourceTrust;
  /**
   * What it is made of, lowest first: the chunks that were folded in one go, topics above them, the conversation, its
   * project. To go down from a node to what was said: `history(id, { from, to })`, or `recall` with `filter.from` and `to`.
   */
  tree: SummaryNode[];
}

/** A node of the summary tree. */
export interface SummaryNode {
  /** What it covers. */
  level: "chunk" | "topic" | "conversation" | "project";
  /** First and last position covered, both inclusive; not for a project. */
  range?: [number, number];
  /** First positions of the nodes right below; a topic's are chunks, the conversation's topics and chunks of none. */
  children: number[];
  /** The conversations that a project's summary is about. */
  conversationIds?: string[];
  /** The text by named sections. A chunk has what its messages added to the notes. */
  sections: SummarySection[];
  /** What is below it has changed since it was made: it is made again in the background. */
  dirty: boolean;
  /** The lowest trust of what it was made from, where that is known. */
  trust?: SourceTrust;
}

/** Options of `compact`. */
export interface CompactOptions extends CallOptions {
  /** Everything outside the recent window, also below the high-water mark. Default false. */
  force?: boolean;
}
