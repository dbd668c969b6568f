import { MemoryError, type MemoryErrorCode } from "../../errors.js";
import type { Embedder, GenerateRequest, LanguageModel } from "../../types/options.js";
import type { AnswerUsage, FinishedAnswer, FinishReason } from "../provider/chat-answer.js";
import { memoryModel, type MemoryModelOptions } from "../provider/memory-model.js";
import { known, tokenCount } from "../provider/token-count.js";

/** A language model of a provider of the AI SDK, as far as it is used: `openai("gpt-5-mini")`. */
export interface AiSdkModelLike {
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: never): PromiseLike<{ content: readonly unknown[]; finishReason: unknown; usage: unknown }>;
}

/** An embedding model of a provider of the AI SDK, as far as it is used: `openai.embedding("text-embedding-3-small")`. */
export interface AiSdkEmbeddingModelLike {
  readonly provider: string;
  readonly modelId: string;
  readonly maxEmbeddingsPerCall: PromiseLike<number | undefined> | number | undefined;
  doEmbed(options: never): PromiseLike<{ embeddings: readonly (readonly number[])[] }>;
}

/** Options of {@link aiSdkLanguageModel}. */
export interface AiSdkLanguageModelOptions extends Pick<MemoryModelOptions, "contextWindow" | "remote" | "onUsage"> {
  /** The model, or one for each purpose. */
  model: AiSdkModelLike | ((purpose: GenerateRequest["purpose"]) => AiSdkModelLike);
  /** Tokens on top of what an answer needs, for models that reason first. Default 0. */
  extraTokens?: number;
  /** Further options of each call, e.g. `{ providerOptions: { openai: { reasoningEffort: "low" } } }`. */
  call?: Readonly<Record<string, unknown>>;
}

/** Options of {@link aiSdkEmbedder}. */
export interface AiSdkEmbedderOptions {
  /** The embedding model. */
  model: AiSdkEmbeddingModelLike;
  /** Length of its vectors. */
  dimensions: number;
  /** Names the vectors. Default: provider, model and length. */
  id?: string;
  /** Most texts that the engine gives in one call; more than the model takes are given to it one part after the other. Default 64. */
  maxBatchSize?: number;
  /** Tokens of one text that the model reads. Default 256. */
  maxInputTokens?: number;
  /** False for a model on the user's own device or network. Default true. */
  remote?: boolean;
  /** Further options of each call, e.g. `{ providerOptions: { openai: { dimensions: 512 } } }`. */
  call?: Readonly<Record<string, unknown>>;
}

type Fields = Record<string, unknown>;

const REASONS: Readonly<Record<string, FinishReason>> = { stop: "stop", length: "length", "tool-calls": "tool_calls", "content-filter": "content_filter" };

/** A model of any provider of the AI SDK as the `languageModel` of a memory. What fails is tried again by the memory. */
export function aiSdkLanguageModel(options: AiSdkLanguageModelOptions): LanguageModel {
  return memoryModel(options, async (request) => {
    const model = typeof options.model === "function" ? options.model(request.purpose) : options.model;
    const call = { ...callOf(request, options.extraTokens ?? 0), ...options.call };
    const answer = await attempt("model_failed", request.signal, () => model.doGenerate(call as never));
    return finished(model, answer);
  });
}

function callOf({ purpose, system, messages, schema, maxTokens, signal }: GenerateRequest, extraTokens: number): object {
  const said = messages.map(({ role, content }) => ({ role, content: [{ type: "text", text: content }] }));
  return {
    prompt: [{ role: "system", content: system }, ...said],
    maxOutputTokens: maxTokens + extraTokens,
    ...(schema === undefined ? {} : { responseFormat: { type: "json", schema, name: purpose } }),
    abortSignal: signal,
  };
}

function finished(model: AiSdkModelLike, answer: { content: readonly unknown[]; finishReason: unknown; usage: unknown }): FinishedAnswer {
  const texts = (answer.content as Fields[]).filter(({ type }) => type === "text");
  const text = texts.map((part) => String(part["text"])).join("");
  // A word with AI SDK 5, an object since.
  const reason = typeof answer.finishReason === "string" ? answer.finishReason : String((answer.finishReason as Fields | undefined)?.["unified"]);
  const usage: AnswerUsage = { provider: model.provider, model: model.modelId, ...usageOf(answer.usage) };
  return { text, message: { role: "assistant", content: text }, finishReason: REASONS[reason] ?? "other", usage };
}

function usageOf(usage: unknown): Omit<AnswerUsage, "provider" | "model"> {
  const { inputTokens, outputTokens, cachedInputTokens } = (usage ?? {}) as Fields;
  if (typeof inputTokens !== "object" || inputTokens === null) {
    return known({ inputTokens: tokenCount(inputTokens), outputTokens: tokenCount(outputTokens), cachedTokens: tokenCount(cachedInputTokens) });
  }
  const { total, cacheRead, cacheWrite } = inputTokens as Fields;
  return known({
    inputTokens: tokenCount(total),
    outputTokens: tokenCount((outputTokens as Fields | undefined)?.["total"]),
    cachedTokens: tokenCount(cacheRead),
    cacheWriteTokens: tokenCount(cacheWrite),
  });
}

/** An embedding model of any provider of the AI SDK as the `embedder` of a memory. */
export function aiSdkEmbedder(options: AiSdkEmbedderOptions): Embedder {
  const { model, dimensions, maxBatchSize = 64, maxInputTokens = 256, remote = true } = options;
  return {
    id: options.id ?? `${model.provider}:${model.modelId}:${dimensions}`,
    dimensions,
    maxBatchSize,
    maxInputTokens,
    remote,
    async embed(texts, { signal }) {
      const most = Math.max(1, (await model.maxEmbeddingsPerCall) ?? texts.length);
      const vectors: Float32Array[] = [];
      for (let from = 0; from < texts.length; from += most) {
        const call = { values: texts.slice(from, from + most), abortSignal: signal, ...options.call };
        const { embeddings } = await attempt("embedding_failed", signal, () => model.doEmbed(call as never));
        vectors.push(...embeddings.map((vector) => Float32Array.from(vector)));
      }
      return vectors;
    },
  };
}

/** Without the cause: the library's errors hold the whole request. */
async function attempt<T>(code: Extract<MemoryErrorCode, "model_failed" | "embedding_failed">, signal: AbortSignal, work: () => PromiseLike<T>): Promise<T> {
  try {
    if (!signal.aborted) return await work();
  } catch (error) {
    if (!signal.aborted) throw failureOf(code, error);
  }
  throw new MemoryError("aborted", "The call was aborted.", { cause: signal.reason });
}

function failureOf(code: Extract<MemoryErrorCode, "model_failed" | "embedding_failed">, error: unknown): MemoryError {
  const { name, statusCode, isRetryable } = (typeof error === "object" && error !== null ? error : {}) as Fields;
  const reason = typeof name === "string" ? name : "unknown";
  const details = known({ reason, status: tokenCount(statusCode) });
  const options = typeof isRetryable === "boolean" ? { retryable: isRetryable, details } : { details };
  return new MemoryError(code, `The model of the AI SDK failed (${reason}).`, options);
}
