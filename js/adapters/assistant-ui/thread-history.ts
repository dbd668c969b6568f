import { isMemoryError } from "../../errors.js";
import type { HistoryEntry, Memory, TreeMessage } from "../../index.js";
import { spokenMessage } from "../message-text.js";
import { fromStoredMessage, threadMessageOf, toStoredMessage, type AnyThreadMessage } from "./thread-message.js";

type Fields = Readonly<Record<string, unknown>>;

/** A message with its place: assistant-ui's `ExportedMessageRepositoryItem`. */
export interface ThreadHistoryItem<Message> {
  message: Message;
  parentId: string | null;
}

/** A thread with all its branches: assistant-ui's `ExportedMessageRepository`. */
export interface ThreadRepository<Message> {
  /** The message that the shown branch ends with. */
  headId?: string | null;
  messages: ThreadHistoryItem<Message>[];
}

/** How a runtime writes its own messages: assistant-ui's `MessageFormatAdapter`. */
export interface MessageFormat<Message, Stored extends Record<string, unknown>> {
  format: string;
  encode(item: ThreadHistoryItem<Message>): Stored;
  decode(stored: { id: string; parent_id: string | null; format: string; content: Stored }): ThreadHistoryItem<Message>;
  getId(message: Message): string;
}

/** The history of a runtime with messages of its own, such as `useChatRuntime`. */
export interface FormattedHistory<Message> {
  load(): Promise<ThreadRepository<Message>>;
  append(item: ThreadHistoryItem<Message>): Promise<void>;
  delete(items: ThreadHistoryItem<Message>[]): Promise<void>;
}

/** A `ThreadHistoryAdapter` of assistant-ui. */
export interface ThreadHistory<Message extends AnyThreadMessage> {
  /** Names what is read: another conversation is loaded anew. */
  scopeId: string | undefined;
  load(): Promise<ThreadRepository<Message>>;
  append(item: ThreadHistoryItem<Message>): Promise<void>;
  delete(items: ThreadHistoryItem<Message>[]): Promise<void>;
  withFormat<Other, Stored extends Record<string, unknown>>(format: MessageFormat<Other, Stored>): FormattedHistory<Other>;
}

/** Options of `threadHistory`. */
export interface ThreadHistoryOptions {
  /**
   * The conversation, or what tells it: for thread lists, where a thread has an id only once its first message is sent. It is
   * asked with `true` where a message is to be stored. Where it tells none, there is nothing to load.
   */
  conversationId: string | ((isWrite: boolean) => Promise<string | undefined> | string | undefined);
}

/** The part of a memory that a history uses. */
export type HistoryMemory = Pick<Memory, "append" | "history" | "remove" | "conversations">;

/**
 * The history of a thread. Every message is stored when the runtime has it whole, with its branch; edits and other answers
 * are branches, as in the runtime. The conversation is made with the first message where it is not there.
 *
 * `Message` is assistant-ui's `ThreadMessage`, which TypeScript finds where the history is given to a runtime at once.
 */
export function threadHistory<Message extends AnyThreadMessage = AnyThreadMessage>(memory: HistoryMemory, { conversationId }: ThreadHistoryOptions): ThreadHistory<Message> {
  const thread = new StoredThread(memory, typeof conversationId === "string" ? () => conversationId : conversationId);
  return {
    scopeId: typeof conversationId === "string" ? conversationId : undefined,
    // What this adapter stored comes back as it was given.
    load: () => thread.load(({ id, message }) => (fromStoredMessage(message) ?? asText(id, message)) as Message),
    append: ({ message, parentId }) => thread.append(toStoredMessage(message), parentId),
    delete: (items) => thread.remove(items.map(({ message }) => message.id)),
    withFormat: (format) => formatted(thread, format),
  };
}

function formatted<Message, Stored extends Record<string, unknown>>(thread: StoredThread, format: MessageFormat<Message, Stored>): FormattedHistory<Message> {
  const decode = ({ id, message }: HistoryEntry, parentId: string | null): Message => {
    const { id: _, ...content } = message;
    return format.decode({ id, parent_id: parentId, format: format.format, content: content as Stored }).message;
  };
  return {
    load: () => thread.load(decode),
    append: (item) => thread.append({ ...format.encode(item), id: format.getId(item.message) }, item.parentId),
    delete: (items) => thread.remove(items.map(({ message }) => format.getId(message))),
  };
}

/** What another app or adapter stored is shown as its text. */
function asText(id: string, message: object): AnyThreadMessage {
  const { role, text } = spokenMessage(message);
  return threadMessageOf(id, role === "tool" ? "assistant" : role, text);
}

/** One conversation as the messages of a thread. */
class StoredThread {
  readonly #memory: HistoryMemory;
  readonly #conversationId: (isWrite: boolean) => Promise<string | undefined> | string | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(memory: HistoryMemory, conversationId: (isWrite: boolean) => Promise<string | undefined> | string | undefined) {
    this.#memory = memory;
    this.#conversationId = conversationId;
  }

  async load<Message>(read: (entry: HistoryEntry, parentId: string | null) => Message): Promise<ThreadRepository<Message>> {
    const id = await this.#conversationId(false);
    if (id === undefined) return { messages: [] };
    try {
      const [entries, tree] = await Promise.all([this.#memory.history(id, { all: true, withStatus: true }), this.#memory.conversations.tree(id)]);
      const places = new Map(tree.map((place) => [place.id, place]));
      const messages = entries.flatMap((entry) => {
        const place = places.get(entry.id);
        return place === undefined ? [] : [{ message: read(entry, place.parentId), parentId: place.parentId }];
      });
      return { headId: headOf(tree), messages };
    } catch (error) {
      if (isMemoryError(error, "not_found")) return { messages: [] };
      throw error;
    }
  }

  /** Runtimes do not wait for a message to be stored before they give the one that follows it. */
  append(message: Fields, parentId: string | null): Promise<void> {
    const appended = this.#last.then(() => this.#append(message, parentId));
    this.#last = appended.catch(() => undefined);
    return appended;
  }

  async #append(message: Fields, parentId: string | null): Promise<void> {
    const id = await this.#conversationId(true);
    if (id === undefined) return;
    const append = (): Promise<unknown> => this.#memory.append(id, message, { parentId, format: "ai-sdk" });
    try {
      await append();
    } catch (error) {
      // Only a first message can be there before its conversation.
      if (parentId !== null || !isMemoryError(error, "not_found")) throw error;
      await makeConversation(this.#memory, id);
      await append();
    }
  }

  async remove(messageIds: readonly string[]): Promise<void> {
    const id = await this.#conversationId(false);
    if (id === undefined) return;
    for (const messageId of messageIds) {
      await this.#memory.remove(id, messageId).catch((error: unknown) => {
        if (!isMemoryError(error, "not_found")) throw error;
      });
    }
  }
}

/** Makes a conversation where it is not there. */
export async function makeConversation(memory: Pick<Memory, "conversations">, id: string): Promise<void> {
  await memory.conversations.create({ id }).catch((error: unknown) => {
    if (!isMemoryError(error, "conflict")) throw error;
  });
}

function headOf(tree: readonly TreeMessage[]): string | null {
  return tree.filter(({ active }) => active).at(-1)?.id ?? null;
}
