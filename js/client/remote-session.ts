/** One memory's hold on an engine in a worker: everything that the classes of `Memory` ask goes there, and comes from there. */

import { MemoryError, aborted, closed, toMemoryError, untilAborted } from "../errors.js";
import type { Backup, ExportOptions, ExportReport, ExportToOptions } from "../export.js";
import type { CheckedOptions } from "../options.js";
import { isPageHidden, onPageChange } from "../page-life.js";
import type { CallPolicy, Method, Session } from "../session.js";
import type { ExportProgress, ImportInput, ImportOptions, ImportProgress, ImportReport, MemoryEventName, MemoryEvents } from "../types.js";
import { callbacksOf, ExportStreams } from "./callbacks.js";
import { Connection, type Reactions, type WorkerSource } from "./connection.js";
import { requestText } from "../messages.js";
import { isRefusedClone, notCloneable } from "./line.js";
import type { AskedOfWorker } from "./protocol.js";
import { wireInput, wireOptions } from "./wire-options.js";

/** The app's own clock is told at least so often, in milliseconds: background work waits by it. */
const CLOCK_MS = 1_000;

/** Told how far something is. */
type OnProgress = (progress: never) => void;

/** One memory's hold on an engine in a worker. */
export class RemoteSession implements Session {
  readonly #source: WorkerSource;
  readonly #options: CheckedOptions;
  readonly #reactions: Reactions;
  readonly #streams = new ExportStreams();
  readonly #progress = new Map<number, OnProgress>();
  #lastProgress = 0;
  #opened: { connection: Connection; done: Promise<Connection> } | undefined;
  #closing: Promise<void> | undefined;
  /** There was a worker that has ended. */
  #hasLostWorker = false;
  readonly #listening = new AbortController();
  #clock: ReturnType<typeof setInterval> | undefined;

  constructor(source: WorkerSource, options: CheckedOptions, emit: <Name extends MemoryEventName>(event: Name, payload: MemoryEvents[Name]) => void) {
    this.#source = source;
    this.#options = options;
    this.#reactions = {
      answers: {
        ...callbacksOf(options),
        chunk: ({ stream, bytes, failed }) => this.#streams.take(stream, bytes, failed === undefined ? undefined : { error: this.#opened?.connection.line.decode(failed) }),
      },
      ears: {
        event: ({ name, payload }) => emit(name, payload as never),
        progress: ({ id, progress }) => this.#progress.get(id)?.(progress as never),
      },
    };
  }

  /** Opens the memory, so that what cannot work is told now. */
  async open(): Promise<void> {
    try {
      await this.#connected();
    } catch (error) {
      this.#release();
      throw error;
    }
    onPageChange((change) => this.#opened?.connection.line.tell("page", change), this.#listening.signal);
    if (this.#options.clock === Date.now) return;
    this.#clock = setInterval(() => this.#tellTime(), CLOCK_MS);
    // Node must not be kept alive by it.
    (this.#clock as { unref?: () => void }).unref?.();
  }

  async call(method: Method, request: object, policy: CallPolicy): Promise<unknown> {
    const { idempotent, counts, after, signal } = policy;
    this.#refuse(signal);
    const given = { method, request, policy: { idempotent, ...(counts === undefined ? {} : { counts }) } };
    const run = async (): Promise<unknown> => {
      await after;
      try {
        return await this.#ask("call", given, signal, idempotent);
      } catch (error) {
        if (!isRefusedClone(error)) throw error;
        // What is no plain data (a proxy of a framework, say) may still be what JSON makes of it.
        return this.#ask("call", { ...given, request: asPlainData(request) }, signal, idempotent);
      }
    };
    const answer = run();
    return signal === undefined ? answer : untilAborted(answer, signal);
  }

  async import(input: ImportInput, options: ImportOptions): Promise<ImportReport> {
    const { signal, onProgress, worker: _readHere, ...rest } = options;
    this.#refuse(signal);
    // Importing the same again adds what is missing. A stream can be read only once.
    const isAgain = !(input instanceof ReadableStream);
    return this.#withProgress(onProgress, async (progress) => {
      const { given, transfer } = await wireInput(input);
      return this.#ask("import", { input: given, options: rest, progress }, signal, isAgain, transfer);
    });
  }

  async export(options: ExportOptions | ExportToOptions): Promise<Backup | ExportReport> {
    const { signal, onProgress, to, ...rest } = options as ExportOptions & { to?: unknown };
    // An aborted signal is told by the export itself, to its stream as well.
    this.#refuse(undefined);
    const stream = "to" in options ? this.#streams.add(to) : undefined;
    return this.#withProgress(onProgress, async (progress) => {
      try {
        const { report, file } = await this.#ask("export", { options: rest, progress, stream }, signal, stream === undefined);
        if (stream !== undefined) this.#streams.remove(stream);
        return file === undefined ? report : Object.assign(file, { report });
      } catch (error) {
        if (stream !== undefined) this.#streams.remove(stream, { error });
        throw error;
      }
    });
  }

  wasmBytes(): Promise<number> {
    return this.#ask("wasmBytes", undefined, undefined, true);
  }

  close(writes: Promise<unknown>): Promise<void> {
    this.#closing ??= this.#close(writes);
    return this.#closing;
  }

  async #close(writes: Promise<unknown>): Promise<void> {
    const connection = await this.#opened?.done.catch(() => undefined);
    try {
      connection?.line.tell("giveUp", undefined);
      await writes;
      await connection?.line.ask("close", undefined);
    } catch (error) {
      // A worker that has ended has nothing left to release.
      if (connection?.hasEnded !== true) throw error;
    } finally {
      this.#release();
    }
  }

  /** A promise of the worker's answer. Where it ends meanwhile, what can be carried out twice is asked of a new one. */
  async #ask<Name extends keyof AskedOfWorker>(name: Name, given: AskedOfWorker[Name][0], signal: AbortSignal | undefined, isAgain: boolean, transfer?: Transferable[]): Promise<AskedOfWorker[Name][1]> {
    const connection = await this.#connected();
    this.#tellTime();
    try {
      return await connection.line.ask(name, given, { signal, transfer });
    } catch (error) {
      if (!connection.hasEnded || this.#closing !== undefined) throw error;
      if (!isAgain) throw halfDone();
      return (await this.#connected()).line.ask(name, given, { signal });
    }
  }

  /** The connection to a worker that has this memory open. */
  #connected(): Promise<Connection> {
    if (this.#opened?.connection.hasEnded === true) {
      this.#opened = undefined;
      this.#hasLostWorker = true;
    }
    if (this.#opened === undefined) {
      if (this.#hasLostWorker) this.#mayReplace();
      const connection = new Connection(this.#source, this.#reactions);
      this.#opened = { connection, done: this.#open(connection) };
    }
    return this.#opened.done;
  }

  /** Throws where there can be no other worker, or another would not have what this memory holds. */
  #mayReplace(): void {
    if (this.#options.storage.kind === "memory") {
      throw gone("what this memory held went with it: memoryStorage() does not outlive its worker. Create the memory anew");
    }
    if (typeof this.#source !== "function") {
      throw gone("create the memory anew with another worker, or give createMemoryClient a function that makes workers. What was acknowledged is in storage");
    }
  }

  async #open(connection: Connection): Promise<Connection> {
    try {
      const options = await wireOptions(this.#options);
      await connection.ready();
      await connection.line.ask("open", options);
      connection.line.tell("page", { kind: "visibilitychange", isHidden: isPageHidden(), isKept: false, at: performance.now() });
      return connection;
    } catch (error) {
      const known = notCloneable(error, "invalid_config", "An option holds something that cannot be given to a worker. Callbacks go where the API has them; everything else must be plain data.");
      connection.end(toMemoryError(known, "engine_unavailable", "The engine could not be opened in its worker."));
      if (this.#opened?.connection === connection) this.#opened = undefined;
      throw known;
    }
  }

  #tellTime(): void {
    const { clock } = this.#options;
    if (clock !== Date.now) this.#opened?.connection.line.tell("now", clock());
  }

  async #withProgress<Result>(onProgress: ((progress: never) => void) | undefined, work: (id: number | undefined) => Promise<Result>): Promise<Result> {
    if (onProgress === undefined) return work(undefined);
    if (typeof onProgress !== "function") throw new MemoryError("invalid_argument", "options.onProgress must be a function.");
    this.#lastProgress += 1;
    const id = this.#lastProgress;
    // What the app's function throws is reported as the platform reports uncaught errors; the work goes on.
    this.#progress.set(id, (progress: ImportProgress & ExportProgress) => queueMicrotask(() => (onProgress as (progress: unknown) => void)(progress)));
    try {
      return await work(id);
    } finally {
      this.#progress.delete(id);
    }
  }

  #refuse(signal: AbortSignal | undefined): void {
    if (this.#closing !== undefined) throw closed();
    if (signal?.aborted) throw aborted(signal);
  }

  #release(): void {
    this.#listening.abort();
    clearInterval(this.#clock);
    this.#opened?.connection.end(closed());
    this.#opened = undefined;
  }
}

function halfDone(): MemoryError {
  return new MemoryError("engine_unavailable", "The worker that holds the engine ended while this call was under way: it may or may not have been carried out.", { retryable: false });
}

function gone(what: string): MemoryError {
  return new MemoryError("engine_unavailable", `The worker that holds the engine has ended: ${what}.`, { retryable: false });
}

/** As the engine would read it in this thread: by JSON, numbers that it does not have as text. */
function asPlainData(request: object): object {
  return JSON.parse(requestText(request)) as object;
}
