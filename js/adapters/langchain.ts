/**
 * LangChain.js over a memory: a chat history and a retriever.
 *
 * ```ts
 * import { ThroughlineChatHistory, ThroughlineRetriever } from "throughline/langchain";
 *
 * const history = new ThroughlineChatHistory({ memory, conversationId: "c1" });
 * const documents = await new ThroughlineRetriever({ memory, topK: 5 }).invoke("Which port did we pick?");
 * ```
 */
export { ThroughlineChatHistory } from "./langchain/chat-history.js";
export type { ThroughlineChatHistoryFields } from "./langchain/chat-history.js";
export { ThroughlineRetriever } from "./langchain/retriever.js";
export type { RecalledMetadata, ThroughlineRetrieverFields } from "./langchain/retriever.js";
