/**
 * The engine's way to the app's callbacks. Whatever a callback does (throws anything, answers nonsense, answers too late)
 * arrives at the engine as a usable answer or as a typed failure.
 */

import type { StoreLock } from "./store-lock.js";
import type { EngineHost, EngineModelRequest, EngineStorage } from "./engine-glue.js";
import { MemoryError, type MemoryErrorCode } from "./errors.js";
import { FrozenHolder } from "./frozen-holder.js";
import { tryLock } from "./locks.js";
import type { CheckedOptions } from "./options.js";
import type { Embedder, EmbedPurpose, GenerateRequest, LanguageModel, MemoryEventName, MemoryEvents, Vector } from "./types.js";

/** The callbacks of one memory as the engine sees them. */
export class Host {
  readonly #options: CheckedOptions;
  readonly #emit: (event: MemoryEventName, payload: never) => void;
  readonly #causes = new Map<MemoryErrorCode, unknown>();
  readonly #closing = new AbortController();
  /** The locks that are held, by what releases them. */
  readonly #locks = new Map<() => void, string>();
  /** Who holds a lock that was refused. */
  readonly holder: FrozenHolder;

  /** `askHolder`: see {@link FrozenHolder}. */
  constructor(
    options: CheckedOptions,
    emit: <Name extends MemoryEventName>(event: Name, payload: MemoryEvents[Name]) => void,
    askHolder: (lock: string) => boolean,
  ) {
    this.#options = options;
    this.#emit = emit;
    this.holder = new FrozenHolder(askHolder);
  }

  /** Whether the engine holds a lock of this name. */
  holds(lock: string): boolean {
    return [...this.#locks.values()].includes(lock);
  }

  /** The object that is handed to the engine. `isCurrent` tells whether that engine still lives. */
  forEngine(isCurrent: () => boolean, lock?: StoreLock, storage?: EngineStorage): EngineHost {
    // What an engine that trapped still holds, it will never release.
    this.#releaseLocks();
    const { embedder, languageModel } = this.#options;
    const host: EngineHost = {
      now: () => this.#now(),
      emit: (event, payload) => this.#deliver(event, payload),
      tryLock: (name) => stopWithEngine(this.#tryLock(name), isCurrent),
    };
    if (storage !== undefined) {
      const { get, scan, count, commit, destroy, ...rest } = storage;
      host.storage = {
        ...rest,
        get: (list, signal) => stopWithEngine(get(list, signal), isCurrent),
        scan: (query, signal) => stopWithEngine(scan(query, signal), isCurrent),
        count: (range, signal) => stopWithEngine(count(range, signal), isCurrent),
        commit: (lists) => stopWithEngine(commit(lists), isCurrent),
        destroy: () => stopWithEngine(destroy(), isCurrent),
      };
    }
    if (lock !== undefined) {
      const unlock = async (header: string | undefined): Promise<object> => {
        const { seal, open, ...rest } = await lock.unlock(header);
        const seals: typeof seal = (items) => stopWithEngine(seal(items), isCurrent);
        const opens: typeof open = (items) => stopWithEngine(open(items), isCurrent);
        return { ...rest, seal: seals, open: opens };
      };
      host.unlock = (header) => stopWithEngine(unlock(header), isCurrent);
    }
    if (embedder !== undefined) {
      host.embed = (texts, signal) => stopWithEngine(this.#embed(embedder, texts, "document", signal), isCurrent);
      host.embedQuestions = (texts, signal) => stopWithEngine(this.#embed(embedder, texts, "query", signal), isCurrent);
    }
    if (languageModel !== undefined) {
      host.generate = (request, signal) => stopWithEngine(this.#generate(languageModel, request, signal), isCurrent);
    }
    return host;
  }

  /** What the app's callback itself threw behind the latest failure of this code. */
  causeOf(code: MemoryErrorCode): unknown {
    return this.#causes.get(code);
  }

  /** Aborts every callback that is under way. */
  abort(): void {
    this.#closing.abort(new MemoryError("closed", "The memory was closed."));
  }

  /** Releases what the engine holds outside itself. */
  close(): void {
    this.abort();
    this.#releaseLocks();
  }

  async #tryLock(name: string): Promise<(() => void) | null> {
    let release = await tryLock(this.#options, name);
    // Only background work is fenced.
    if (release === null && name.endsWith(":work") && this.holder.sleeps(name)) release = await tryLock(this.#options, name, true);
    if (release === null) return null;
    this.holder.forget(name);
    const releaseNow = release;
    const releaseOnce = (): void => {
      if (this.#locks.delete(releaseOnce)) releaseNow();
    };
    this.#locks.set(releaseOnce, name);
    if (this.#closing.signal.aborted) releaseOnce();
    return releaseOnce;
  }

  #releaseLocks(): void {
    for (const release of [...this.#locks.keys()]) release();
  }

  #now(): number {
    try {
      const now = this.#options.clock();
      if (Number.isFinite(now)) return now;
    } catch {
      // A broken clock must not stop a write: the platform's own is used.
    }
    return Date.now();
  }

  #deliver(event: string, payload: unknown): void {
    this.#emit(event as MemoryEventName, payload as never);
  }

  async #embed(embedder: Embedder, texts: string[], purpose: EmbedPurpose, signal?: AbortSignal): Promise<Float32Array[]> {
    const call = this.#call(signal);
    try {
      return checkVectors(await embedder.embed(texts, { signal: call.signal, purpose }), texts.length, embedder.dimensions);
    } catch (error) {
      throw this.#failure(error, "embedding_failed", "The embedding callback failed; see the error's cause.");
    } finally {
      call.end();
    }
  }

  async #generate(model: LanguageModel, request: EngineModelRequest, signal?: AbortSignal): Promise<string> {
    const call = this.#call(signal);
    try {
      const { prompt, schema, purpose, ...rest } = request;
      const answer = await model.generate({
        ...rest,
        purpose: purpose as GenerateRequest["purpose"],
        messages: [{ role: "user", content: prompt }],
        ...(schema === undefined || schema === null ? {} : { schema: schema as Record<string, unknown> }),
        signal: call.signal,
      });
      if (typeof answer === "string") return answer;
      if (typeof answer === "object" && answer !== null) return JSON.stringify(answer);
    } catch (error) {
      throw this.#failure(error, "model_failed", "The language model callback failed; see the error's cause.");
    } finally {
      call.end();
    }
    throw this.#failure(undefined, "model_output_invalid", "The language model callback answered neither text nor an object.");
  }

  /** A signal that follows the engine's own and the closing of the memory, until the call ends. */
  #call(signal: AbortSignal | undefined): { signal: AbortSignal; end: () => void } {
    const controller = new AbortController();
    const over = new AbortController();
    for (const source of signal === undefined ? [this.#closing.signal] : [signal, this.#closing.signal]) {
      if (source.aborted) controller.abort(source.reason);
      else source.addEventListener("abort", () => controller.abort(source.reason), { once: true, signal: over.signal });
    }
    return { signal: controller.signal, end: () => over.abort() };
  }

  /** A plain failure for the engine; the app's own error is kept for the one who called. */
  #failure(error: unknown, code: MemoryErrorCode, message: string): MemoryError {
    this.#causes.set(error instanceof MemoryError ? error.code : code, error);
    if (error instanceof MemoryError) return error;
    const isFinal = typeof error === "object" && error !== null && "retryable" in error && error.retryable === false;
    return new MemoryError(code, message, { cause: error, ...(isFinal ? { retryable: false } : {}) });
  }
}

/** Once the engine that asked is gone, nobody must be answered: its promise handlers died with it. */
function stopWithEngine<T>(answer: Promise<T>, isCurrent: () => boolean): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    answer.then(
      (value) => isCurrent() && resolve(value),
      (error: unknown) => isCurrent() && reject(error as Error),
    );
  });
}

function checkVectors(vectors: unknown, count: number, dimensions: number): Float32Array[] {
  if (!Array.isArray(vectors) || vectors.length !== count) {
    const got = Array.isArray(vectors) ? `${vectors.length} vectors` : typeof vectors;
    throw new MemoryError("embedding_failed", `The embedding callback answered ${got} for ${count} texts; answer an array of one vector per text.`);
  }
  return vectors.map((vector: unknown) => {
    if (!Array.isArray(vector) && !(ArrayBuffer.isView(vector) && !(vector instanceof DataView))) {
      throw new MemoryError("embedding_failed", "The embedding callback answered a vector that is neither a typed array nor an array of numbers.");
    }
    const list = vector as unknown as Vector;
    if (list.length !== dimensions) {
      throw new MemoryError(
        "embedding_dimension_mismatch",
        `The embedding callback answered a vector of ${list.length} numbers; embedder.dimensions says ${dimensions}.`,
      );
    }
    const numbers = list instanceof Float32Array ? list : Float32Array.from(list, Number);
    if (!numbers.every(Number.isFinite)) {
      throw new MemoryError("embedding_failed", "The embedding callback answered a vector that holds NaN or Infinity.");
    }
    return numbers;
  });
}
