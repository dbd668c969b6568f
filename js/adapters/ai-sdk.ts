/**
 * `throughline/ai-sdk`: memory for apps of the AI SDK (`ai` 5, 6 and 7): a transport for `useChat` without a server, a middleware
 * for language models, `prepareStep` for loops of tools, and any of its models as the memory's own. Nothing of `ai` is loaded from here; the app gives what is needed.
 */
export { memoryMiddleware } from "./ai-sdk/middleware.js";
export type { MemoryMiddleware, MemoryMiddlewareOptions } from "./ai-sdk/middleware.js";
export { memorySteps } from "./ai-sdk/steps.js";
export type { MemorySteps, MemoryStepsOptions } from "./ai-sdk/steps.js";
export { memoryChatTransport } from "./ai-sdk/transport.js";
export type { AnswerRequest, MemoryChatTransport, MemoryChatTransportOptions, UiChunkLike, UiMessageLike } from "./ai-sdk/transport.js";
export { aiSdkEmbedder, aiSdkLanguageModel } from "./ai-sdk/models.js";
export type { AiSdkEmbedderOptions, AiSdkEmbeddingModelLike, AiSdkLanguageModelOptions, AiSdkModelLike } from "./ai-sdk/models.js";
export type { AdapterMemory, ContextOptions } from "./ai-sdk/turn-store.js";
