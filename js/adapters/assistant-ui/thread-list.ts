import { MemoryError } from "../../errors.js";
import type { Conversation, Memory } from "../../index.js";
import { makeConversation } from "./thread-history.js";

/** A thread of the list: assistant-ui's `RemoteThreadMetadata`. */
export interface ThreadMetadata {
  status: "regular";
  remoteId: string;
  title?: string;
  lastMessageAt: Date;
}

/** A `RemoteThreadListAdapter` of assistant-ui; `Stream` is its `AssistantStream`. */
export interface ThreadList<Stream> {
  list(params?: { after?: string | undefined }): Promise<{ threads: ThreadMetadata[]; nextCursor?: string }>;
  initialize(threadId: string): Promise<{ remoteId: string; externalId: undefined }>;
  rename(remoteId: string, title: string): Promise<void>;
  delete(remoteId: string): Promise<void>;
  fetch(remoteId: string): Promise<ThreadMetadata>;
  /** Always rejects with `invalid_argument`: conversations are kept or deleted. Show no button for it. */
  archive(remoteId: string): Promise<void>;
  generateTitle(remoteId: string): Promise<Stream>;
}

/** Options of `threadList`. */
export interface ThreadListOptions<Stream> {
  /**
   * A stream with the title of a thread. A conversation has one from its first message, so this is
   * `(title) => createAssistantStream((controller) => controller.appendText(title))`, of `assistant-stream`.
   */
  titleStream: (title: string) => Stream;
  /** Threads of one page, 1 to 1,000. Default 50. */
  pageSize?: number;
}

/** The threads of a user: every conversation that is no part of another, the one with the newest message first. */
export function threadList<Stream>(memory: Pick<Memory, "conversations">, { titleStream, pageSize = 50 }: ThreadListOptions<Stream>): ThreadList<Stream> {
  return {
    list: async ({ after } = {}) => {
      const { items, next } = await memory.conversations.list({ limit: pageSize, ...(after !== undefined && { before: after }) });
      return { threads: items.map(toMetadata), ...(next !== undefined && { nextCursor: next }) };
    },
    initialize: async (threadId) => {
      await makeConversation(memory, threadId);
      return { remoteId: threadId, externalId: undefined };
    },
    rename: async (remoteId, title) => {
      await memory.conversations.update(remoteId, { title });
    },
    delete: (remoteId) => memory.conversations.delete(remoteId),
    fetch: async (remoteId) => toMetadata(await memory.conversations.get(remoteId)),
    archive: () => Promise.reject(new MemoryError("invalid_argument", "threadList: conversations cannot be archived; delete them, or show no button for it.")),
    generateTitle: async (remoteId) => titleStream((await memory.conversations.get(remoteId)).title),
  };
}

function toMetadata({ id, title, updatedAt }: Conversation): ThreadMetadata {
  return { status: "regular", remoteId: id, title, lastMessageAt: new Date(updatedAt) };
}
