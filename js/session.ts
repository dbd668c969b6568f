/**
 * One memory's hold on the engine: opens it, calls it, and opens it again from storage when the instance had to be
 * replaced.
 */

import { Barrier } from "./barrier.js";
import { noteCopy } from "./copies.js";
import { currentGeneration, guarded, isAlive, loadEngine, wasmMemoryBytes } from "./engine-instance.js";
import type { Engine, EngineOptions, MemoryStoreHandle } from "./engine-glue.js";
import type { StoreLock } from "./store-lock.js";
import { MemoryError, aborted, closed, isMemoryError, notLoaded, toMemoryError, untilAborted } from "./errors.js";
import { exportFrom, type Backup, type ExportOptions, type ExportReport, type ExportToOptions } from "./export.js";
import { Host } from "./host.js";
import type { ExternalStore } from "./external-store.js";
import { importInto } from "./import-into.js";
import { tryLock } from "./locks.js";
import { StorageGuard } from "./storage-guard.js";
import { requestText } from "./messages.js";
import type { CheckedOptions } from "./options.js";
import { TabChannel, type Hint } from "./tab-channel.js";
import type { Encoding, ImportInput, ImportOptions, ImportReport, MemoryEventName, MemoryEvents, MemoryStorage } from "./types.js";

/** The engine's methods that take a request and answer with plain data. */
export type Method = Exclude<keyof Engine, "loadVocabulary" | "shareVocabulary" | "free" | "close" | "mark" | "unsynced">;

/** How one call is treated. */
export interface CallPolicy {
  /** Carrying it out twice is the same as once: it is tried again when the instance traps. */
  idempotent: boolean;
  /** It counts tokens, so the vocabulary is waited for. */
  counts?: boolean;
  /** It waits for this, which never rejects. */
  after?: Promise<unknown> | undefined;
  /** Gives the call up. */
  signal?: AbortSignal | undefined;
}

/** What the classes that an app uses ask of the engine: in this thread, or in a worker (`client/remote-session.ts`). */
export interface Session {
  /** Calls the engine; the answer is plain data. */
  call(method: Method, request: object, policy: CallPolicy): Promise<unknown>;
  /** See `Memory.import`. */
  import(input: ImportInput, options: ImportOptions): Promise<ImportReport>;
  /** See `Memory.export`. */
  export(options: ExportOptions | ExportToOptions): Promise<Backup | ExportReport>;
  /** Bytes of the engine's memory, that of all memories beside this one included. */
  wasmBytes(): Promise<number>;
  /** Closes the engine once `writes` have settled: callbacks are given up, everything is released. */
  close(writes: Promise<unknown>): Promise<void>;
}

interface Opened {
  engine: Engine;
  generation: number;
  /** The vocabulary that its tokenizer counts with; `null`: it estimates. */
  encoding: Encoding | null;
  vocabulary: Promise<void> | undefined;
}

/** A vocabulary that could not be loaded is asked for again after this many milliseconds. */
const VOCABULARY_RETRY_MS = 30_000;

/** In-memory databases by the object that stands for them, then by user. They die with their instance. */
const memoryStores = new WeakMap<MemoryStorage, Map<string, { handle: MemoryStoreHandle; generation: number }>>();

/** How often it is looked whether a lock is free. */
const LOCK_PAUSE_MS = 50;

/** One memory's hold on the engine of this thread. */
export class EngineSession implements Session {
  readonly #options: CheckedOptions;
  readonly #host: Host;
  readonly #guard: StorageGuard | undefined;
  readonly #barrier: Barrier | undefined;
  #channel: TabChannel | undefined;
  readonly #emit: <Name extends MemoryEventName>(event: Name, payload: MemoryEvents[Name]) => void;
  #opening: { generation: number; opened: Promise<Opened> } | undefined;
  #lost: MemoryError | undefined;
  /** Messages that a trap takes along: those of a store in memory. */
  #held = 0;
  #lock: StoreLock | undefined;
  readonly #external: ExternalStore | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: CheckedOptions, emit: <Name extends MemoryEventName>(event: Name, payload: MemoryEvents[Name]) => void) {
    this.#options = options;
    this.#emit = emit;
    this.#guard = StorageGuard.for(options, emit);
    if (options.storage.kind === "external") this.#external = options.storage.hold(options.userId);
    this.#barrier = options.isRelaxed ? this.#makeBarrier() : undefined;
    this.#host = new Host(
      options,
      (event, payload) => {
        emit(event, payload);
        this.#channel?.tell(event, payload);
      },
      (lock) => this.#channel?.askHolder(lock) ?? false,
    );
  }

  /** Opens the engine, so that what cannot work is told now. */
  async open(): Promise<void> {
    noteCopy();
    try {
      await this.#current();
      this.#channel = new TabChannel(this.#options, (hints) => this.#catchUp(hints), this.#host);
    } catch (error) {
      const known = this.#asMemoryError(error);
      this.#guard?.close();
      throw (await this.#guard?.explained(known)) ?? known;
    }
  }

  /** Calls the engine. */
  async call(method: Method, request: object, policy: CallPolicy): Promise<unknown> {
    const { signal } = policy;
    if (this.#closing !== undefined) throw closed();
    if (signal?.aborted) throw aborted(signal);
    const run = (): Promise<unknown> => this.#callWithRetry(method, request, policy);
    const running = method === "erase" && "user" in request && this.#guard !== undefined ? this.#guard.erasing(run) : run();
    const answer = running.catch((error: unknown) => {
      throw this.#asMemoryError(error);
    });
    return signal === undefined ? answer : untilAborted(answer, signal);
  }

  /** Runs `work` while nothing else runs under this name, here or in other tabs: whoever comes later waits. */
  async exclusive<Result>(name: string, signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result> {
    let release = await tryLock(this.#options, name);
    while (release === null) {
      if (this.#closing !== undefined) throw closed();
      if (signal?.aborted) throw aborted(signal);
      await new Promise((resolve) => setTimeout(resolve, LOCK_PAUSE_MS));
      release = await tryLock(this.#options, name);
    }
    try {
      return await work();
    } finally {
      release();
    }
  }

  import(input: ImportInput, options: ImportOptions): Promise<ImportReport> {
    return importInto(this, input, options);
  }

  export(options: ExportOptions | ExportToOptions): Promise<Backup | ExportReport> {
    return exportFrom(this, options);
  }

  wasmBytes(): Promise<number> {
    return wasmMemoryBytes();
  }

  /** Gives up every callback, and those that are still to come: the memory is about to be closed. */
  giveUp(): void {
    this.#host.abort();
  }

  close(writes: Promise<unknown>): Promise<void> {
    this.#closing ??= this.#close(writes);
    return this.#closing;
  }

  async #close(writes: Promise<unknown>): Promise<void> {
    this.giveUp();
    await writes;
    const failed = await this.#sync().catch((error: unknown) => error);
    this.#channel?.close();
    this.#guard?.close();
    try {
      const opened = await this.#opening?.opened.catch(() => undefined);
      if (opened === undefined || !isAlive(opened.generation)) return;
      await guarded(() => opened.engine.close());
      if (isAlive(opened.generation)) opened.engine.free();
      if (failed !== undefined) throw this.#asMemoryError(failed);
    } catch (error) {
      // A trap while closing: the instance is replaced when next needed, and storage holds what was acknowledged.
      if (!isMemoryError(error, "engine_panicked")) throw this.#asMemoryError(error);
    } finally {
      this.#host.close();
      this.#lock?.forget();
      this.#external?.close();
    }
  }

  /** Waits until what was acknowledged is on disk. */
  async #sync(): Promise<void> {
    if (this.#barrier === undefined) return;
    this.#barrier.close();
    const opened = await this.#opening?.opened.catch(() => undefined);
    if (opened === undefined || !isAlive(opened.generation) || opened.engine.unsynced() === 0) return;
    await guarded(() => opened.engine.flush("{}"));
  }

  /** Other tabs stored something: what is in memory of it is read again, then this tab's listeners are told. */
  async #catchUp(hints: Hint[]): Promise<void> {
    const conversationIds = new Set(hints.flatMap(({ conversationId }) => conversationId ?? []));
    const all = hints.some(({ kind, conversationId }) => kind === "storage" && conversationId === undefined);
    // What fails here fails again, and is told, when it is asked for.
    await this.call("catchUp", { conversationIds: [...conversationIds], all }, { idempotent: true }).catch(() => undefined);
    for (const { kind, ...payload } of hints) this.#emit(kind, { ...payload, remote: true } as unknown as MemoryEvents[typeof kind]);
  }

  async #callWithRetry(method: Method, request: object, policy: CallPolicy): Promise<unknown> {
    await policy.after;
    try {
      return await this.#callOnce(method, request, policy);
    } catch (error) {
      if (!isMemoryError(error, "engine_panicked") || !policy.idempotent || this.#closing !== undefined) throw error;
      return this.#callOnce(method, request, policy);
    }
  }

  async #callOnce(method: Method, request: object, policy: CallPolicy): Promise<unknown> {
    let opened = await this.#current();
    if (policy.counts) await this.#vocabulary(opened);
    // The instance can have been replaced while this call waited for its turn.
    while (!isAlive(opened.generation)) opened = await this.#current();
    const { engine } = opened;
    const text = requestText(request);
    const answer = await guarded(() => engine[method](text));
    this.#guard?.touch();
    this.#note(opened);
    if (this.#guard?.filesAreGone && Array.isArray(answer)) {
      for (const stored of answer as { durable?: boolean }[]) if (stored.durable) stored.durable = false;
    }
    return answer;
  }

  /** Keeps in mind what is not on disk. */
  #note({ engine, generation }: Opened): void {
    if (this.#closing !== undefined || !isAlive(generation)) return;
    if (this.#barrier !== undefined) this.#barrier.note(engine.unsynced());
    else if (this.#options.storage.kind === "memory") this.#held = engine.unsynced();
  }

  #makeBarrier(): Barrier {
    const flush = (): Promise<unknown> => this.call("flush", {}, { idempotent: true });
    return new Barrier(flush, (error) => {
      const { code, message, retryable, details } = this.#asMemoryError(error);
      const lost = details?.lost as number | undefined;
      if (code !== "closed") this.#emit("error", { code, message, retryable, ...(lost === undefined ? {} : { lost }) });
    });
  }

  async #current(): Promise<Opened> {
    if (this.#lost !== undefined) throw this.#lost;
    await loadEngine(this.#options.wasm);
    const generation = currentGeneration();
    let opening = this.#opening;
    if (opening?.generation !== generation) {
      if (opening !== undefined && this.#options.storage.kind === "memory") throw (this.#lost = memoryLost(this.#held));
      opening = { generation, opened: this.#openEngine(generation) };
      this.#opening = opening;
    }
    try {
      return await opening.opened;
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  async #openEngine(generation: number): Promise<Opened> {
    const glue = await loadEngine(this.#options.wasm);
    const { embedder, languageModel, storage, userId, tokenizer, policy } = this.#options;
    const options: EngineOptions = {
      userId,
      storage: storage.kind === "indexeddb" ? { kind: storage.kind, name: storage.name } : { kind: storage.kind },
      tokenizer,
      policy,
    };
    if (embedder !== undefined) {
      const { id, dimensions, maxBatchSize, maxInputTokens, remote } = embedder;
      options.embedder = { id, dimensions, maxBatchSize, maxInputTokens, remote };
    }
    if (languageModel !== undefined) {
      const { id, contextWindow, remote } = languageModel;
      options.languageModel = { ...(id !== undefined && { id }), contextWindow, remote };
    }
    const host = this.#host.forEngine(() => isAlive(generation), await this.#storeLock(), await this.#external?.open());
    const engine = await guarded(() =>
      glue.Engine.open(options, host, storage.kind === "memory" ? memoryStore(storage, userId, glue.MemoryStoreHandle) : undefined),
    );
    await this.#guard?.check(engine, generation).catch(async (error: unknown) => {
      if (isAlive(generation)) await guarded(() => engine.close());
      throw error;
    });
    return { engine, generation, encoding: glue.tokenization(tokenizer)?.encoding ?? null, vocabulary: undefined };
  }

  /** The key of the storage, where it has one. */
  async #storeLock(): Promise<StoreLock | undefined> {
    const { storage } = this.#options;
    if (storage.kind !== "indexeddb" || storage.key === undefined) return undefined;
    const { StoreLock } = await import("./store-lock.js").catch(notLoaded("What encrypts"));
    this.#lock ??= new StoreLock(storage.key);
    return this.#lock;
  }

  /** Loads the vocabulary into this engine, once. Where it cannot be had, counts are estimates and an event says so. */
  #vocabulary(opened: Opened): Promise<void> {
    const { encoding } = opened;
    if (encoding === null) return Promise.resolve();
    if (opened.vocabulary === undefined && isAlive(opened.generation) && opened.engine.shareVocabulary(encoding)) opened.vocabulary = Promise.resolve();
    opened.vocabulary ??= this.#options
      .vocabulary(encoding)
      .then((bytes) => {
        if (isAlive(opened.generation)) return guarded(() => opened.engine.loadVocabulary(encoding, bytes));
        return undefined;
      })
      .catch((error: unknown) => {
        const { code, message, retryable } = toMemoryError(error, "wasm_load_failed", "The tokenizer's vocabulary is not usable.");
        this.#emit("error", { code, message, retryable });
        const forget = setTimeout(() => (opened.vocabulary = undefined), VOCABULARY_RETRY_MS) as unknown;
        // Node must not be kept alive by the timer.
        (forget as { unref?: () => void }).unref?.();
      });
    return opened.vocabulary;
  }

  #asMemoryError(error: unknown): MemoryError {
    const known = toMemoryError(error, "engine_unavailable", "The engine could not carry out this call.");
    const failure = this.#external?.failure;
    // As the app's storage threw it, which alone knows whether it is worth trying again.
    if (failure?.code === known.code && failure.message === known.message) return failure;
    const cause = this.#host.causeOf(known.code);
    if (cause === undefined) return known;
    const { code, message, retryable, details } = known;
    return new MemoryError(code, message, { retryable, details, cause });
  }
}

function memoryStore(storage: MemoryStorage, userId: string, Handle: typeof MemoryStoreHandle): MemoryStoreHandle {
  const generation = currentGeneration();
  const stores = memoryStores.get(storage) ?? new Map<string, { handle: MemoryStoreHandle; generation: number }>();
  memoryStores.set(storage, stores);
  const known = stores.get(userId);
  if (known?.generation === generation) return known.handle.share();
  const handle = new Handle();
  stores.set(userId, { handle, generation });
  return handle.share();
}

function memoryLost(lost: number): MemoryError {
  return new MemoryError(
    "engine_panicked",
    "The engine failed inside, and what this memory held went with it: memoryStorage() does not outlive that. Create the memory anew.",
    { details: { lost } },
  );
}
