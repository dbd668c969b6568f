import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import { mapStoredMessagesToChatMessages, type BaseMessage, type StoredMessage } from "@langchain/core/messages";
import { isMemoryError } from "../../errors.js";
import { requireId } from "../../arguments.js";
import type { Memory } from "../../index.js";
import { spokenMessage, type SpokenMessage } from "../message-text.js";

/** What a `ThroughlineChatHistory` is made of. */
export interface ThroughlineChatHistoryFields {
  /** The memory; the app closes it. */
  memory: Pick<Memory, "append" | "history" | "conversations">;
  /** The conversation, LangChain's session. It is made with the first message where it is not there. */
  conversationId: string;
  /** Project of a conversation that is made. Default none. */
  projectId?: string;
}

/** Types of stored messages in LangChain, by role. */
const TYPES: Readonly<Record<SpokenMessage["role"], string>> = { system: "system", user: "human", assistant: "ai", tool: "human" };

/**
 * A LangChain chat history that is kept in a memory: every message, byte for byte in LangChain's stored form, found by
 * `recall` and put into contexts like any other. Messages that the conversation has in other formats come as their text.
 *
 * ```ts
 * const chain = new RunnableWithMessageHistory({
 *   runnable, inputMessagesKey: "input", historyMessagesKey: "history",
 *   getMessageHistory: (sessionId) => new ThroughlineChatHistory({ memory, conversationId: sessionId }),
 * });
 * ```
 */
export class ThroughlineChatHistory extends BaseListChatMessageHistory {
  /** LangChain's name for where this class is from. */
  lc_namespace = ["throughline", "langchain"];
  readonly #fields: ThroughlineChatHistoryFields;

  /** @throws `invalid_argument` for an id that cannot be one. */
  constructor(fields: ThroughlineChatHistoryFields) {
    super();
    requireId(fields.conversationId, "fields.conversationId");
    this.#fields = fields;
  }

  /** The messages of the active path, oldest first; none where the conversation is not there. */
  override async getMessages(): Promise<BaseMessage[]> {
    const { memory, conversationId } = this.#fields;
    const messages = await memory.history(conversationId).catch((error: unknown) => {
      if (isMemoryError(error, "not_found")) return [];
      throw error;
    });
    return mapStoredMessagesToChatMessages(messages.map(toStored));
  }

  /** Stores a message. One that is stored already, by its id, is not stored twice. */
  override addMessage(message: BaseMessage): Promise<void> {
    return this.addMessages([message]);
  }

  /** Stores messages, all of them or none. */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    const { memory, conversationId, projectId } = this.#fields;
    const stored = messages.map((message) => message.toDict());
    const append = (): Promise<unknown> => memory.append(conversationId, stored, { format: "langchain" });
    try {
      await append();
    } catch (error) {
      if (!isMemoryError(error, "not_found")) throw error;
      await memory.conversations.create({ id: conversationId, ...(projectId !== undefined && { projectId }) }).catch(unlessThere);
      await append();
    }
  }

  /** Deletes the conversation with everything that was made from it. The next message makes it anew. */
  override clear(): Promise<void> {
    const { memory, conversationId } = this.#fields;
    return memory.conversations.delete(conversationId);
  }
}

/** Somebody else made it meanwhile. */
function unlessThere(error: unknown): void {
  if (!isMemoryError(error, "conflict")) throw error;
}

function toStored(message: object): StoredMessage {
  if ("type" in message && typeof message.type === "string" && "data" in message && typeof message.data === "object" && message.data !== null) {
    return { type: message.type, data: message.data };
  }
  const { role, text } = spokenMessage(message);
  return { type: TYPES[role], data: { content: text } };
}
