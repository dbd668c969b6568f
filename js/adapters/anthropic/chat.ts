import { MemoryError } from "../../errors.js";
import type { GenerateRequest, LanguageModel } from "../../types/options.js";
import { startAnswer, type ChatAnswer, type FinishedAnswer, type SendableContext } from "../provider/chat-answer.js";
import { memoryModel, modelFor, type MemoryModelOptions } from "../provider/memory-model.js";
import { brokenAnswer, refusal } from "../provider/provider-error.js";
import { addressBelow, postStream, type ProviderOptions } from "../provider/provider-request.js";
import { AnthropicMessage } from "./message.js";
import { anthropicRequest, type AnthropicRequest, type AnthropicRequestOptions } from "./request.js";

const ANTHROPIC = "https://api.anthropic.com/v1";
const VERSION = "2023-06-01";
/** The tool that an answer with a schema is asked for by: every model of theirs knows tools. */
const ANSWER_TOOL = "answer";

/** Where requests go, and what goes with each. */
export interface AnthropicOptions extends ProviderOptions {
  /** Default `"https://api.anthropic.com/v1"`. */
  baseUrl?: string;
  /**
   * True lets a page call Anthropic's own address, which refuses pages otherwise: sends
   * `anthropic-dangerous-direct-browser-access`. Only with a key that is the user's own. Default false.
   */
  allowBrowser?: boolean;
  /** Further fields of each request, e.g. `{ temperature: 0 }`. */
  body?: Readonly<Record<string, unknown>>;
}

/** Options of {@link anthropicChat}. */
export interface AnthropicChatOptions extends AnthropicOptions, AnthropicRequestOptions {}

/** A model to chat with. */
export interface AnthropicChat {
  /** Sends a context, and answers at once; the answer arrives in it. */
  send(context: SendableContext, options?: { signal?: AbortSignal; tools?: readonly object[]; maxTokens?: number }): ChatAnswer;
}

/** Options of {@link anthropicLanguageModel}. */
export interface AnthropicLanguageModelOptions extends AnthropicOptions, MemoryModelOptions {
  /** Tokens on top of what an answer needs, for models that reason first. Default 0. */
  extraTokens?: number;
}

/** A model of Anthropic to chat with, by contexts of `format: "anthropic"`. */
export function anthropicChat(options: AnthropicChatOptions): AnthropicChat {
  return {
    send(context, { signal, ...own } = {}) {
      const body = anthropicRequest(context, { ...options, ...own });
      return startAnswer(signal, (inner, give) => ask(options, body, inner, give).then((message) => message.finish()));
    },
  };
}

/** A model of Anthropic as the `languageModel` of a memory. */
export function anthropicLanguageModel(options: AnthropicLanguageModelOptions): LanguageModel {
  return memoryModel(options, (request) => generate(options, request));
}

async function generate(options: AnthropicLanguageModelOptions, request: GenerateRequest): Promise<FinishedAnswer> {
  const { purpose, system, messages, schema, maxTokens, signal } = request;
  const { extraTokens = 0 } = options;
  const plain = anthropicRequest({ system, messages }, { model: modelFor(options.model, purpose), maxTokens: maxTokens + extraTokens, cache: false });
  const tools = [{ name: ANSWER_TOOL, description: "Takes the answer.", input_schema: schema }];
  const body = schema === undefined ? plain : { ...plain, tools, tool_choice: { type: "tool", name: ANSWER_TOOL } };
  const message = await ask(options, body, signal, () => undefined);
  const answer = message.finish();
  const input = message.inputOf(ANSWER_TOOL);
  return input === undefined ? answer : { ...answer, text: JSON.stringify(input) };
}

async function ask(
  options: AnthropicOptions,
  body: AnthropicRequest<object, object>,
  signal: AbortSignal,
  give: (piece: string) => void,
): Promise<AnthropicMessage> {
  const { baseUrl = ANTHROPIC, allowBrowser = false } = options;
  const { model } = body;
  if (typeof model !== "string" || model === "") throw new MemoryError("invalid_config", "Option model must name the model.");
  const request = {
    options,
    url: addressBelow(baseUrl, "messages"),
    headers: { "anthropic-version": VERSION, ...(allowBrowser ? { "anthropic-dangerous-direct-browser-access": "true" } : {}) },
    keyHeader: ["x-api-key", ""] as const,
    body: { ...body, stream: true, ...options.body },
    failure: "model_failed" as const,
    signal,
    unreachable: () => "Is the address right? A page needs allowBrowser: true, or an address of your own that passes requests on.",
  };
  return postStream(request, async (events) => {
    const message = new AnthropicMessage(model);
    const origin = new URL(baseUrl, globalThis.location?.href).origin;
    for await (const event of events) {
      if ((event as { type?: unknown } | null)?.type === "error") {
        throw refusal("model_failed", origin, { body: event });
      }
      give(message.add(event));
    }
    if (!message.isFinished) throw brokenAnswer("model_failed", origin, "ended before it was whole");
    return message;
  });
}
