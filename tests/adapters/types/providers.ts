// What the adapters give is what the providers' own libraries take, by their own types.
import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { createMemory } from "throughline";
import { anthropicChat, anthropicLanguageModel, anthropicRequest } from "throughline/anthropic";
import { geminiEmbedder, geminiLanguageModel } from "throughline/gemini";
import { openAiChat, openAiEmbedder, openAiLanguageModel, openAiRequest, openAiResponses, openAiResponsesRequest } from "throughline/openai";
import { hashingEmbedder, scriptedModel } from "throughline/testing";

export async function bodies(openai: OpenAI, anthropic: Anthropic): Promise<void> {
  const memory = await createMemory({ embedder: openAiEmbedder({ model: "e", dimensions: 8 }), languageModel: openAiLanguageModel({ model: "m", contextWindow: 8_000 }) });
  const built = await memory.buildContext<OpenAI.ChatCompletionMessageParam & Record<string, unknown>>({ conversationId: "c" });
  const tools: OpenAI.ChatCompletionTool[] = [];
  await openai.chat.completions.create(openAiRequest(built, { model: "m", tools }));
  const items = await memory.buildContext<OpenAI.Responses.ResponseInputItem & Record<string, unknown>>({ conversationId: "c", format: "openai-responses" });
  const functions: OpenAI.Responses.FunctionTool[] = [];
  await openai.responses.create(openAiResponsesRequest(items, { model: "m", tools: functions, sealedReasoning: true }));
  const response = await openAiResponses({ model: "m" }).send(items).finished;
  await memory.append("c", response.items);
  await memory.reportUsage("c", response.usage);
  const blocks = await memory.buildContext<Anthropic.MessageParam & Record<string, unknown>>({ conversationId: "c", format: "anthropic" });
  const theirs: Anthropic.Tool[] = [];
  await anthropic.messages.create(anthropicRequest(blocks, { model: "claude", tools: theirs, cache: "1h" }));
  const { message } = await openAiChat({ model: "m" }).send(built).finished;
  await memory.append("c", message);
  await memory.reportUsage("c", (await openAiChat({ model: "m" }).send(built).finished).usage);
  await memory.append("c", (await anthropicChat({ model: "m" }).send(blocks).finished).message);
}

export const memories = [
  createMemory({ languageModel: anthropicLanguageModel({ model: "m", contextWindow: 8_000 }), embedder: geminiEmbedder({ model: "e", dimensions: 8 }) }),
  createMemory({ languageModel: geminiLanguageModel({ model: (purpose) => `m-${purpose}`, contextWindow: 8_000 }), embedder: hashingEmbedder() }),
  createMemory({ languageModel: scriptedModel({ extract: { facts: [] } }) }),
];

// @ts-expect-error a model needs its window
openAiLanguageModel({ model: "m" });
// @ts-expect-error Anthropic caches for five minutes or an hour
anthropicRequest({ system: "", messages: [] }, { model: "m", cache: "2h" });
