/** `throughline/transformers`: an embedding model of transformers.js, which runs in the page, as the `embedder` of a memory. */

import { MemoryError } from "../errors.js";
import type { Embedder } from "../types/options.js";
import { prefixesOf, type PrefixOptions } from "./provider/embed-prefixes.js";

export type { EmbedPrefixes } from "./provider/embed-prefixes.js";

/** A tensor, as far as it is read. */
export interface TensorLike {
  /** The numbers, row after row. */
  readonly data: unknown;
  /** How many rows, how many numbers in each. */
  readonly dims: readonly number[];
  /** Frees it. */
  dispose?(): void;
}

/** What `pipeline("feature-extraction", model)` answers with. */
export type FeatureExtractor = (
  texts: string[],
  options: { pooling: "mean" | "cls" | "last_token"; normalize: boolean },
) => Promise<TensorLike>;

/** Options of {@link transformersEmbedder}. */
export interface TransformersEmbedderOptions extends PrefixOptions {
  /**
   * Loads the pipeline: `() => pipeline("feature-extraction", "Xenova/all-MiniLM-L6-v2", { dtype: "q8" })`. Called when the first
   * text is embedded, and again only where it failed.
   */
  load: () => Promise<FeatureExtractor>;
  /** The model's name. With the way it is used (`variant`, `pooling`, `prefix`, `prefixes`) it names the vectors. */
  model: string;
  /** Length of its vectors. An answer of another length is `embedding_dimension_mismatch`: it is another model. */
  dimensions: number;
  /** How the numbers of a text's tokens become one vector, as the model was trained. Default `"mean"`. */
  pooling?: "mean" | "cls" | "last_token";
  /** What else makes the vectors differ, e.g. `"q8"`. Default none. */
  variant?: string;
  /** Most texts that the engine gives in one call. Default 64. */
  maxBatchSize?: number;
  /** Texts that the model reads at once; they are as long as the longest of them, so texts of like length go together. Default 8. */
  modelBatchSize?: number;
  /** Tokens of one text that the model reads. Default 256. */
  maxInputTokens?: number;
}

/**
 * The embedder. Vectors have length 1. Texts are embedded one batch after the other, since the model runs once at a time; an
 * abort is noticed between two of them.
 */
export function transformersEmbedder(options: TransformersEmbedderOptions): Embedder {
  const { model, dimensions, pooling = "mean", variant, maxBatchSize = 64, maxInputTokens = 256 } = options;
  if (typeof options.load !== "function") throw new MemoryError("invalid_config", "Option load must be a function that loads the pipeline.");
  const prefixes = prefixesOf(options);
  const extractor = new Extractor(options.load);
  let queue: Promise<unknown> = Promise.resolve();
  return {
    id: [model, variant, pooling === "mean" ? undefined : pooling, prefixes.name].filter((part) => part !== undefined && part !== "").join("|"),
    dimensions,
    maxBatchSize,
    maxInputTokens,
    remote: false,
    embed(texts, { signal, purpose }) {
      const answer = queue.then(() => embedAll(texts.map((text) => prefixes.of(purpose) + text), signal));
      queue = answer.catch(() => undefined);
      return answer;
    },
  };

  async function embedAll(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    throwIfAborted(signal);
    const extract = await extractor.get();
    const vectors = new Array<Float32Array>(texts.length);
    const order = texts.map((_, index) => index).sort((a, b) => (texts[a] as string).length - (texts[b] as string).length);
    const size = options.modelBatchSize ?? 8;
    for (let from = 0; from < order.length; from += size) {
      throwIfAborted(signal);
      const batch = order.slice(from, from + size);
      const found = rowsOf(await run(extract, batch.map((index) => texts[index] as string)), batch.length, dimensions);
      batch.forEach((index, row) => (vectors[index] = found[row] as Float32Array));
    }
    return vectors;
  }

  async function run(extract: FeatureExtractor, texts: string[]): Promise<TensorLike> {
    try {
      return await extract(texts, { pooling, normalize: true });
    } catch {
      // Not as the cause: what a tokenizer throws can quote the text.
      throw new MemoryError("embedding_failed", "The embedding model failed while it ran. Out of memory? Try a smaller modelBatchSize.");
    }
  }
}

/** The pipeline, loaded once. */
class Extractor {
  readonly #load: () => Promise<FeatureExtractor>;
  #loading: Promise<FeatureExtractor> | undefined;

  constructor(load: () => Promise<FeatureExtractor>) {
    this.#load = load;
  }

  async get(): Promise<FeatureExtractor> {
    this.#loading ??= Promise.resolve().then(this.#load);
    try {
      return await this.#loading;
    } catch (cause) {
      this.#loading = undefined;
      throw new MemoryError("embedding_failed", "The embedding model could not be loaded; see the error's cause.", { cause });
    }
  }
}

/** The rows of the tensor, as copies: its memory is the runtime's. */
function rowsOf(tensor: TensorLike, count: number, dimensions: number): Float32Array[] {
  const { data, dims } = tensor;
  const [rows, width] = dims;
  try {
    if (width !== dimensions) {
      throw new MemoryError("embedding_dimension_mismatch", `The model answered with vectors of ${String(width)} numbers; dimensions says ${dimensions}.`);
    }
    if (dims.length !== 2 || rows !== count || !ArrayBuffer.isView(data)) {
      throw new MemoryError("embedding_failed", "The model's answer is not one pooled vector per text.", { retryable: false });
    }
    const numbers = data as unknown as ArrayLike<number>;
    return Array.from({ length: count }, (_, row) => Float32Array.from({ length: dimensions }, (__, column) => Number(numbers[row * dimensions + column])));
  } finally {
    tensor.dispose?.();
  }
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new MemoryError("aborted", "The call was aborted.", { cause: signal.reason });
}
