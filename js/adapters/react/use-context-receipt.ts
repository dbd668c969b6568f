import { useEffect, useMemo } from "react";
import type { BuildContextRequest, Context, Memory, RawMessage, Receipt, Summary } from "../../index.js";
import type { Load } from "./live-query.js";
import { useMemory } from "./memory-provider.js";
import { onEvents, useLive, useLiveQuery, useStatus, type LiveStatus } from "./use-live.js";

/** How long a question may change before its context is built, in milliseconds. */
const DELAY_MS = 200;

/** What would be sent to the model. */
export type LiveContext<Message extends object = RawMessage> = LiveStatus & {
  /** The context that was built last; it stays while the next one is built. */
  readonly context: Context<Message> | undefined;
  /** Its receipt: what `ContextBar` and `ContextSections` draw. */
  readonly receipt: Receipt | undefined;
}

/** Options of `useContextReceipt`. */
export interface UseContextReceiptOptions {
  /** Milliseconds that the request must rest before a context is built, so that typing does not build one per key. Default 200. */
  delayMs?: number;
}

/**
 * The context for a request, live: built again when the request changes, or what it is made of. One build at a time; one
 * that is no longer wanted is aborted. Nothing is stored. The request may be a new object each time, what it says is compared.
 *
 * @param request As for `memory.buildContext`. `null`: status `idle`.
 */
export function useContextReceipt<Message extends object = RawMessage>(
  request: Omit<BuildContextRequest, "signal"> | null | undefined,
  { delayMs = DELAY_MS }: UseContextReceiptOptions = {},
): LiveContext<Message> {
  const key = request === null || request === undefined ? undefined : JSON.stringify(request);
  const conversationId = request?.conversationId;
  // Made for the memory and the conversation; what is asked of them is replaced.
  const { query, memory } = useReceiptQuery<Message>(conversationId);
  useEffect(() => {
    query.replace(memory === undefined || key === undefined ? undefined : contextLoad<Message>(memory, key), delayMs);
  }, [query, memory, key, delayMs]);
  const live = useLive(query);
  const status = useStatus(live, key !== undefined);
  const context = key === undefined ? undefined : live.data;
  return useMemo(() => ({ ...status, context, receipt: context?.receipt }), [status.status, status.error, context]);
}

function useReceiptQuery<Message extends object>(conversationId: string | undefined): { query: ReturnType<typeof useLiveQuery<Context<Message>>>; memory: Memory | undefined } {
  const { memory } = useMemory();
  const query = useLiveQuery<Context<Message>>(
    (open) => ({
      load: undefined,
      watch: (changed) => onEvents(open, ["append", "stream", "conversation", "compaction", "fact", "storage"], changed),
    }),
    [conversationId],
  );
  return { query, memory };
}

function contextLoad<Message extends object>(memory: Memory, key: string): Load<Context<Message>> {
  return (signal) => memory.buildContext<Message>({ ...(JSON.parse(key) as BuildContextRequest), signal });
}

/** A rolling summary. */
export type LiveSummary = LiveStatus & {
  /** The summary; version 0 and empty where nothing has been summarised. */
  readonly summary: Summary | undefined;
};

/** The rolling summary of a conversation, live: what `SummaryTree` draws. */
export function useSummary(conversationId: string | null | undefined): LiveSummary {
  const query = useLiveQuery<Summary>(
    (memory) => ({
      load: typeof conversationId === "string" ? (signal) => memory.summary(conversationId, { signal }) : undefined,
      watch: (changed) => onEvents(memory, ["compaction", "conversation", "storage"], changed),
    }),
    [conversationId],
  );
  const live = useLive(query);
  const status = useStatus(live, typeof conversationId === "string");
  const summary = live.data;
  return useMemo(() => ({ ...status, summary }), [status.status, status.error, summary]);
}
