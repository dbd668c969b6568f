/**
 * `throughline/openai`: models and embeddings of OpenAI, and of every server that speaks its protocol (Ollama, LM Studio,
 * llama.cpp, vLLM, OpenRouter and others), by `fetch` alone.
 */
export { openAiChat, openAiLanguageModel } from "./openai/chat.js";
export type { OpenAiChat, OpenAiChatOptions, OpenAiLanguageModelOptions, OpenAiOptions, SendOptions } from "./openai/chat.js";
export { openAiRequest } from "./openai/request.js";
export type { OpenAiRequest, OpenAiRequestOptions, OpenAiSystemMessage, PromptCacheMark } from "./openai/request.js";
export { openAiResponses } from "./openai/responses.js";
export type { OpenAiResponses, OpenAiResponsesOptions } from "./openai/responses.js";
export { openAiResponsesRequest } from "./openai/responses-request.js";
export type { OpenAiResponsesRequest, OpenAiResponsesRequestOptions } from "./openai/responses-request.js";
export type { FinishedResponse } from "./openai/response.js";
export { openAiEmbedder } from "./openai/embedder.js";
export type { OpenAiEmbedderOptions } from "./openai/embedder.js";
export type { EmbedPrefixes } from "./provider/embed-prefixes.js";
export type { AnswerUsage, ChatAnswer, FinishedAnswer, FinishReason, SendableContext } from "./provider/chat-answer.js";
export type { MemoryModelOptions } from "./provider/memory-model.js";
export type { ProviderOptions } from "./provider/provider-request.js";
