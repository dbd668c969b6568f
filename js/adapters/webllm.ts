/** `throughline/webllm`: a model of WebLLM, which runs in the page, to chat with and as the `languageModel` of a memory. */

import { MemoryError } from "../errors.js";
import type { GenerateRequest, LanguageModel } from "../types/options.js";
import { Completion } from "./openai/completion.js";
import { startAnswer, type AnswerReader, type ChatAnswer, type SendableContext } from "./provider/chat-answer.js";
import { memoryModel, type MemoryModelOptions } from "./provider/memory-model.js";

export type { AnswerUsage, ChatAnswer, FinishedAnswer, FinishReason, SendableContext } from "./provider/chat-answer.js";

/** An engine of WebLLM, as far as it is used: `MLCEngine`, or one in a worker. */
export interface WebLlmEngine {
  /** Answers requests in the format of OpenAI. */
  readonly chat: { readonly completions: { create(request: never): Promise<unknown> } };
  /** Ends the answer that it is at. */
  interruptGenerate(): void | Promise<void>;
}

/** Options of {@link webLlmChat}. */
export interface WebLlmOptions {
  /** The engine, with a model loaded. */
  engine: WebLlmEngine;
  /** The model, where the engine has several. */
  model?: string;
  /** Longest answer, in tokens. Default: the model's own. */
  maxTokens?: number;
  /** Further fields of each request, e.g. `{ temperature: 0 }`. */
  body?: Readonly<Record<string, unknown>>;
}

/** Options of {@link webLlmLanguageModel}. */
export interface WebLlmLanguageModelOptions extends Omit<WebLlmOptions, "maxTokens">, Pick<MemoryModelOptions, "contextWindow" | "onUsage"> {}

/** A model to chat with. */
export interface WebLlmChat {
  /** Sends a context, and answers at once; the answer arrives in it. */
  send(context: SendableContext, options?: { signal?: AbortSignal; maxTokens?: number }): ChatAnswer;
}

/**
 * A model to chat with, by contexts of `format: "openai"` and `profile: "webllm"`. WebLLM reads again only what is new while all
 * that was sent before is the same, which a built context keeps so between compactions.
 */
export function webLlmChat(options: WebLlmOptions): WebLlmChat {
  return {
    send({ system, messages }, { signal, maxTokens = options.maxTokens } = {}) {
      const all = [...(system === "" ? [] : [{ role: "system", content: system }]), ...messages];
      return startAnswer(signal, ask(options, { messages: all, ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }) }));
    },
  };
}

/**
 * The model as the `languageModel` of a memory; nothing leaves the device. An engine does one thing at a time: calls of all chats
 * and memories that were given the same engine wait for each other, in order.
 */
export function webLlmLanguageModel(options: WebLlmLanguageModelOptions): LanguageModel {
  return memoryModel({ ...options, remote: false }, (request) => startAnswer(request.signal, ask(options, generateBody(request))).finished);
}

function generateBody({ system, messages, schema, maxTokens }: GenerateRequest): object {
  return {
    messages: [{ role: "system", content: system }, ...messages],
    max_tokens: maxTokens,
    ...(schema === undefined ? {} : { response_format: { type: "json_object", schema: JSON.stringify(schema) } }),
  };
}

/** The last call of each engine. */
const QUEUES = new WeakMap<WebLlmEngine, Promise<unknown>>();

function ask(options: WebLlmOptions, body: object): AnswerReader {
  const { engine, model } = options;
  return (signal, give) => {
    const before = QUEUES.get(engine) ?? Promise.resolve();
    const request = { ...body, ...(model === undefined ? {} : { model }), stream: true, stream_options: { include_usage: true }, ...options.body };
    const turn = before.then(() => run(engine, request, model ?? "webllm", signal, give));
    QUEUES.set(engine, turn.catch(() => undefined));
    // Who is aborted while waiting is told at once.
    return Promise.race([turn, aborted(signal)]);
  };
}

async function run(
  engine: WebLlmEngine,
  request: object,
  model: string,
  signal: AbortSignal,
  give: (piece: string) => void,
): Promise<ReturnType<Completion["finish"]>> {
  if (signal.aborted) throw abortError(signal);
  // Only while the engine works on this very call: an interrupt stops whatever runs.
  const interrupt = (): void => void Promise.resolve(engine.interruptGenerate()).catch(() => undefined);
  signal.addEventListener("abort", interrupt, { once: true });
  try {
    const completion = new Completion("webllm", model);
    const chunks = (await engine.chat.completions.create(request as never)) as AsyncIterable<unknown>;
    for await (const chunk of chunks) give(completion.add(chunk));
    if (signal.aborted) throw abortError(signal);
    if (!completion.isFinished) throw new MemoryError("model_failed", "The model's answer ended before it was whole. Try again.");
    return completion.finish();
  } catch (error) {
    if (error instanceof MemoryError) throw error;
    if (signal.aborted) throw abortError(signal);
    throw failureOf(error);
  } finally {
    signal.removeEventListener("abort", interrupt);
  }
}

/** Without its cause, which may quote the prompt. */
function failureOf(error: unknown): MemoryError {
  const reason = error instanceof Error ? error.name : "unknown";
  if (reason === "ContextWindowSizeExceededError") {
    return new MemoryError("model_failed", "The request does not fit the model: build the context for a smaller window.", { retryable: false, details: { reason } });
  }
  return new MemoryError("model_failed", `WebLLM failed (${reason}). Is a model loaded, and did the GPU keep it?`, { details: { reason } });
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = (): void => reject(abortError(signal));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

function abortError(signal: AbortSignal): MemoryError {
  return new MemoryError("aborted", "The call was aborted.", { cause: signal.reason });
}
