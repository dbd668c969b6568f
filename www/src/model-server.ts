/** Models behind an address that speaks OpenAI's protocol: on this device, in the network, or a provider's. */

import { openAiChat, openAiLanguageModel, type OpenAiOptions } from "throughline/openai";
import { sendable, type ChatModel } from "./chat-model.ts";
import { outsideFetch } from "./outside.ts";

/** Where the model is and how it is addressed. */
export interface ServerSettings {
  /** For example `http://localhost:11434/v1`. */
  baseUrl: string;
  model: string;
  apiKey: string;
  /** Tokens that fit the model. */
  contextWindow: number;
}

/** A kind of server: where it listens, and how it lets this page in. */
export interface ServerKind {
  name: string;
  baseUrl: string;
  /** Name of a model, as an example. */
  model: string;
  /** What to do before, as a sentence, and as a line for a terminal. */
  hint: string;
  command: ((origin: string) => string) | null;
}

/** The kinds that the page has advice for. What each asks for is from its own documentation. */
export const SERVER_KINDS: readonly ServerKind[] = [
  {
    name: "Ollama",
    baseUrl: "http://localhost:11434/v1",
    model: "qwen3:8b",
    hint: "Pages on localhost may use it as it is. From any other address, start it with this page's origin allowed:",
    command: (origin) => `OLLAMA_ORIGINS=${origin} ollama serve`,
  },
  {
    name: "LM Studio",
    baseUrl: "http://localhost:1234/v1",
    model: "qwen3-8b",
    hint: "Turn on CORS in the Developer tab's server settings, or start the server from a terminal:",
    command: () => "lms server start --cors",
  },
  {
    name: "llama.cpp",
    baseUrl: "http://localhost:8080/v1",
    model: "default",
    hint: "It lets every page in unless --cors-origins is set; then it must name this page:",
    command: (origin) => `llama-server -m model.gguf --port 8080 --cors-origins ${origin}`,
  },
  {
    name: "vLLM",
    baseUrl: "http://localhost:8000/v1",
    model: "Qwen/Qwen3-8B",
    hint: "It lets every page in unless --allowed-origins is set; then it must name this page:",
    command: (origin) => `vllm serve Qwen/Qwen3-8B --allowed-origins '["${origin}"]'`,
  },
  { name: "OpenAI", baseUrl: "https://api.openai.com/v1", model: "gpt-5-mini", hint: "It lets every page in. It needs a key, and what you ask leaves this device.", command: null },
  { name: "OpenRouter", baseUrl: "https://openrouter.ai/api/v1", model: "qwen/qwen3-8b", hint: "It lets every page in. It needs a key, and what you ask leaves this device.", command: null },
];

/** Whether the address is of this device. */
export function isOnThisDevice(baseUrl: string): boolean {
  if (!URL.canParse(baseUrl)) return false;
  const { hostname } = new URL(baseUrl);
  return ["localhost", "127.0.0.1", "[::1]"].includes(hostname) || hostname.endsWith(".localhost");
}

/** The model, to chat with and for the memory. */
export function serverModel(settings: ServerSettings): ChatModel {
  const { contextWindow, model } = settings;
  const isHere = isOnThisDevice(settings.baseUrl);
  const options = serverOptions(settings);
  const chat = openAiChat({ ...options, model });
  return {
    name: model,
    place: new URL(settings.baseUrl).host,
    contextWindow,
    profile: "openai",
    destination: isHere ? "local" : "remote",
    languageModel: openAiLanguageModel({ ...options, model, contextWindow, remote: !isHere }),
    stream: (messages, maxTokens, signal) => chat.send(sendable(messages), { maxTokens, signal }),
    close: () => undefined,
  };
}

/** How the adapters reach the server: through the worker, since the page itself may call nobody. */
export function serverOptions({ apiKey, baseUrl }: ServerSettings): OpenAiOptions {
  return { baseUrl, fetch: outsideFetch, ...(apiKey === "" ? {} : { apiKey }) };
}
