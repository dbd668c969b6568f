"use client";
/**
 * React hooks over a memory, kept up to date by its events in this tab and others, and parts of an inspector without a
 * style of their own. For React 18 and 19; on a server everything is loading.
 *
 * ```tsx
 * import { createMemory } from "throughline";
 * import { MemoryProvider, useConversation } from "throughline/react";
 *
 * const open = () => createMemory({ userId: "alex" });
 * const App = () => <MemoryProvider open={open}><Chat id="c1" /></MemoryProvider>;
 * const Chat = ({ id }) => <ol>{useConversation(id).entries.map(({ id, message }) => <li key={id}>{message.content}</li>)}</ol>;
 * ```
 */
export { MemoryProvider, useMemory } from "./react/memory-provider.js";
export type { MemoryProviderProps } from "./react/memory-provider.js";
export type { MemoryState } from "./react/memory-holder.js";
export { useConversation } from "./react/use-conversation.js";
export type { LiveConversation, UseConversationOptions } from "./react/use-conversation.js";
export { useFacts } from "./react/use-facts.js";
export type { LiveFacts } from "./react/use-facts.js";
export { useContextReceipt, useSummary } from "./react/use-context-receipt.js";
export type { LiveContext, LiveSummary, UseContextReceiptOptions } from "./react/use-context-receipt.js";
export type { LiveStatus } from "./react/use-live.js";
export { ContextBar } from "./react/context-bar.js";
export type { ContextBarProps } from "./react/context-bar.js";
export { ContextSections, WhyRecalled } from "./react/context-sections.js";
export type { ContextSectionsProps, WhyRecalledProps } from "./react/context-sections.js";
export { FactList } from "./react/fact-list.js";
export type { FactListProps } from "./react/fact-list.js";
export { SummaryTree } from "./react/summary-tree.js";
export type { SummaryTreeProps } from "./react/summary-tree.js";
export { INSPECTOR_WORDS } from "./react/wording.js";
export type { InspectorWords, WithWords } from "./react/wording.js";
