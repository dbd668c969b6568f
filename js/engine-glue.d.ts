/**
 * What the compiled engine exports, as `src/wasm` promises it. The JavaScript beside this declaration is made by
 * wasm-bindgen (scripts/build.mjs); a test compares the two.
 *
 * Every method of {@link Engine} takes the JSON text of one object and answers with plain data; it rejects with
 * `{ code, message, retryable, details? }`.
 */

/** Loads the module into the page, once. Later calls answer with the same exports. */
export default function init(options: { module_or_path: WebAssembly.Module }): Promise<{ memory: WebAssembly.Memory }>;

/** Throws the running instance away and makes a fresh one from the same module. Objects of the old one are dead. */
export function __wbg_reset_state(): void;

/**
 * How a model's tokens are counted: the vocabulary to load (`null`: the estimator alone), and whether that count is the
 * model's own. `undefined` for a name that says nothing.
 */
export function tokenization(encodingOrModel: string): { encoding: "o200k_base" | "cl100k_base" | null; exact: boolean } | undefined;

/** Estimated tokens of `text`; `counted` is its count in the encoding that {@link tokenization} names, where known. */
export function estimateTokens(text: string, encodingOrModel: string, counted?: number): number;

/**
 * What a profile would refuse of a request: `[{ rule, index, message }]`. Takes the JSON text of
 * `{ system?, messages, format?, profile }`; throws `{ code, message, retryable }`.
 */
export function validateContext(request: string): unknown;

/** Counts in one encoding, outside any memory. */
export class TokenCounter {
  constructor(encoding: string, bytes: Uint8Array);
  /** One that shares the vocabulary that is loaded already; `undefined` where none is. */
  static shared(encoding: string): TokenCounter | undefined;
  count(text: string): number;
  free(): void;
}

/** An in-memory database of one user, which outlives the {@link Engine}s opened on it. */
export class MemoryStoreHandle {
  constructor();
  /** Another handle of the same database: an engine keeps the one it is given. */
  share(): MemoryStoreHandle;
  free(): void;
}

/** What {@link Engine.open} is told. */
export interface EngineOptions {
  userId: string;
  storage: { kind: "indexeddb"; name: string } | { kind: "memory" } | { kind: "external" };
  tokenizer: string;
  policy: object;
  embedder?: { id: string; dimensions: number; maxBatchSize: number; maxInputTokens: number; remote: boolean };
  languageModel?: { id?: string; contextWindow: number; remote: boolean };
}

/** A model request as the engine makes it. */
export interface EngineModelRequest {
  purpose: string;
  system: string;
  prompt: string;
  schema?: unknown;
  maxTokens: number;
}

/** Records of a user in a storage of the app's own: lists are flat, as js/external-store.ts reads them. */
export interface EngineStorage {
  durable: boolean;
  get: (addresses: unknown[], signal: AbortSignal) => Promise<unknown[]>;
  scan: (query: unknown[], signal: AbortSignal) => Promise<unknown[]>;
  count: (range: unknown[], signal: AbortSignal) => Promise<number>;
  commit: (lists: unknown[]) => Promise<boolean>;
  destroy: () => Promise<void>;
  close: () => void;
  /** Where the storage searches: as js/external-search.ts reads it. */
  search?: { vectors: boolean; lines: (ranges: unknown[], signal: AbortSignal) => Promise<unknown[]>; find: (lookup: unknown[], signal: AbortSignal) => Promise<unknown[]> };
}

/** The engine's way back to the app. */
export interface EngineHost {
  now(): number;
  embed?(texts: string[], signal?: AbortSignal): Promise<Float32Array[]>;
  /** The same of texts that are asked with. There where `embed` is. */
  embedQuestions?(texts: string[], signal?: AbortSignal): Promise<Float32Array[]>;
  generate?(request: EngineModelRequest, signal?: AbortSignal): Promise<string>;
  emit(event: string, payload: unknown): void;
  /** Takes a lock if it is free now: a function that releases it, else `null`. */
  tryLock(name: string): Promise<(() => void) | null>;
  /** Where the storage is of the kind "external". */
  storage?: EngineStorage;
  /** Where the storage has a key: the keys of the database with this header, or of a new one (see `js/store-lock.ts`). */
  unlock?(header: string | undefined): Promise<object>;
}

/** One user's engine. */
export class Engine {
  private constructor();
  static open(options: EngineOptions, host: EngineHost, handle?: MemoryStoreHandle): Promise<Engine>;
  loadVocabulary(encoding: string, bytes: Uint8Array): void;
  /** Counts with the vocabulary that is loaded already; false where none is. */
  shareVocabulary(encoding: string): boolean;
  createConversation(request: string): Promise<unknown>;
  getConversation(request: string): Promise<unknown>;
  listConversations(request: string): Promise<unknown>;
  updateConversation(request: string): Promise<unknown>;
  deleteConversation(request: string): Promise<unknown>;
  append(request: string): Promise<unknown>;
  updateStream(request: string): Promise<unknown>;
  edit(request: string): Promise<unknown>;
  remove(request: string): Promise<unknown>;
  setActiveLeaf(request: string): Promise<unknown>;
  tree(request: string): Promise<unknown>;
  history(request: string): Promise<unknown>;
  buildContext(request: string): Promise<unknown>;
  reportUsage(request: string): Promise<unknown>;
  recall(request: string): Promise<unknown>;
  summary(request: string): Promise<unknown>;
  compact(request: string): Promise<unknown>;
  listEpisodes(request: string): Promise<unknown>;
  endEpisode(request: string): Promise<unknown>;
  setNote(request: string): Promise<unknown>;
  listNotes(request: string): Promise<unknown>;
  addFact(request: string): Promise<unknown>;
  listFacts(request: string): Promise<unknown>;
  getFact(request: string): Promise<unknown>;
  searchFacts(request: string): Promise<unknown>;
  updateFact(request: string): Promise<unknown>;
  forgetFact(request: string): Promise<unknown>;
  approveFact(request: string): Promise<unknown>;
  factHistory(request: string): Promise<unknown>;
  factSources(request: string): Promise<unknown>;
  factLog(request: string): Promise<unknown>;
  checkFacts(request: string): Promise<unknown>;
  factConsent(request: string): Promise<unknown>;
  retryJobs(request: string): Promise<unknown>;
  settled(request: string): Promise<unknown>;
  flush(request: string): Promise<unknown>;
  erase(request: string): Promise<unknown>;
  /** Compares what is stored with marks: the damage, or `null`. */
  checkStorage(request: string): Promise<unknown>;
  acceptDamage(request: string): Promise<unknown>;
  acknowledgeDamage(request: string): Promise<unknown>;
  verify(request: string): Promise<unknown>;
  /** What is known to be on disk, as JSON text. */
  mark(): string | undefined;
  /** Messages that were acknowledged and are not known to be on disk; of a store in memory, all. */
  unsynced(): number;
  catchUp(request: string): Promise<unknown>;
  erasures(request: string): Promise<unknown>;
  backup(request: string): Promise<unknown>;
  restore(request: string): Promise<unknown>;
  /** A step of an exchange with another store. */
  sync(request: string): Promise<unknown>;
  stats(request: string): Promise<unknown>;
  close(): Promise<unknown>;
  free(): void;
}
