import type { AppendOptions, AppendedMessage, RawMessage } from "./conversations.js";

/**
 * Whether a message is whole: `"streaming"` while parts of it arrive, `"aborted"` where it ended before it was whole; what
 * arrived is kept.
 */
export type MessageStatus = "complete" | "streaming" | "aborted";

/** Options of `stream`. `signal` aborts the message, before it is stored or while it arrives. */
export type StreamOptions = AppendOptions;

/** How a streamed message ended. */
export interface StreamedMessage extends AppendedMessage {
  /** `"aborted"` also where `complete` was called after the message had been aborted. */
  status: "complete" | "aborted";
}

/** A stored message with what `history` does not say of it otherwise. */
export interface HistoryEntry<Message extends object = RawMessage> {
  /** The message's own id, else `seq:<position>`. */
  id: string;
  /** Position in the conversation: dense, from 1. */
  seq: number;
  /** Whether it is whole. */
  status: MessageStatus;
  /** It stays on this device: see `AppendOptions.localOnly`. Left out where it does not. */
  localOnly?: true;
  /** The raw message, as it was given. */
  message: Message;
}
