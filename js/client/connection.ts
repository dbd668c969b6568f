/** A client's connection to its worker: made, watched, and over when the worker is. */

import { MemoryError } from "../errors.js";
import { onPageChange } from "../page-life.js";
import { Line, type Answers, type Ears } from "./line.js";
import { OTHER_VERSION, PROTOCOL, type AskedOfPage, type AskedOfWorker, type Connect, type ToldToPage, type ToldToWorker } from "./protocol.js";

/** What is used of a worker: that of a browser, or of Node's `worker_threads`. */
export interface MemoryWorker {
  /** Sends it a message, and hands over what is in `transfer`. */
  postMessage(message: unknown, transfer: unknown[]): void;
  /** Ends it. */
  terminate(): unknown;
}

/** A worker that runs the package's `throughline/worker`, or a function that makes one and is asked again when it has ended. */
export type WorkerSource = MemoryWorker | (() => MemoryWorker);

/** A worker whose script was loaded answers at once; on a slow line the script takes its time. */
const START_MS = 30_000;

/** The page's end of the channel. */
export type PageLine = Line<AskedOfWorker, ToldToWorker, AskedOfPage, ToldToPage>;

/** What happens with what the worker says. */
export interface Reactions {
  answers: Answers<AskedOfPage>;
  ears: Omit<Ears<ToldToPage>, "ready">;
}

/** One connection. */
export class Connection {
  readonly line: PageLine;
  /** The worker has ended, so this is of no use any more. */
  hasEnded = false;
  readonly #worker: MemoryWorker;
  /** It was made for this connection. */
  readonly #isOwn: boolean;
  readonly #listening = new AbortController();
  readonly #lock = `throughline:worker:${crypto.randomUUID()}`;
  readonly #ready: Promise<void>;

  constructor(source: WorkerSource, { answers, ears }: Reactions) {
    this.#isOwn = typeof source === "function";
    this.#worker = workerOf(source);
    const { port1, port2 } = new MessageChannel();
    let ready: (version: number) => void = () => undefined;
    const version = new Promise<number>((resolve) => (ready = resolve));
    this.line = new Line(port1, answers, { ...ears, ready }, true);
    const connect: Connect = { throughline: "connect", port: port2, lock: this.#lock };
    this.#worker.postMessage(connect, [port2]);
    this.#ready = this.#started(version);
    this.#ready.catch(() => undefined);
  }

  /** Resolves once the worker answers. */
  ready(): Promise<void> {
    return this.#ready;
  }

  /** Ends it; a worker that was made for it too. What is waited for rejects with `error`. */
  end(error: MemoryError): void {
    if (!this.hasEnded) this.line.tell("end", undefined);
    this.hasEnded = true;
    this.#listening.abort();
    this.line.end(error);
    if (this.#isOwn) this.#worker.terminate();
  }

  async #started(version: Promise<number>): Promise<void> {
    const failed = new Promise<never>((_, reject) => {
      const { signal } = this.#listening;
      const fail = (what: string): void => reject(unavailable(`The worker ${what}. Its file must hold import "throughline/worker", and be served where the address says.`));
      const timer = setTimeout(() => fail("did not answer within half a minute"), START_MS);
      listen(this.#worker, "error", () => fail("could not be started"), signal);
      const end = (): void => {
        clearTimeout(timer);
        reject(workerEnded());
      };
      signal.addEventListener("abort", end, { once: true });
      void version.then(() => clearTimeout(timer));
    });
    try {
      const found = await Promise.race([version, failed]);
      if (found !== PROTOCOL) throw unavailable(OTHER_VERSION, false);
      this.#watch();
    } catch (error) {
      this.end(error as MemoryError);
      throw error;
    }
  }

  /** Notices that the worker has ended. Node tells; of a browser's worker only its lock does. */
  #watch(): void {
    const { signal } = this.#listening;
    listen(this.#worker, "exit", () => this.end(workerEnded()), signal);
    const { locks } = (globalThis as { navigator?: { locks?: LockManager } }).navigator ?? {};
    if (locks === undefined) return;
    let waiting = new AbortController();
    const wait = (): void => {
      const { signal: given } = (waiting = new AbortController());
      locks.request(this.#lock, { signal: given }, () => this.end(workerEnded())).catch(() => undefined);
    };
    wait();
    signal.addEventListener("abort", () => waiting.abort(), { once: true });
    // Who waits for a lock may be kept out of the browser's cache.
    onPageChange(({ kind, isKept }) => {
      if (isKept && kind === "pagehide") waiting.abort();
      else if (isKept && kind === "pageshow") wait();
    }, signal);
  }
}

/** What calls of a worker reject with that has ended. */
export function workerEnded(): MemoryError {
  return unavailable("The worker that holds the engine has ended.");
}

function unavailable(message: string, retryable = true): MemoryError {
  return new MemoryError("engine_unavailable", message, { retryable });
}

function workerOf(source: WorkerSource): MemoryWorker {
  const worker = typeof source === "function" ? made(source) : (source as unknown);
  if (typeof worker === "object" && worker !== null && "postMessage" in worker && "terminate" in worker) return worker as MemoryWorker;
  throw new MemoryError("invalid_config", "createMemoryClient takes a Worker, or a function that makes one.");
}

function made(source: () => MemoryWorker): unknown {
  try {
    return source();
  } catch (cause) {
    throw new MemoryError("engine_unavailable", "The function that makes the worker failed; see the error's cause.", { cause });
  }
}

/** Listens to a worker of a browser, or of Node, whose workers are no event targets. */
function listen(worker: MemoryWorker, event: string, listener: () => void, signal: AbortSignal): void {
  if (worker instanceof EventTarget) {
    worker.addEventListener(event, listener, { signal });
    return;
  }
  const emitter = worker as MemoryWorker & { on?: (event: string, listener: () => void) => void; off?: (event: string, listener: () => void) => void };
  emitter.on?.(event, listener);
  signal.addEventListener("abort", () => emitter.off?.(event, listener), { once: true });
}
