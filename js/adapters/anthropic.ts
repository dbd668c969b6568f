/** `throughline/anthropic`: requests to Anthropic's Messages API with cache breakpoints, and its answers, by `fetch` alone. */
export { anthropicChat, anthropicLanguageModel } from "./anthropic/chat.js";
export type { AnthropicChat, AnthropicChatOptions, AnthropicLanguageModelOptions, AnthropicOptions } from "./anthropic/chat.js";
export { anthropicRequest } from "./anthropic/request.js";
export type { AnthropicRequest, AnthropicRequestOptions, AnthropicSystemBlock, CacheControl } from "./anthropic/request.js";
export type { AnswerUsage, ChatAnswer, FinishedAnswer, FinishReason, SendableContext } from "./provider/chat-answer.js";
export type { MemoryModelOptions } from "./provider/memory-model.js";
export type { ProviderOptions } from "./provider/provider-request.js";
