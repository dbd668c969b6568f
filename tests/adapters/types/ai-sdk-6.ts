// The adapter is what AI SDK 6 takes, by its own types.
import {
  convertToModelMessages, generateText, readUIMessageStream, streamText, wrapLanguageModel,
  type ChatTransport, type EmbeddingModel, type LanguageModel, type UIMessage,
} from "ai";
import { createMemory, type Memory } from "throughline";
import { aiSdkEmbedder, aiSdkLanguageModel, memoryChatTransport, memoryMiddleware, memorySteps } from "throughline/ai-sdk";

type Wrapped = Parameters<typeof wrapLanguageModel>[0]["model"];
type Embedding = Exclude<EmbeddingModel, string>;

export async function adapters(memory: Memory, model: LanguageModel, inner: Wrapped, embedding: Embedding): Promise<void> {
  const transport: ChatTransport<UIMessage> = memoryChatTransport({
    memory,
    readUIMessageStream: readUIMessageStream<UIMessage>,
    answer: async ({ system, messages, abortSignal }) =>
      streamText({ model, system, messages: await convertToModelMessages(messages), abortSignal }).toUIMessageStream(),
  });
  await transport.reconnectToStream({ chatId: "c" });
  wrapLanguageModel({ model: inner, middleware: memoryMiddleware({ memory, conversationId: "c", specificationVersion: "v3" }) });
  const { prepareStep, onStepFinish } = memorySteps({ memory, conversationId: "c" });
  await generateText({ model, prompt: "?", prepareStep, onStepFinish });
  streamText({ model, prompt: "?", prepareStep, onStepFinish });
  await createMemory({ languageModel: aiSdkLanguageModel({ model: inner, contextWindow: 8_000 }), embedder: aiSdkEmbedder({ model: embedding, dimensions: 8 }) });
}
