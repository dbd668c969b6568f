// Compiled against the real libraries by tests/adapters/types.test.mjs: what the adapters give is what they take. A line
// behind `@ts-expect-error` must not compile.

import type Anthropic from "@anthropic-ai/sdk";
import type { GenericThreadHistoryAdapter, RemoteThreadListAdapter, ThreadHistoryAdapter, ThreadMessage } from "@assistant-ui/core";
import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import type { DocumentInterface } from "@langchain/core/documents";
import { BaseRetriever } from "@langchain/core/retrievers";
import { RunnableWithMessageHistory, type Runnable } from "@langchain/core/runnables";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { jsonSchema, type ToolSet } from "ai";
import { jsonSchema as jsonSchema7, type ToolSet as ToolSet7 } from "ai-7";
import { createAssistantStream } from "assistant-stream";
import type OpenAI from "openai";
import { createElement, type ReactElement, type ReactNode } from "react";
import type { Memory, RawMessage } from "throughline";
import { threadHistory, threadList } from "throughline/assistant-ui";
import { ThroughlineChatHistory, ThroughlineRetriever } from "throughline/langchain";
import { createMemoryServer, openBackupStore } from "throughline/mcp";
import { ContextBar, ContextSections, FactList, MemoryProvider, useConversation, useMemory } from "throughline/react";
import { aiSdkTools, anthropicTools, memoryTools, openAiResponsesTools, openAiTools } from "throughline/tools";

declare const memory: Memory;
declare const runnable: Runnable;

const tools = memoryTools(memory, { confirm: ({ fact }) => fact.length > 0 });
export const chat: OpenAI.Chat.ChatCompletionTool[] = openAiTools(tools);
export const responses: OpenAI.Responses.Tool[] = openAiResponsesTools(tools);
export const messages: Anthropic.Messages.Tool[] = anthropicTools(tools);
export const sdk: ToolSet = aiSdkTools(tools, jsonSchema);
export const sdk7: ToolSet7 = aiSdkTools(tools, jsonSchema7);
// @ts-expect-error There is no such place.
memoryTools(memory, { destination: "moon" });

export const history: BaseListChatMessageHistory = new ThroughlineChatHistory({ memory, conversationId: "c" });
export const retriever: BaseRetriever = new ThroughlineRetriever({ memory, topK: 3, tags: ["a"] });
export const documents: Promise<DocumentInterface<{ conversationId: string }>[]> = new ThroughlineRetriever({ memory }).invoke("x", { signal: AbortSignal.timeout(1) });
export const chain = new RunnableWithMessageHistory({ runnable, getMessageHistory: (id: string) => new ThroughlineChatHistory({ memory, conversationId: id }) });
// @ts-expect-error A history is of one conversation.
new ThroughlineChatHistory({ memory });

export const thread: ThreadHistoryAdapter = threadHistory(memory, { conversationId: "c" });
export const own = threadHistory<ThreadMessage>(memory, { conversationId: () => undefined });
export const formatted: GenericThreadHistoryAdapter<{ id: string }> = own.withFormat<{ id: string }, Record<string, unknown>>({
  format: "f", encode: () => ({}), getId: ({ id }) => id, decode: ({ id, parent_id: parentId }) => ({ parentId, message: { id } }),
});
export const list: RemoteThreadListAdapter = threadList(memory, { titleStream: (title) => createAssistantStream((controller) => controller.appendText(title)) });

export async function serve(): Promise<void> {
  const store = await openBackupStore({ file: "a", passphrase: "b" });
  await createMemoryServer(store.memory, { readOnly: true }).connect(new StdioServerTransport());
  // @ts-expect-error The file is where it is kept.
  await openBackupStore({ file: "a", storage: { kind: "memory" } });
}

export function Chat({ id }: { id: string }): ReactElement {
  const state = useMemory();
  const { entries, append } = useConversation<{ role: string; content: string }>(id);
  const words: ReactNode = state.status === "ready" ? state.memory.conversations.constructor.name : state.error?.code;
  // @ts-expect-error Only a memory that is ready is there.
  state.memory.close();
  const add = (): void => void append({ role: "user", content: "x" });
  return createElement("ol", { onClick: add }, words, entries.map(({ id: key, message }) => createElement("li", { key }, message.content.toUpperCase())));
}

export function App({ facts }: { facts: Parameters<typeof FactList>[0]["facts"] }): ReactElement {
  const { entries } = useConversation(null);
  const first: RawMessage | undefined = entries[0]?.message;
  const parts = [createElement(FactList, { key: 1, facts, onForget: (id) => id.length, words: { forget: "Vergessen" } }), JSON.stringify(first)];
  // @ts-expect-error Either an open memory or how it is opened.
  createElement(MemoryProvider, { memory, open: () => Promise.resolve(memory) });
  return createElement(MemoryProvider, { open: () => Promise.resolve(memory) }, ...parts);
}

export const shown = (receipt: Parameters<typeof ContextBar>[0]["receipt"]): ReactElement[] => [
  createElement(ContextBar, { receipt }),
  createElement(ContextSections, { receipt, renderItem: ({ id }) => createElement("b", null, id) }),
];
