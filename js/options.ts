/** Checks what the app gives to `createMemory`, so that a mistake is told at once and by its name. */

import { isWellFormed } from "./arguments.js";
import { requireThisCopy } from "./copies.js";
import { MemoryError } from "./errors.js";
import type { HeldStorage } from "./external-storage.js";
import { defaultStorage } from "./storage.js";
import { holdKey } from "./storage-key.js";
import type { Embedder, Encoding, ExternalStorage, LanguageModel, MemoryOptions, Storage, Tokenizer } from "./types.js";
import { vocabularyBytes } from "./vocabularies.js";

/** The vocabularies that ship with the package. */
export const ENCODINGS: readonly Encoding[] = ["o200k_base", "cl100k_base"];

const OPTION_NAMES: ReadonlySet<string> = new Set<keyof MemoryOptions>([
  "userId", "storage", "tokenizer", "embedder", "languageModel", "policy", "clock", "vocabularies", "wasm", "onDataLoss", "storageHint",
]);
const TEXT_ENCODER = new TextEncoder();

/** An embedder with its defaults. */
export type CheckedEmbedder = Embedder & { maxBatchSize: number; maxInputTokens: number; remote: boolean };

/** A language model with its defaults. */
export type CheckedLanguageModel = LanguageModel & { remote: boolean };

/** A storage that this package made. */
export type CheckedStorage = Exclude<Storage, ExternalStorage> | HeldStorage;

/** Checked options with their defaults. */
export interface CheckedOptions {
  userId: string;
  storage: CheckedStorage;
  tokenizer: Tokenizer;
  embedder: CheckedEmbedder | undefined;
  languageModel: CheckedLanguageModel | undefined;
  policy: object;
  /** Messages are acknowledged before they are on disk, and there is a disk. */
  isRelaxed: boolean;
  clock: () => number;
  /** Brings the vocabulary of an encoding. */
  vocabulary: (encoding: Encoding) => Promise<Uint8Array>;
  wasm: MemoryOptions["wasm"];
  onDataLoss: NonNullable<MemoryOptions["onDataLoss"]>;
  storageHint: MemoryOptions["storageHint"];
}

/** A field that is `undefined` is left out: it has its default. */
function withoutUndefined(policy: object): object {
  const given = Object.entries(policy).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]: [string, unknown]) => [name, isObject(value) && !Array.isArray(value) ? withoutUndefined(value) : value]));
}

/** Fills in the defaults, or throws `invalid_config` naming the option. */
export function checkOptions(options: MemoryOptions): CheckedOptions {
  if (!isObject(options) || Array.isArray(options)) throw invalid("createMemory takes an object of options.");
  for (const name of Object.keys(options)) {
    if (!OPTION_NAMES.has(name)) {
      throw invalid(`Option ${JSON.stringify(name)} is not known. The options are ${[...OPTION_NAMES].join(", ")}.`);
    }
  }
  const { clock = Date.now, policy = {}, vocabularies = {}, tokenizer = "o200k_base", onDataLoss = "reject", storageHint } = options;
  if (typeof clock !== "function") throw invalid("Option clock must be a function that answers milliseconds since 1970.");
  if (!isObject(policy)) throw invalid("Option policy must be an object.");
  if (!isObject(vocabularies)) throw invalid("Option vocabularies must be an object of sources by encoding.");
  for (const name of Object.keys(vocabularies)) {
    if (!ENCODINGS.includes(name as Encoding)) {
      throw invalid(`Option vocabularies.${name}: the encodings are ${ENCODINGS.join(", ")}.`);
    }
  }
  if (typeof tokenizer !== "string" || tokenizer === "") {
    throw invalid(`Option tokenizer must be one of ${ENCODINGS.join(", ")}, a model's name, or estimate.`);
  }
  if (onDataLoss !== "reject" && onDataLoss !== "open" && typeof onDataLoss !== "function") {
    throw invalid('Option onDataLoss must be "reject", "open", or a function that answers one of them.');
  }
  if (storageHint !== undefined && !(isObject(storageHint) && typeof storageHint.load === "function" && typeof storageHint.save === "function")) {
    throw invalid("Option storageHint must be an object with the functions load and save.");
  }
  const storage = checkStorage(options.storage ?? defaultStorage());
  return {
    userId: checkUserId(options.userId ?? "default"),
    storage,
    tokenizer,
    embedder: options.embedder === undefined ? undefined : checkEmbedder(options.embedder),
    languageModel: options.languageModel === undefined ? undefined : checkLanguageModel(options.languageModel),
    policy: withoutUndefined(policy),
    isRelaxed: isDurable(storage) && policy.durability === "relaxed",
    clock,
    vocabulary: (encoding) => vocabularyBytes(encoding, vocabularies[encoding]),
    wasm: options.wasm,
    onDataLoss,
    storageHint,
  };
}

function checkUserId(userId: unknown): string {
  if (typeof userId === "string" && userId !== "" && TEXT_ENCODER.encode(userId).length <= 512 && isWellFormed(userId)) return userId;
  throw invalid("Option userId must be well-formed text of 1 to 512 bytes.");
}

function isDurable(storage: CheckedStorage): boolean {
  return storage.kind === "external" ? storage.given.durable : storage.kind === "indexeddb";
}

function checkStorage(storage: Storage): CheckedStorage {
  if (isObject(storage) && storage.kind === "memory") {
    requireThisCopy(storage, "Option storage");
    return storage;
  }
  if (isObject(storage) && storage.kind === "indexeddb") {
    return storage.key === undefined ? storage : { ...storage, key: holdKey(storage.key) };
  }
  if (isObject(storage) && storage.kind === "external" && "hold" in storage) return storage as HeldStorage;
  throw invalid("Option storage must come from indexedDbStorage(), memoryStorage() or externalStorage().");
}

function checkEmbedder(embedder: Embedder): CheckedEmbedder {
  if (!isObject(embedder)) throw invalid("Option embedder must be an object with id, dimensions and embed.");
  const { id, dimensions, maxBatchSize = 64, maxInputTokens = 256, remote = true } = embedder;
  if (typeof id !== "string" || id === "") throw invalid("Option embedder.id must name the model.");
  if (!isWhole(dimensions, 1, 65_536)) throw invalid("Option embedder.dimensions must be a whole number from 1 to 65,536.");
  if (!isWhole(maxBatchSize, 1, 100_000)) throw invalid("Option embedder.maxBatchSize must be a whole number from 1.");
  if (!isWhole(maxInputTokens, 1, 2 ** 31)) throw invalid("Option embedder.maxInputTokens must be a whole number from 1.");
  if (typeof remote !== "boolean") throw invalid("Option embedder.remote must be true or false.");
  if (typeof embedder.embed !== "function") throw invalid("Option embedder.embed must be a function.");
  return {
    id,
    dimensions,
    maxBatchSize,
    maxInputTokens,
    remote,
    embed: (texts, call) => embedder.embed(texts, call),
  };
}

function checkLanguageModel(model: LanguageModel): CheckedLanguageModel {
  if (!isObject(model)) throw invalid("Option languageModel must be an object with contextWindow and generate.");
  if (!isWhole(model.contextWindow, 1_024, 2 ** 31)) {
    throw invalid("Option languageModel.contextWindow must be a whole number of tokens from 1,024.");
  }
  const { id, contextWindow, remote = true } = model;
  if (id !== undefined && (typeof id !== "string" || id.length > 128)) {
    throw invalid("Option languageModel.id must be a text of at most 128 characters.");
  }
  if (typeof remote !== "boolean") throw invalid("Option languageModel.remote must be true or false.");
  if (typeof model.generate !== "function") throw invalid("Option languageModel.generate must be a function.");
  return { ...(id !== undefined && { id }), contextWindow, remote, generate: (request) => model.generate(request) };
}

function invalid(message: string): MemoryError {
  return new MemoryError("invalid_config", message);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isWhole(value: unknown, low: number, high: number): value is number {
  return Number.isInteger(value) && (value as number) >= low && (value as number) <= high;
}
