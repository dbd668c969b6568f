import type { HeldKey, PassphraseKey } from "../storage-key.js";
import type { ExternalStorage } from "./external-storage.js";
import type { Policy } from "./policy.js";
import type { DataLossDecision, StorageDamage, StorageHint } from "./storage.js";

/** A tokenizer whose vocabulary ships with the package; counts with it are exact for the models that use it. */
export type Encoding = "o200k_base" | "cl100k_base";

/**
 * How tokens are counted: an {@link Encoding}; a model's name (`"gpt-4o"`, `"claude-sonnet-4-5"`), which is counted in
 * the encoding that it uses, or estimated where it has no public one; or `"estimate"` for the built-in estimator, which
 * needs no download. Every number says whether it is exact.
 */
export type Tokenizer = Encoding | "estimate" | (string & {});

/** Where a vocabulary file is read from instead of the package's own: an address, or its bytes (gzipped or not). */
export type VocabularySource = string | URL | Uint8Array;

/** Where the engine's WebAssembly is taken from instead of the package's own file: compiled, as bytes, or an address. */
export type WasmSource = WebAssembly.Module | Uint8Array | ArrayBuffer | string | URL;

/** IndexedDB of this origin. Made by `indexedDbStorage`. */
export interface IndexedDbStorage {
  /** Tells it from other storage. */
  readonly kind: "indexeddb";
  /** First part of the database's name; the user's id is the second. */
  readonly name: string;
  /** The key, where everything is encrypted. What is secret in it is in private fields. */
  readonly key?: HeldKey;
}

/**
 * A key for the data at rest: 32 random bytes; a `CryptoKey`, best one that cannot be extracted (HKDF for deriveKey or
 * deriveBits, e.g. of a passkey's PRF output, or AES-GCM of 256 bits for encrypt and decrypt); or a passphrase by
 * `passphraseKey`. 32 bytes and an HKDF key imported from them are the same key.
 */
export type StorageKey = CryptoKey | Uint8Array | PassphraseKey;

/**
 * The memory of this page or process: gone when it ends. Made by `memoryStorage`. The same object given to another
 * `createMemory` opens the same data again.
 */
export interface MemoryStorage {
  /** Tells it from other storage. */
  readonly kind: "memory";
}

/** Where everything is kept. */
export type Storage = IndexedDbStorage | MemoryStorage | ExternalStorage;

/** A vector as an embedding model gives it. */
export type Vector = Float32Array | Float64Array | readonly number[];

/** What an embedding call is given beside the texts. */
export interface EmbedOptions {
  /** Aborted when the answer is no longer wanted: the memory was closed, or `policy.limits.callbackTimeoutMs` passed. */
  readonly signal: AbortSignal;
  /**
   * What the texts are: questions, or what is to be found by them. For models that tell the two apart, as those of the e5 family
   * do by a prefix; others do not need it.
   */
  readonly purpose: EmbedPurpose;
}

/** What texts are embedded for: to ask with them, or to be found. */
export type EmbedPurpose = "query" | "document";

/** The app's embedding model. Without one, retrieval is lexical and the receipt says so. */
export interface Embedder {
  /** Names the model. Vectors of different ids are never compared; changing it embeds everything again. */
  readonly id: string;
  /** Length of every vector, 1 to 65,536. */
  readonly dimensions: number;
  /** Most texts in one call, from 1. Default 64. */
  readonly maxBatchSize?: number;
  /**
   * Tokens of one text that the model reads, by its own tokenizer, from 1. Default 256. Longer messages are embedded in
   * up to 64 parts (tokens are estimated, with a margin), and are as near to a question as their nearest part. What
   * changes here later holds for messages that are not embedded yet.
   */
  readonly maxInputTokens?: number;
  /**
   * Whether what it is given leaves the device. Default true: then it is given nothing that was marked `localOnly`. False
   * for a model that runs in the page.
   */
  readonly remote?: boolean;
  /**
   * One vector per text, in order. Anything else (another number of vectors, another length, NaN) is refused with
   * `embedding_failed` or `embedding_dimension_mismatch` and nothing of it is stored. Throw an error with `retryable: false` where
   * asking again cannot help, so that it is not.
   */
  embed(texts: string[], options: EmbedOptions): Promise<readonly Vector[]> | readonly Vector[];
}

/**
 * What a model call is for: fold messages into a summary, fold summaries into one, say what happened in a session, find
 * facts, decide about them. Use a cheap model for `"extract"` and a better one for `"judge"` and `"summarize"`. Later
 * versions can add purposes: send one that you do not know to your general model.
 */
export type ModelPurpose = "summarize" | "compress" | "episode" | "extract" | "judge" | "audit";

/** A call of the app's language model. */
export interface GenerateRequest {
  /** What it is for. */
  readonly purpose: ModelPurpose;
  /** Instructions. */
  readonly system: string;
  /** Plain text messages, tools flattened; at present one user message. */
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: string }[];
  /** JSON Schema of the answer, where the answer must be JSON. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** Longest useful answer, in tokens. */
  readonly maxTokens: number;
  /** Aborted when the answer is no longer wanted. */
  readonly signal: AbortSignal;
}

/** The app's language model. Without one nothing is summarised or extracted, and the receipt says so. */
export interface LanguageModel {
  /** Names the model, at most 128 characters: what it decides about facts is logged under it. */
  readonly id?: string;
  /** Tokens that fit the model, input and output together, from 1,024. */
  readonly contextWindow: number;
  /**
   * Whether what it is shown leaves the device. Default true: then it is shown nothing that was marked `localOnly`. False
   * for a model that runs on the device.
   */
  readonly remote?: boolean;
  /**
   * The answer: text, or, where a schema was given, text of JSON or the object itself. Throw an error with `retryable: false` where
   * asking again cannot help (a key that is refused, say): the job then waits for `retryJobs`, or the next message.
   */
  generate(request: GenerateRequest): Promise<string | object> | string | object;
}

/** Options of `createMemory`. Every one may be left out. */
export interface MemoryOptions {
  /** Whose memory it is: one database per user. 1 to 512 bytes. Default `"default"`. */
  userId?: string;
  /** Where it is kept. Default: IndexedDB named `"throughline"` where there is one, else `memoryStorage()`. */
  storage?: Storage;
  /**
   * What is done where stored data was lost: `"reject"` (the default) or `"open"`, or a function that is told the damage and
   * decides. Never a new start in silence.
   */
  onDataLoss?: DataLossDecision | ((damage: StorageDamage) => DataLossDecision | Promise<DataLossDecision>);
  /** A place off this device for a short text, so that even a loss of all site data is noticed. */
  storageHint?: StorageHint;
  /** How tokens are counted. Default `"o200k_base"`. Its vocabulary loads when first needed. */
  tokenizer?: Tokenizer;
  /** The app's embedding model. */
  embedder?: Embedder;
  /** The app's language model. */
  languageModel?: LanguageModel;
  /** Thresholds, caps, weights and opt-ins, each with a default. */
  policy?: Policy;
  /** Milliseconds since 1970. Default `Date.now`. For tests. */
  clock?: () => number;
  /** Vocabulary files from elsewhere, by encoding. */
  vocabularies?: Partial<Record<Encoding, VocabularySource>>;
  /**
   * The engine from elsewhere, for surroundings where the package's own file cannot be fetched, e.g. a service worker of
   * an extension. The first `createMemory` or `countTokens` of a page decides; later ones use what is there.
   */
  wasm?: WasmSource;
}
