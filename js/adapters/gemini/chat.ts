import { MemoryError } from "../../errors.js";
import type { Embedder, GenerateRequest, LanguageModel } from "../../types/options.js";
import { startAnswer, type ChatAnswer, type FinishedAnswer, type SendableContext } from "../provider/chat-answer.js";
import { memoryModel, modelFor, type MemoryModelOptions } from "../provider/memory-model.js";
import { brokenAnswer, refusal } from "../provider/provider-error.js";
import { addressBelow, postJson, postStream, type ProviderOptions, type ProviderRequest } from "../provider/provider-request.js";
import { GeminiContent } from "./content.js";
import { geminiRequest, type GeminiRequestOptions } from "./request.js";

const GEMINI = "https://generativelanguage.googleapis.com/v1beta";

/** Where requests go. */
export interface GeminiOptions extends ProviderOptions {
  /** Default `"https://generativelanguage.googleapis.com/v1beta"`. */
  baseUrl?: string;
  /** Further fields of each request, e.g. `{ safetySettings: [...] }`. */
  body?: Readonly<Record<string, unknown>>;
}

/** Options of {@link geminiChat}. */
export interface GeminiChatOptions extends GeminiOptions, Omit<GeminiRequestOptions, "cache"> {
  /** The model, without `models/`. */
  model: string;
}

/** A model to chat with. */
export interface GeminiChat {
  /** Sends a context, and answers at once; the answer arrives in it. */
  send(context: SendableContext, options?: GeminiRequestOptions & { signal?: AbortSignal }): ChatAnswer;
}

/** Options of {@link geminiLanguageModel}. */
export interface GeminiLanguageModelOptions extends GeminiOptions, MemoryModelOptions {
  /** Further fields of `generationConfig`, e.g. `{ thinkingConfig: { thinkingBudget: 0 } }`. */
  generationConfig?: Readonly<Record<string, unknown>>;
  /** Tokens on top of what an answer needs, for models that reason first. Default 0. */
  extraTokens?: number;
}

/** Options of {@link geminiEmbedder}. */
export interface GeminiEmbedderOptions extends GeminiOptions {
  /** The embedding model, without `models/`. */
  model: string;
  /** Length of its vectors; asked for with each request. */
  dimensions: number;
  /** Names the vectors. Default: the model and the length. */
  id?: string;
  /** Most texts in one request, at most 100. Default 64. */
  maxBatchSize?: number;
  /** Tokens of one text that the model reads. Default 2,048. */
  maxInputTokens?: number;
}

/** A model of Gemini to chat with, by contexts of `format: "gemini"`. */
export function geminiChat(options: GeminiChatOptions): GeminiChat {
  return {
    send(context, { signal, ...own } = {}) {
      const body = geminiRequest(context, { ...options, ...own });
      return startAnswer(signal, (inner, give) => ask(options, options.model, body, inner, give));
    },
  };
}

/** A model of Gemini as the `languageModel` of a memory. */
export function geminiLanguageModel(options: GeminiLanguageModelOptions): LanguageModel {
  return memoryModel(options, (request) => generate(options, request));
}

function generate(options: GeminiLanguageModelOptions, request: GenerateRequest): Promise<FinishedAnswer> {
  const { purpose, system, messages, schema, maxTokens, signal } = request;
  const contents = messages.map(({ role, content }) => ({ role: role === "user" ? "user" : "model", parts: [{ text: content }] }));
  const json = schema === undefined ? {} : { responseMimeType: "application/json", responseJsonSchema: schema };
  const body = geminiRequest(
    { system, messages: contents },
    { maxTokens: maxTokens + (options.extraTokens ?? 0), generationConfig: { ...json, ...options.generationConfig } },
  );
  return ask(options, modelFor(options.model, purpose), body, signal, () => undefined);
}

/** An embedding model of Gemini as the `embedder` of a memory. */
export function geminiEmbedder(options: GeminiEmbedderOptions): Embedder {
  const { model, dimensions, maxBatchSize = 64, maxInputTokens = 2_048 } = options;
  return {
    id: options.id ?? `${model}:${dimensions}`,
    dimensions,
    maxBatchSize,
    maxInputTokens,
    async embed(texts, { signal }) {
      const requests = texts.map((text) => ({ model: `models/${model}`, content: { parts: [{ text }] }, outputDimensionality: dimensions }));
      const request = requestOf(options, model, "batchEmbedContents", { requests, ...options.body }, signal);
      const answer = await postJson({ ...request, failure: "embedding_failed" });
      const { embeddings } = (typeof answer === "object" && answer !== null ? answer : {}) as { embeddings?: unknown };
      const vectors = Array.isArray(embeddings) ? embeddings.map((each: unknown) => (each as { values?: unknown } | null)?.values) : [];
      if (vectors.length !== texts.length || !vectors.every(Array.isArray)) {
        throw brokenAnswer("embedding_failed", originOf(options), "does not hold one vector per text");
      }
      return vectors.map((vector) => Float32Array.from(vector as unknown[], Number));
    },
  };
}

function requestOf(options: GeminiOptions, model: string, method: string, body: object, signal: AbortSignal | undefined): ProviderRequest {
  if (typeof model !== "string" || model === "") throw new MemoryError("invalid_config", "Option model must name the model.");
  return {
    options,
    url: addressBelow(options.baseUrl ?? GEMINI, `models/${encodeURIComponent(model)}:${method}`),
    headers: {},
    keyHeader: ["x-goog-api-key", ""],
    body,
    failure: "model_failed",
    signal,
    unreachable: () => "Is the address right, and does it allow this page's origin (CORS)?",
  };
}

async function ask(
  options: GeminiOptions,
  model: string,
  body: object,
  signal: AbortSignal,
  give: (piece: string) => void,
): Promise<FinishedAnswer> {
  return postStream(requestOf(options, model, "streamGenerateContent?alt=sse", { ...body, ...options.body }, signal), async (events) => {
    const content = new GeminiContent(model);
    for await (const event of events) {
      if (typeof event === "object" && event !== null && "error" in event) throw refusal("model_failed", originOf(options), { body: event });
      give(content.add(event));
    }
    if (!content.isFinished) throw brokenAnswer("model_failed", originOf(options), "ended before it was whole");
    return content.finish();
  });
}

function originOf({ baseUrl = GEMINI }: GeminiOptions): string {
  return new URL(baseUrl, globalThis.location?.href).origin;
}
