import { useMemo } from "react";
import type {
  AppendedMessage, AppendOptions, Conversation, EditedMessage, EditOptions, HistoryEntry, Invalidated, Memory, MessageStream, RawMessage, RemoveOptions, StreamOptions,
} from "../../index.js";
import type { LiveQueryOptions } from "./live-query.js";
import { useMemory } from "./memory-provider.js";
import { onEvents, openMemory, useLive, useLiveQuery, useStatus, type LiveStatus } from "./use-live.js";

/** How often a message that is streaming is read, in milliseconds. */
const STREAMING_POLL_MS = 200;

/** Options of `useConversation`. */
export interface UseConversationOptions {
  /** Only the newest messages, about so many, from 1. Default: all of the active path. */
  newest?: number;
}

/** A conversation as a component sees it, with what it can do. */
export type LiveConversation<Message extends object = RawMessage> = LiveStatus & {
  /** Title, counts, times; `undefined` until it was read, and where it is not there (`error.code` is `not_found`). */
  readonly conversation: Conversation | undefined;
  /** The messages of the active path with id, position and status. An entry stays the same object while its message does. */
  readonly entries: readonly HistoryEntry<Message>[];
  /** As `memory.append`, to this conversation. */
  append(messages: Message | readonly Message[], options?: AppendOptions): Promise<AppendedMessage[]>;
  /** As `memory.stream`. What arrives shows in `entries` within about a quarter of a second. */
  stream(message: Message, options?: StreamOptions): Promise<MessageStream>;
  /** As `memory.edit`. */
  edit(messageId: string, message: Message, options?: EditOptions): Promise<EditedMessage>;
  /** As `memory.remove`. */
  remove(messageId: string, options?: RemoveOptions): Promise<{ invalidated: Invalidated }>;
  /** As `memory.setActiveLeaf`, going on to the newest message below. */
  showBranch(messageId: string): Promise<{ invalidated: Invalidated }>;
}

interface Read<Message extends object> {
  conversation: Conversation;
  entries: readonly HistoryEntry<Message>[];
}

/**
 * A conversation, live: whatever is appended, streamed, edited or removed, in this tab or another, shows at once.
 *
 * @param conversationId Left out, or `null`: status `idle`.
 */
export function useConversation<Message extends object = RawMessage>(
  conversationId: string | null | undefined,
  { newest }: UseConversationOptions = {},
): LiveConversation<Message> {
  const { memory } = useMemory();
  const query = useLiveQuery<Read<Message>>((open) => conversationQuery(open, conversationId ?? undefined, newest), [conversationId, newest]);
  const live = useLive(query);
  const status = useStatus(live, typeof conversationId === "string");
  const actions = useMemo(() => conversationActions<Message>(memory, conversationId ?? ""), [memory, conversationId]);
  const { data } = live;
  return useMemo(
    () => ({ ...status, conversation: data?.conversation, entries: data?.entries ?? [], ...actions }),
    [status.status, status.error, data, actions],
  );
}

function conversationQuery<Message extends object>(memory: Memory, id: string | undefined, newest: number | undefined): LiveQueryOptions<Read<Message>> {
  const isAbout = (payload: { conversationId?: string }): boolean => payload.conversationId === undefined || payload.conversationId === id;
  return {
    load: id === undefined ? undefined : async (signal, before) => {
      const conversation = await memory.conversations.get(id, { signal });
      // Positions of removed messages stay taken, so this begins early enough.
      const from = newest === undefined ? 1 : Math.max(1, conversation.messageCount - newest + 1);
      const read = await memory.history<Message>(id, { from, withStatus: true, signal });
      return { conversation, entries: withFormer(newest === undefined ? read : read.slice(-newest), before?.entries) };
    },
    watch: (changed) => onEvents(memory, ["append", "stream", "conversation", "storage"], (payload) => isAbout(payload) && changed()),
    pollMs: ({ entries }) => (entries.some(({ status }) => status === "streaming") ? STREAMING_POLL_MS : undefined),
  };
}

/** Entries that are what they were are the same objects, so that rows which depend on one are not drawn again. */
function withFormer<Message extends object>(entries: HistoryEntry<Message>[], before: readonly HistoryEntry<Message>[] | undefined): HistoryEntry<Message>[] {
  const known = new Map(before?.map((entry) => [entry.seq, entry]));
  return entries.map((entry) => {
    const former = known.get(entry.seq);
    const isSame = former !== undefined && former.id === entry.id && former.status === entry.status && JSON.stringify(former.message) === JSON.stringify(entry.message);
    return isSame ? former : entry;
  });
}

type Actions<Message extends object> = Pick<LiveConversation<Message>, "append" | "stream" | "edit" | "remove" | "showBranch">;

function conversationActions<Message extends object>(memory: Memory | undefined, id: string): Actions<Message> {
  return {
    append: async (messages, options) => openMemory(memory).append(id, messages, options),
    stream: async (message, options) => openMemory(memory).stream(id, message, options),
    edit: async (messageId, message, options) => openMemory(memory).edit(id, messageId, message, options),
    remove: async (messageId, options) => openMemory(memory).remove(id, messageId, options),
    showBranch: async (messageId) => openMemory(memory).setActiveLeaf(id, messageId, { descend: true }),
  };
}
