/** What turns texts into vectors: the embedder that ships with the package, or a model of transformers.js. */

import type { Embedder } from "throughline";
import { transformersEmbedder, type FeatureExtractor } from "throughline/transformers";
import { countOutside } from "./outside.ts";
import { RUNTIME } from "./transformers-runtime.ts";
import type { FromTransformers, Pooling, ToTransformers } from "./transformers-messages.ts";
import { startWorker } from "./workers.ts";

/** A model that can be loaded. */
export interface EmbedderChoice {
  model: string;
  name: string;
  about: string;
  dimensions: number;
  /** Its files, about. */
  megabytes: number;
  prefix?: string;
}

/** The hosts that model and runtime are loaded from; the worker's policy names them too. */
export const TRANSFORMERS_HOSTS = ["huggingface.co", new URL(RUNTIME.url).host];
/** The runtime, in megabytes. */
export const RUNTIME_MEGABYTES = Math.round(RUNTIME.bytes / 1_000_000);

/** Models of transformers.js, as 8-bit files. */
export const EMBEDDER_CHOICES: readonly EmbedderChoice[] = [
  { model: "Xenova/all-MiniLM-L6-v2", name: "all-MiniLM-L6-v2", about: "English", dimensions: 384, megabytes: 24 },
  { model: "Xenova/multilingual-e5-small", name: "multilingual-e5-small", about: "about a hundred languages", dimensions: 384, megabytes: 135, prefix: "query: " },
];

/** The embedder that ships, as a person would name it. */
export const SHIPPED_NAME = "static-minilm-256";

/** One that is loaded. */
export interface LoadedEmbedder {
  choice: EmbedderChoice;
  embedder: Embedder;
  close(): void;
}

/** Loads a model of transformers.js. */
export async function loadEmbedder(choice: EmbedderChoice, onProgress: (bytes: number, totalBytes: number) => void, signal: AbortSignal): Promise<LoadedEmbedder> {
  const { dimensions, model, prefix } = choice;
  const extractor = new ExtractorInWorker();
  try {
    await extractor.load(model, onProgress, signal);
  } catch (error) {
    extractor.close();
    throw error;
  }
  const load = (): Promise<FeatureExtractor> => Promise.resolve((texts, options) => extractor.run(texts, options));
  const embedder = transformersEmbedder({ model, variant: "q8", dimensions, load, ...(prefix === undefined ? {} : { prefix }) });
  return { choice, embedder, close: () => extractor.close() };
}

interface Waiting {
  done: (tensor: { data: Float32Array; dims: number[] }) => void;
  failed: (error: Error) => void;
}

/** The pipeline; the real one is in the worker. */
class ExtractorInWorker {
  readonly #worker = startWorker("transformers");
  readonly #waiting = new Map<number, Waiting>();
  #onLoad: { done: () => void; failed: (error: Error) => void; progress: (bytes: number, totalBytes: number) => void } | null = null;
  #last = 0;

  constructor() {
    this.#worker.addEventListener("message", ({ data }: MessageEvent<FromTransformers>) => this.#received(data));
    this.#worker.addEventListener("error", () => this.#failed(new Error("The part of the page that runs transformers.js could not be loaded.")));
  }

  load(model: string, progress: (bytes: number, totalBytes: number) => void, signal: AbortSignal): Promise<void> {
    return new Promise((done, failed) => {
      this.#onLoad = { done, failed, progress };
      signal.addEventListener("abort", () => failed(signal.reason as Error), { once: true });
      this.#post({ load: model });
    });
  }

  run(texts: string[], { normalize, pooling }: Pooling): Promise<{ data: Float32Array; dims: number[] }> {
    const id = ++this.#last;
    return new Promise((done, failed) => {
      this.#waiting.set(id, { done, failed });
      this.#post({ id, texts, normalize, pooling });
    });
  }

  close(): void {
    this.#worker.terminate();
    this.#failed(new DOMException("Stopped.", "AbortError"));
  }

  #post(message: ToTransformers): void {
    this.#worker.postMessage(message);
  }

  #received(message: FromTransformers): void {
    if ("progress" in message) this.#onLoad?.progress(message.progress.bytes, message.progress.totalBytes);
    else if ("isLoaded" in message) this.#onLoad?.done();
    else if ("notLoaded" in message) this.#onLoad?.failed(new Error(message.notLoaded));
    else if ("called" in message) countOutside(message.called);
    else {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if ("failed" in message) waiting?.failed(new Error("The model failed."));
      else waiting?.done(message);
    }
  }

  #failed(error: Error): void {
    this.#onLoad?.failed(error);
    for (const { failed } of this.#waiting.values()) failed(error);
    this.#waiting.clear();
  }
}
