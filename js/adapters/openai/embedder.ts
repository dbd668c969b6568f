import { fromBase64 } from "../../byte-text.js";
import { MemoryError } from "../../errors.js";
import type { Embedder } from "../../types/options.js";
import { prefixesOf, type PrefixOptions } from "../provider/embed-prefixes.js";
import { brokenAnswer } from "../provider/provider-error.js";
import { addressBelow, postJson, type ProviderOptions } from "../provider/provider-request.js";
import { OPENAI, unreachableServer } from "./server-hints.js";

/** Options of {@link openAiEmbedder}. */
export interface OpenAiEmbedderOptions extends ProviderOptions, PrefixOptions {
  /** Default `"https://api.openai.com/v1"`. */
  baseUrl?: string;
  /** The embedding model. */
  model: string;
  /** Length of its vectors. */
  dimensions: number;
  /** True asks for vectors of that length, from models that can shorten theirs (text-embedding-3). Default false. */
  shorten?: boolean;
  /** Names the vectors. Default: the model, its prefixes, and the length where it is shortened. */
  id?: string;
  /** Most texts in one request. Default 64. */
  maxBatchSize?: number;
  /** Tokens of one text that the model reads. Default 256, which most models do; OpenAI's read 8,191. */
  maxInputTokens?: number;
  /** False for a model on the user's own device or network. Default true. */
  remote?: boolean;
  /** Further fields of each request. */
  body?: Readonly<Record<string, unknown>>;
}

/** An embedding model of OpenAI, or of any server that speaks its protocol, as the `embedder` of a memory. */
export function openAiEmbedder(options: OpenAiEmbedderOptions): Embedder {
  const { baseUrl = OPENAI, model, dimensions, shorten = false, maxBatchSize = 64, maxInputTokens = 256, remote = true } = options;
  if (typeof model !== "string" || model === "") throw new MemoryError("invalid_config", "Option model must name the embedding model.");
  const prefixes = prefixesOf(options);
  return {
    id: options.id ?? `${model}${shorten ? `:${dimensions}` : ""}${prefixes.name === "" ? "" : `:${prefixes.name}`}`,
    dimensions,
    maxBatchSize,
    maxInputTokens,
    remote,
    async embed(texts, { signal, purpose }) {
      const answer = await postJson({
        options,
        url: addressBelow(baseUrl, "embeddings"),
        headers: {},
        keyHeader: ["authorization", "Bearer "],
        body: {
          model,
          input: texts.map((text) => prefixes.of(purpose) + text),
          encoding_format: "float",
          ...(shorten ? { dimensions } : {}),
          ...options.body,
        },
        failure: "embedding_failed",
        signal,
        unreachable: unreachableServer,
      });
      const vectors = vectorsOf(answer, texts.length);
      if (vectors === undefined) throw brokenAnswer("embedding_failed", new URL(baseUrl, globalThis.location?.href).origin, "does not hold one vector per text");
      return vectors;
    },
  };
}

/** The vectors in the order of the texts: servers may answer in another, and say so by `index`. */
function vectorsOf(answer: unknown, count: number): Float32Array[] | undefined {
  const { data } = (typeof answer === "object" && answer !== null ? answer : {}) as { data?: unknown };
  if (!Array.isArray(data) || data.length !== count) return undefined;
  const vectors = new Map<number, Float32Array | undefined>();
  data.forEach((item: unknown, position) => {
    const { index, embedding } = (typeof item === "object" && item !== null ? item : {}) as { index?: unknown; embedding?: unknown };
    vectors.set(typeof index === "number" ? index : position, vectorOf(embedding));
  });
  const found = Array.from({ length: count }, (_, index) => vectors.get(index)).filter((vector) => vector !== undefined);
  return found.length === count ? found : undefined;
}

/** A list of numbers, or base64 of 32-bit numbers, which some servers send whatever they are asked for. */
function vectorOf(embedding: unknown): Float32Array | undefined {
  if (Array.isArray(embedding)) return Float32Array.from(embedding as unknown[], Number);
  if (typeof embedding !== "string") return undefined;
  try {
    const bytes = fromBase64(embedding);
    const view = new DataView(bytes.buffer);
    return Float32Array.from({ length: bytes.length >> 2 }, (_, index) => view.getFloat32(index * 4, true));
  } catch {
    return undefined;
  }
}
