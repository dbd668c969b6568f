/** A model of WebLLM, which runs on this device's graphics card, in a worker. */

import { webLlmChat, webLlmLanguageModel, type WebLlmEngine } from "throughline/webllm";
import { sendable, type ChatModel } from "./chat-model.ts";
import { countOutside } from "./outside.ts";
import type { FromWebLlm, ToWebLlm } from "./webllm-messages.ts";
import { startWorker } from "./workers.ts";

/** A model that can be loaded. */
export interface WebLlmChoice {
  id: string;
  name: string;
  /** What it takes on the graphics card, by WebLLM's own list; the download is of that order. */
  megabytes: number;
}

/** The hosts that models are loaded from; the worker's policy names them too. */
export const WEBLLM_HOSTS = ["huggingface.co", "raw.githubusercontent.com"];

/** Small models of WebLLM's list. */
export const WEBLLM_CHOICES: readonly WebLlmChoice[] = [
  { id: "SmolLM2-360M-Instruct-q4f16_1-MLC", name: "SmolLM2 360M", megabytes: 376 },
  { id: "Llama-3.2-1B-Instruct-q4f16_1-MLC", name: "Llama 3.2 1B", megabytes: 879 },
  { id: "Qwen2.5-1.5B-Instruct-q4f16_1-MLC", name: "Qwen 2.5 1.5B", megabytes: 1_630 },
];

/** Of all of these, as WebLLM sets it. */
const CONTEXT_WINDOW = 4_096;

/** Whether this browser has what WebLLM needs. */
export async function hasWebGpu(): Promise<boolean> {
  const { gpu } = navigator as { gpu?: { requestAdapter(): Promise<unknown> } };
  const adapter: unknown = await gpu?.requestAdapter().catch(() => null);
  return adapter !== null && adapter !== undefined;
}

/** Loads a model; what was loaded before comes from the browser's cache. */
export async function webLlmModel({ id, name }: WebLlmChoice, onProgress: (share: number, words: string) => void, signal: AbortSignal): Promise<ChatModel> {
  const engine = new EngineInWorker();
  try {
    await engine.load(id, onProgress, signal);
  } catch (error) {
    engine.close();
    throw error;
  }
  const chat = webLlmChat({ engine });
  return {
    name,
    place: "this browser",
    contextWindow: CONTEXT_WINDOW,
    profile: "webllm",
    destination: "local",
    languageModel: webLlmLanguageModel({ engine, contextWindow: CONTEXT_WINDOW }),
    stream: (messages, maxTokens, stop) => chat.send(sendable(messages), { maxTokens, signal: stop }),
    close: () => engine.close(),
  };
}

interface Running {
  give: (chunk: unknown) => void;
  end: (error?: Error) => void;
}

/** The engine as the adapter knows it; the real one is in the worker. */
class EngineInWorker implements WebLlmEngine {
  readonly chat = { completions: { create: (request: never): Promise<unknown> => Promise.resolve(this.#ask(request)) } };
  readonly #worker = startWorker("webllm");
  readonly #running = new Map<number, Running>();
  #onLoad: { done: () => void; failed: (error: Error) => void; progress: (share: number, words: string) => void } | null = null;
  #last = 0;

  constructor() {
    this.#worker.addEventListener("message", ({ data }: MessageEvent<FromWebLlm>) => this.#received(data));
    this.#worker.addEventListener("error", () => this.#failed(new Error("The part of the page that runs WebLLM could not be loaded.")));
  }

  load(model: string, progress: (share: number, words: string) => void, signal: AbortSignal): Promise<void> {
    return new Promise((done, failed) => {
      this.#onLoad = { done, failed, progress };
      signal.addEventListener("abort", () => failed(signal.reason as Error), { once: true });
      this.#post({ load: model });
    });
  }

  interruptGenerate(): void {
    this.#post({ interrupt: true });
  }

  close(): void {
    this.#worker.terminate();
    this.#failed(new DOMException("Stopped.", "AbortError"));
  }

  #post(message: ToWebLlm): void {
    this.#worker.postMessage(message);
  }

  async *#ask(request: object): AsyncGenerator {
    const id = ++this.#last;
    const chunks: unknown[] = [];
    let ended: { error?: Error } | null = null;
    let wake = (): void => undefined;
    this.#running.set(id, {
      give: (chunk) => {
        chunks.push(chunk);
        wake();
      },
      end: (error) => {
        ended = error === undefined ? {} : { error };
        wake();
      },
    });
    this.#post({ id, request });
    try {
      for (;;) {
        while (chunks.length > 0) yield chunks.shift();
        const { error } = (ended as { error?: Error } | null) ?? {};
        if (error) throw error;
        if (ended) return;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.#running.delete(id);
    }
  }

  #received(message: FromWebLlm): void {
    if ("progress" in message) this.#onLoad?.progress(message.progress.share, message.progress.words);
    else if ("isLoaded" in message) this.#onLoad?.done();
    else if ("notLoaded" in message) this.#onLoad?.failed(new Error(message.notLoaded));
    else if ("called" in message) countOutside(message.called);
    else if ("chunk" in message) this.#running.get(message.id)?.give(message.chunk);
    else if ("failed" in message) this.#running.get(message.id)?.end(Object.assign(new Error(message.failed.message), { name: message.failed.name }));
    else this.#running.get(message.id)?.end();
  }

  #failed(error: Error): void {
    this.#onLoad?.failed(error);
    for (const { end } of this.#running.values()) end(error);
  }
}
