/**
 * Threads of assistant-ui in a memory: the history of one thread, and the list of all.
 *
 * ```ts
 * import { threadHistory } from "throughline/assistant-ui";
 *
 * const history = useMemo(() => threadHistory(memory, { conversationId: "c1" }), [memory]);
 * const runtime = useLocalRuntime(model, { adapters: { history } });
 * ```
 */
export { threadHistory } from "./assistant-ui/thread-history.js";
export type {
  FormattedHistory, MessageFormat, ThreadHistory, ThreadHistoryItem, ThreadHistoryOptions, ThreadRepository,
} from "./assistant-ui/thread-history.js";
export { threadList } from "./assistant-ui/thread-list.js";
export type { ThreadList, ThreadListOptions, ThreadMetadata } from "./assistant-ui/thread-list.js";
export type { AnyThreadMessage } from "./assistant-ui/thread-message.js";
