import { currentGeneration, guarded, loadEngine } from "./engine-instance.js";
import type { TokenCounter } from "./engine-glue.js";
import { MemoryError } from "./errors.js";
import { vocabularyBytes } from "./vocabularies.js";
import type { Encoding, VocabularySource, WasmSource } from "./types.js";

/** A number of tokens, and whether it is exact or an estimate. */
export interface TokenCount {
  /** How many. */
  tokens: number;
  /** True where the model's own tokenizer counted. */
  exact: boolean;
}

/** Options of {@link countTokens}. */
export interface CountTokensOptions {
  /** Vocabulary files from elsewhere, by encoding. */
  vocabularies?: Partial<Record<Encoding, VocabularySource>>;
  /** The engine from elsewhere. */
  wasm?: WasmSource;
}

const counters = new Map<Encoding, { generation: number; counter: Promise<TokenCounter> }>();

/**
 * Tokens of a text, outside any memory. Special-token text such as `<|endoftext|>` is ordinary text.
 *
 * @param text The text.
 * @param encodingOrModel An encoding, `"estimate"`, or a model's name. Models with a public tokenizer are counted
 * exactly; others are estimated from the `o200k_base` count. Default `"o200k_base"`.
 * @returns The count. Where a vocabulary cannot be loaded it is an estimate, and says so.
 */
export async function countTokens(
  text: string,
  encodingOrModel = "o200k_base",
  options: CountTokensOptions = {},
): Promise<TokenCount> {
  if (typeof text !== "string") throw new MemoryError("invalid_argument", "countTokens: the text must be a string.");
  if (typeof encodingOrModel !== "string" || encodingOrModel === "") {
    throw new MemoryError("invalid_argument", "countTokens: name an encoding or a model.");
  }
  const glue = await loadEngine(options.wasm);
  const estimate = (counted?: number): Promise<TokenCount> => {
    currentGeneration();
    return guarded(() => ({ tokens: glue.estimateTokens(text, encodingOrModel, counted), exact: false }));
  };
  currentGeneration();
  const { encoding, exact } = glue.tokenization(encodingOrModel) ?? { encoding: "o200k_base", exact: false };
  if (encoding === null) return estimate();
  let counted: number;
  try {
    const counter = await counterOf(encoding, options);
    counted = await guarded(() => counter.count(text));
  } catch {
    return estimate();
  }
  return exact ? { tokens: counted, exact } : estimate(counted);
}

async function counterOf(encoding: Encoding, options: CountTokensOptions): Promise<TokenCounter> {
  const glue = await loadEngine(options.wasm);
  const generation = currentGeneration();
  const known = counters.get(encoding);
  if (known?.generation === generation) return known.counter;
  const shared = glue.TokenCounter.shared(encoding);
  const load = async (): Promise<TokenCounter> => {
    const bytes = await vocabularyBytes(encoding, options.vocabularies?.[encoding]);
    return guarded(() => new glue.TokenCounter(encoding, bytes));
  };
  const counter = shared === undefined ? load() : Promise.resolve(shared);
  counters.set(encoding, { generation, counter });
  // A failed load is tried again by the next call.
  counter.catch(() => counters.delete(encoding));
  return counter;
}
