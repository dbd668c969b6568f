/** One memory of a client: its engine, and the client's callbacks as functions. */

import { MemoryError, closed, isMemoryError } from "../errors.js";
import { Line } from "../client/line.js";
import {
  OTHER_VERSION, PROTOCOL, type AskedOfPage, type AskedOfWorker, type PackedVectors, type ToldToPage, type ToldToWorker, type WireOptions, type WireStorage,
} from "../client/protocol.js";
import type { CheckedOptions, CheckedStorage } from "../options.js";
import { tellPageChange } from "../page-life.js";
import { EngineSession } from "../session.js";
import { PassphraseKey, holdKey } from "../storage-key.js";
import type { Backup, ExportReport, MemoryStorage, Vector } from "../types.js";

/** Storages in memory by the name that the page knows them by. They live as long as the worker. */
const memoryStorages = new Map<string, MemoryStorage>();

type Given<Name extends keyof AskedOfWorker> = AskedOfWorker[Name][0];
type Answered<Name extends keyof AskedOfWorker> = Promise<AskedOfWorker[Name][1]>;

/** One memory. */
export class ServedMemory {
  readonly #line: Line<AskedOfPage, ToldToPage, AskedOfWorker, ToldToWorker>;
  #session: EngineSession | undefined;
  #now = 0;

  #release = (): void => undefined;

  constructor(port: MessagePort, lock: string) {
    this.#line = new Line<AskedOfPage, ToldToPage, AskedOfWorker, ToldToWorker>(
      port,
      {
        open: (options) => this.#open(options),
        call: ({ method, request, policy }, signal) => this.#opened().call(method, request, { ...policy, signal }),
        import: (given, signal) => this.#import(given, signal),
        export: (given, signal) => this.#export(given, signal),
        wasmBytes: () => this.#opened().wasmBytes(),
        close: () => this.#close(),
      },
      { now: (now) => (this.#now = now), page: tellPageChange, giveUp: () => this.#session?.giveUp(), end: () => this.#end() },
      false,
    );
    port.addEventListener("close", () => this.#end());
    void this.#hold(lock);
  }

  /** Holds the lock that tells that this worker lives, and says that it is ready. */
  async #hold(name: string): Promise<void> {
    const { locks } = (globalThis as { navigator?: { locks?: LockManager } }).navigator ?? {};
    const ready = (): void => this.#line.tell("ready", PROTOCOL);
    const held = (): Promise<void> => {
      ready();
      return new Promise((release) => (this.#release = release));
    };
    if (locks === undefined) ready();
    else await locks.request(name, held).catch(ready);
  }

  /** The page has let go of the memory, maybe without closing it. */
  #end(): void {
    this.#release();
    this.#line.end(closed());
    void this.#close().catch(() => undefined);
  }

  async #open(wire: WireOptions): Promise<undefined> {
    const session = new EngineSession(this.#options(wire), (name, payload) => this.#line.tell("event", { name, payload }));
    await session.open().catch((error: unknown) => {
      if (!(isMemoryError(error) && error.cause instanceof WebAssembly.LinkError)) throw error;
      throw new MemoryError("engine_unavailable", OTHER_VERSION, { retryable: false, cause: error });
    });
    this.#session = session;
    return undefined;
  }

  #opened(): EngineSession {
    if (this.#session === undefined) throw closed();
    return this.#session;
  }

  #import({ input, options, progress }: Given<"import">, signal: AbortSignal): Answered<"import"> {
    // This is a worker: another one to read the files in would only be in the way of policies.
    return this.#opened().import(input, { ...options, worker: false, signal, ...this.#telling(progress) });
  }

  async #export({ options, progress, stream }: Given<"export">, signal: AbortSignal): Answered<"export"> {
    const given = { ...options, signal, ...this.#telling(progress) };
    if (stream !== undefined) return { report: (await this.#opened().export({ ...given, to: this.#stream(stream) })) as ExportReport };
    const file = (await this.#opened().export(given)) as Backup;
    return { report: file.report, file };
  }

  /** A stream whose bytes go into one of the app's, as fast as that takes them. */
  #stream(stream: number): WritableStream<Uint8Array> {
    return new WritableStream<Uint8Array>({
      write: (chunk) => {
        // A copy is handed over: whoever made the piece may use its memory again.
        const bytes = chunk.slice();
        return this.#line.ask("chunk", { stream, bytes }, { transfer: [bytes.buffer] });
      },
      close: () => this.#line.ask("chunk", { stream }),
      abort: (reason) => this.#line.ask("chunk", { stream, failed: this.#line.encode(reason) }),
    });
  }

  #telling(id: number | undefined): { onProgress?: (progress: ToldToPage["progress"]["progress"]) => void } {
    return id === undefined ? {} : { onProgress: (progress) => this.#line.tell("progress", { id, progress }) };
  }

  async #close(): Promise<undefined> {
    const session = this.#session;
    this.#session = undefined;
    await session?.close(Promise.resolve());
    return undefined;
  }

  /** The options, with functions in the callbacks' places that ask the page. */
  #options(wire: WireOptions): CheckedOptions {
    const { embedder, languageModel, now, onDataLoss, hasStorageHint, storage, ...plain } = wire;
    const line = this.#line;
    if (now !== undefined) this.#now = now;
    return {
      ...plain,
      storage: storageOf(storage),
      clock: now === undefined ? Date.now : () => this.#now,
      vocabulary: (encoding) => line.ask("vocabulary", encoding),
      onDataLoss: onDataLoss === "ask" ? (damage) => line.ask("onDataLoss", damage) : onDataLoss,
      storageHint: hasStorageHint ? { load: () => line.ask("loadHint", undefined), save: (text) => line.ask("saveHint", text) } : undefined,
      embedder: embedder === undefined ? undefined : { ...embedder, embed: async (texts, { signal, purpose }) => unpacked(await line.ask("embed", { texts, purpose }, { signal })) },
      languageModel: languageModel === undefined ? undefined : { ...languageModel, generate: ({ signal, ...request }) => line.ask("generate", request, { signal }) },
    };
  }
}

/** Vectors that share one piece of memory. */
function unpacked(answer: unknown): readonly Vector[] {
  const { length, numbers } = (answer ?? {}) as Partial<PackedVectors>;
  if (length === undefined || numbers === undefined) return answer as readonly Vector[];
  return Array.from({ length: numbers.length / length }, (_, index) => numbers.subarray(index * length, (index + 1) * length));
}

function storageOf(wire: WireStorage): CheckedStorage {
  if (wire.kind === "memory") {
    const storage = memoryStorages.get(wire.id) ?? { kind: "memory" };
    memoryStorages.set(wire.id, storage);
    return storage;
  }
  const { kind, name, key } = wire;
  if (key === undefined) return { kind, name };
  return { kind, name, key: "passphrase" in key ? new PassphraseKey(key.passphrase, key.iterations) : holdKey(key) };
}
