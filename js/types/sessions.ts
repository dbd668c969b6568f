import type { CallOptions, SummarySection } from "./conversations.js";

/**
 * How far something may be trusted: as far as the least trusted of what it was made from. Anybody can have written what a
 * tool answers (`external`) or what was imported; `assistant_inferred` is what a model made of what the two said.
 */
export type SourceTrust = "external" | "imported" | "assistant_inferred" | "user_stated" | "user_confirmed";

/** What happened in one session of a conversation: what was said without a pause longer than `policy.episodes.idleMs`. */
export interface Episode {
  /** Its id. */
  id: string;
  /** The conversation. */
  conversationId: string;
  /** First and last position of the session, both inclusive: `history` answers with its messages. */
  range: [number, number];
  /** When its first message was said, milliseconds since 1970. */
  startedAt: number;
  /** When its last message was said. */
  endedAt: number;
  /** The text as it stands in a context, without its day. */
  text: string;
  /** The text by named sections. */
  sections: SummarySection[];
  /** Below `policy.episodes.minTrust` it is in no context and no project's summary. */
  trust: SourceTrust;
}

/** Which episodes are listed. */
export interface ListEpisodes extends CallOptions {
  /** Only those of this conversation. */
  conversationId?: string;
  /** Most episodes. Default 20. */
  limit?: number;
}

/** A note about a conversation. */
export interface Note {
  /** The conversation. */
  conversationId: string;
  /** Its name, unique in the conversation. */
  id: string;
  /** Text, or plain data, as it was given. */
  content: unknown;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** Milliseconds since 1970. */
  updatedAt: number;
}
