import { MemoryError } from "../../errors.js";
import type { GenerateRequest, LanguageModel } from "../../types/options.js";
import { startAnswer, type ChatAnswer, type SendableContext } from "../provider/chat-answer.js";
import { memoryModel, modelFor, type MemoryModelOptions } from "../provider/memory-model.js";
import { brokenAnswer, refusal } from "../provider/provider-error.js";
import { DONE, addressBelow, postStream, type ProviderOptions } from "../provider/provider-request.js";
import { Completion } from "./completion.js";
import { openAiRequest, type OpenAiRequest, type OpenAiRequestOptions } from "./request.js";
import { OPENAI, unreachableServer } from "./server-hints.js";

/** Where requests go, and what goes with each. */
export interface OpenAiOptions extends ProviderOptions {
  /** Default `"https://api.openai.com/v1"`. Ollama: `"http://localhost:11434/v1"`, LM Studio: port 1234, llama.cpp: 8080. */
  baseUrl?: string;
  /** Further fields of each request, e.g. `{ temperature: 0, reasoning_effort: "low" }`. `undefined` leaves one out. */
  body?: Readonly<Record<string, unknown>>;
  /**
   * The field with the longest answer. Default `"max_completion_tokens"` at OpenAI's own address, which newer models want, and
   * `"max_tokens"` elsewhere.
   */
  maxTokensField?: "max_tokens" | "max_completion_tokens";
}

/** Options of {@link openAiChat}. */
export interface OpenAiChatOptions extends OpenAiOptions, OpenAiRequestOptions {}

/** Options of one call. */
export interface SendOptions {
  /** Ends the answer with `aborted`. */
  signal?: AbortSignal;
  /** In place of the chat's own tools. */
  tools?: readonly object[];
  /** In place of the chat's own. */
  maxTokens?: number;
}

/** A model to chat with. */
export interface OpenAiChat {
  /** Sends a context, and answers at once; the answer arrives in it. */
  send(context: SendableContext, options?: SendOptions): ChatAnswer;
}

/** Options of {@link openAiLanguageModel}. */
export interface OpenAiLanguageModelOptions extends OpenAiOptions, MemoryModelOptions {
  /**
   * How the server is held to the schema of an answer: by the schema itself, by asking for some JSON, or by words alone.
   * Default `"json_schema"`, which OpenAI, Ollama, LM Studio, llama.cpp and vLLM take.
   */
  structuredOutput?: "json_schema" | "json_object" | "none";
  /** Tokens on top of what an answer needs, for models that reason first. Default 0. */
  extraTokens?: number;
}

/** A model of OpenAI, or of any server that speaks its protocol, to chat with by contexts of `format: "openai"`. */
export function openAiChat(options: OpenAiChatOptions): OpenAiChat {
  requireModel(options.model);
  return {
    send(context, { signal, ...own } = {}) {
      return ask(options, openAiRequest(context, { ...options, ...own }), signal);
    },
  };
}

/** A model of OpenAI, or of any server that speaks its protocol, as the `languageModel` of a memory. */
export function openAiLanguageModel(options: OpenAiLanguageModelOptions): LanguageModel {
  requireModel(options.model);
  return memoryModel(options, (request) => ask(options, generateBody(options, request), request.signal).finished);
}

function generateBody(options: OpenAiLanguageModelOptions, request: GenerateRequest): OpenAiRequest<object, object> {
  const { structuredOutput = "json_schema", extraTokens = 0 } = options;
  const { purpose, system, messages, schema, maxTokens } = request;
  const body = openAiRequest({ system, messages }, { model: modelFor(options.model, purpose), maxTokens: maxTokens + extraTokens });
  if (schema === undefined || structuredOutput === "none") return body;
  const isWhole = structuredOutput === "json_schema";
  const format: object = { response_format: isWhole ? { type: "json_schema", json_schema: { name: purpose, schema, strict: true } } : { type: "json_object" } };
  return { ...body, ...format };
}

function ask(options: OpenAiOptions, body: OpenAiRequest<object, object>, signal: AbortSignal | undefined): ChatAnswer {
  const { baseUrl = OPENAI, maxTokensField = baseUrl === OPENAI ? "max_completion_tokens" : "max_tokens" } = options;
  const { max_completion_tokens: maxTokens, ...rest } = body;
  const sent = {
    ...rest,
    ...(maxTokens === undefined ? {} : { [maxTokensField]: maxTokens }),
    stream: true,
    stream_options: { include_usage: true },
    ...options.body,
  };
  return startAnswer(signal, (own, give) =>
    postStream(
      {
        options,
        url: addressBelow(baseUrl, "chat/completions"),
        headers: {},
        keyHeader: ["authorization", "Bearer "],
        body: sent,
        failure: "model_failed",
        signal: own,
        unreachable: unreachableServer,
      },
      async (events) => {
        const completion = new Completion("openai", body.model);
        const origin = new URL(baseUrl, globalThis.location?.href).origin;
        for await (const event of events) {
          if (typeof event === "object" && event !== null && "error" in event) throw refusal("model_failed", origin, { body: event });
          if (event === DONE) completion.isFinished = true;
          give(completion.add(event));
        }
        if (!completion.isFinished) throw brokenAnswer("model_failed", origin, "ended before it was whole");
        return completion.finish();
      },
    ),
  );
}

function requireModel(model: unknown): void {
  if (typeof model === "function" || (typeof model === "string" && model !== "")) return;
  throw new MemoryError("invalid_config", "Option model must name the model.");
}
