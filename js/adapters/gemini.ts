/** `throughline/gemini`: requests to Gemini with its caches, its answers, and its embeddings, by `fetch` alone. */
export { geminiChat, geminiEmbedder, geminiLanguageModel } from "./gemini/chat.js";
export type { GeminiChat, GeminiChatOptions, GeminiEmbedderOptions, GeminiLanguageModelOptions, GeminiOptions } from "./gemini/chat.js";
export { geminiCachedContent, geminiRequest } from "./gemini/request.js";
export type { GeminiCache, GeminiRequest, GeminiRequestOptions, GeminiStart } from "./gemini/request.js";
export type { AnswerUsage, ChatAnswer, FinishedAnswer, FinishReason, SendableContext } from "./provider/chat-answer.js";
export type { MemoryModelOptions } from "./provider/memory-model.js";
export type { ProviderOptions } from "./provider/provider-request.js";
