/**
 * `throughline/testing`: a model and an embedder that always do the same, for tests without a network, and what every storage
 * must do.
 */

export { storageConformance } from "./testing/storage-conformance.js";
export type { ConformanceCase } from "./testing/storage-conformance.js";
export type { ExaminedStorage } from "./testing/conformance-place.js";
import type { Embedder, GenerateRequest, LanguageModel, ModelPurpose } from "../types/options.js";

/** An answer of a {@link scriptedModel}: the answer itself, a failure that is thrown, or what gives one of them. */
export type ScriptedAnswer = string | object | Error | ScriptedFunction;

/** Answers a request. */
export type ScriptedFunction = (request: GenerateRequest) => Promise<string | object> | string | object;

/** Options of {@link scriptedModel}. */
export interface ScriptedModelOptions {
  /** Tokens that fit it. Default 32,000. */
  contextWindow?: number;
  /** See `LanguageModel.remote`. Default true. */
  remote?: boolean;
}

/** A language model that answers from a script. */
export interface ScriptedModel extends LanguageModel {
  /** Every request so far, oldest first. */
  readonly calls: readonly GenerateRequest[];
  generate(request: GenerateRequest): Promise<string | object>;
}

/** Sections of a summary in the form that the engine asks for; those that are not given are empty. */
const SUMMARY_SECTIONS = ["goal", "confirmed", "decisions", "constraints", "failed", "open", "next", "identifiers"] as const;

/**
 * A language model that answers from a script: by purpose, always the same, or with a list one after the other (the last one
 * again from then on). A purpose that is not in the script gets the answer that changes nothing: no facts, no operations, no
 * findings; of a summary, the first words of each line that it is shown.
 *
 * ```ts
 * const model = scriptedModel({ extract: { facts: [] }, summarize: [new Error("down"), { goal: ["Ship it"] }] });
 * const memory = await createMemory({ storage: memoryStorage(), languageModel: model });
 * ```
 */
export function scriptedModel(
  script: Partial<Record<ModelPurpose, ScriptedAnswer | readonly ScriptedAnswer[]>> = {},
  options: ScriptedModelOptions = {},
): ScriptedModel {
  const calls: GenerateRequest[] = [];
  const counts = new Map<ModelPurpose, number>();
  const answerOf = (request: GenerateRequest): Promise<string | object> | string | object => {
    calls.push(request);
    const { purpose } = request;
    const count = counts.get(purpose) ?? 0;
    counts.set(purpose, count + 1);
    const planned = script[purpose];
    const list = planned === undefined ? [] : isList(planned) ? planned : [planned];
    const answer = list[Math.min(count, list.length - 1)] ?? plainAnswer(request);
    if (answer instanceof Error) throw answer;
    return typeof answer === "function" ? (answer as ScriptedFunction)(request) : answer;
  };
  return {
    calls,
    contextWindow: options.contextWindow ?? 32_000,
    remote: options.remote ?? true,
    generate: (request) => new Promise((resolve) => resolve(answerOf(request))),
  };
}

function isList(planned: ScriptedAnswer | readonly ScriptedAnswer[]): planned is readonly ScriptedAnswer[] {
  return Array.isArray(planned);
}

function plainAnswer({ purpose, messages }: GenerateRequest): object {
  switch (purpose) {
    case "extract":
      return { facts: [] };
    case "judge":
      return { operations: [] };
    case "audit":
      return { findings: [] };
    default: {
      const lines = messages.flatMap(({ content }) => content.split("\n")).filter((line) => line.trim() !== "");
      const confirmed = lines.slice(-4).map((line) => line.split(/\s+/).slice(0, 8).join(" "));
      return { ...Object.fromEntries(SUMMARY_SECTIONS.map((name) => [name, []])), confirmed };
    }
  }
}

/** Options of {@link hashingEmbedder}. */
export interface HashingEmbedderOptions {
  /** Names the vectors. Default `"hashing-<dimensions>"`. */
  id?: string;
  /** Length of the vectors, from 1. Default 256. */
  dimensions?: number;
  /** Most texts in one call. Default 64. */
  maxBatchSize?: number;
  /** Tokens of one text that it reads. Default 256. */
  maxInputTokens?: number;
  /** See `Embedder.remote`. Default true. */
  remote?: boolean;
}

/** An embedder that always gives the same. */
export interface HashingEmbedder extends Embedder {
  /** The texts of every call so far, oldest first. */
  readonly calls: readonly (readonly string[])[];
  embed(texts: readonly string[]): Promise<Float32Array[]>;
}

/**
 * An embedder whose vectors are the same everywhere and for ever: each word adds to eight places of the vector that its hash
 * chooses; the length is 1, or 0 for a text without words. Texts with words in common are near each other. It knows nothing of
 * meaning.
 */
export function hashingEmbedder(options: HashingEmbedderOptions = {}): HashingEmbedder {
  const { dimensions = 256, maxBatchSize = 64, maxInputTokens = 256, remote = true } = options;
  const calls: (readonly string[])[] = [];
  return {
    id: options.id ?? `hashing-${dimensions}`,
    dimensions,
    maxBatchSize,
    maxInputTokens,
    remote,
    calls,
    embed(texts) {
      calls.push([...texts]);
      return Promise.resolve(texts.map((text) => vectorOf(text, dimensions)));
    },
  };
}

function vectorOf(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const word of text.toLowerCase().split(/[^\p{L}\p{N}]+/u)) {
    if (word === "") continue;
    // FNV-1a, then a mixing step of MurmurHash3 for each place.
    let hash = 2_166_136_261;
    for (let at = 0; at < word.length; at += 1) hash = Math.imul(hash ^ word.charCodeAt(at), 16_777_619);
    for (let place = 0; place < 8; place += 1) {
      hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_519);
      const index = (hash >>> 1) % dimensions;
      vector[index] = (vector[index] as number) + (hash & 1 ? 1 : -1);
    }
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0)) || 1;
  return vector.map((value) => value / length);
}
