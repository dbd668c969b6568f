/**
 * A small client for chat completions of any OpenAI-compatible server: streamed answers for the page, and the callback
 * that the memory uses for summaries and facts. The key stays in this tab's memory and goes to this server only.
 */

import type { GenerateRequest, LanguageModel, RawMessage } from "throughline";
import type { ChatModel } from "./page-state.ts";

/** Where the model is and how it is addressed. */
export interface ModelSettings {
  /** For example `http://localhost:11434/v1`. */
  baseUrl: string;
  model: string;
  apiKey: string;
  /** Tokens that fit the model. */
  contextWindow: number;
}

/** Fields that servers accept in a message; ids and times of the app are not among them. */
const SENT_FIELDS = ["role", "content", "name", "tool_calls", "tool_call_id", "refusal"];

/** The model as the page uses it. */
export function openAiModel(settings: ModelSettings): ChatModel {
  return {
    name: settings.model,
    stream: (messages, maxTokens, signal) => streamAnswer(settings, messages, maxTokens, signal),
    languageModel: languageModel(settings),
  };
}

/** Pieces of an answer as they arrive. */
async function* streamAnswer(
  settings: ModelSettings,
  messages: readonly RawMessage[],
  maxTokens: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const response = await complete(settings, { messages: messages.map(sentFields), stream: true }, maxTokens, signal);
  if (!response.body) return;
  if (!response.headers.get("content-type")?.includes("event-stream")) {
    yield answerText(await response.json());
    return;
  }
  for await (const line of lines(response.body)) {
    if (!line.startsWith("data:")) continue;
    const data = line.slice(5).trim();
    if (data === "[DONE]") return;
    const piece = deltaText(data);
    if (piece) yield piece;
  }
}

/** The memory's language model: summaries, fact extraction and judging. */
function languageModel(settings: ModelSettings): LanguageModel {
  return {
    contextWindow: settings.contextWindow,
    generate: async (request) => {
      const response = await completeStructured(settings, request);
      return withoutFence(answerText(await response.json()));
    },
  };
}

/** One short request that shows whether address, model and key work. Throws with the server's words. */
export async function checkModel(settings: ModelSettings, signal: AbortSignal): Promise<void> {
  const response = await complete(settings, { messages: [{ role: "user", content: "Answer with OK." }] }, 64, signal);
  answerText(await response.json());
}

/** A refusal of the server. */
class ModelRefusal extends Error {
  constructor(readonly status: number, words: string) {
    super(words);
  }
}

async function completeStructured(settings: ModelSettings, request: GenerateRequest): Promise<Response> {
  const { schema, purpose, system, messages, maxTokens, signal } = request;
  const plain = { messages: [{ role: "system", content: system }, ...messages] };
  if (!schema) return complete(settings, plain, maxTokens, signal);
  const format = { type: "json_schema", json_schema: { name: purpose, schema } };
  try {
    return await complete(settings, { ...plain, response_format: format }, maxTokens, signal);
  } catch (error) {
    if (!(error instanceof ModelRefusal) || error.status !== 400) throw error;
  }
  // A server without structured output: the schema goes into the instructions, and the memory checks the answer anyway.
  const instructed = `${system}\n\nAnswer with JSON only, fitting this schema:\n${JSON.stringify(schema)}`;
  return complete(settings, { messages: [{ role: "system", content: instructed }, ...messages] }, maxTokens, signal);
}

async function complete(settings: ModelSettings, body: object, maxTokens: number, signal: AbortSignal): Promise<Response> {
  try {
    return await post(settings, { ...body, max_tokens: maxTokens }, signal);
  } catch (error) {
    // Newer OpenAI models know the limit by another name.
    if (!(error instanceof ModelRefusal) || !error.message.includes("max_completion_tokens")) throw error;
    return post(settings, { ...body, max_completion_tokens: maxTokens }, signal);
  }
}

async function post(settings: ModelSettings, body: object, signal: AbortSignal): Promise<Response> {
  const url = `${settings.baseUrl.replace(/\/+$/, "")}/chat/completions`;
  const authorization: Record<string, string> = settings.apiKey ? { authorization: `Bearer ${settings.apiKey}` } : {};
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...authorization },
      body: JSON.stringify({ model: settings.model, ...body }),
      signal,
      credentials: "omit",
      referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (signal.aborted) throw error;
    const words = `No answer from ${hostOf(url)}. Check the address, and that the server allows requests from this page (CORS).`;
    throw new Error(words, { cause: error });
  }
  if (!response.ok) throw new ModelRefusal(response.status, `The server answered ${response.status}: ${await refusalWords(response)}`);
  return response;
}

async function refusalWords(response: Response): Promise<string> {
  const text = await response.text().catch(() => "");
  try {
    const message: unknown = (JSON.parse(text) as { error?: { message?: unknown } }).error?.message;
    if (typeof message === "string") return message.slice(0, 300);
  } catch {
    // Not JSON: the text itself has to do.
  }
  return text.slice(0, 300) || response.statusText || "no reason given";
}

function sentFields(message: RawMessage): RawMessage {
  return Object.fromEntries(Object.entries(message).filter(([name]) => SENT_FIELDS.includes(name)));
}

function answerText(body: unknown): string {
  const content = (body as { choices?: { message?: { content?: unknown } }[] } | null)?.choices?.[0]?.message?.content;
  if (typeof content !== "string") throw new Error("The server's answer holds no text. Is this an OpenAI-compatible address?");
  return content;
}

function deltaText(data: string): string {
  try {
    const content = (JSON.parse(data) as { choices?: { delta?: { content?: unknown } }[] }).choices?.[0]?.delta?.content;
    return typeof content === "string" ? content : "";
  } catch {
    return "";
  }
}

function withoutFence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1] ?? text;
}

async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const parts = (rest + value).split(/\r?\n/);
      rest = parts.pop() ?? "";
      yield* parts;
    }
    if (rest) yield rest;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return "that address";
  }
}
