import { isMemoryError, toMemoryError, type MemoryError } from "../../errors.js";

/** What was read, kept up to date. `idle`: there is nothing to read; of what `failed`, `data` is what was read before. */
export type Live<T> =
  | { readonly status: "idle" | "loading"; readonly data: undefined; readonly error: undefined }
  | { readonly status: "ready"; readonly data: T; readonly error: undefined }
  | { readonly status: "failed"; readonly data: T | undefined; readonly error: MemoryError };

/** Reads something. */
export type Load<T> = (signal: AbortSignal, before: T | undefined) => Promise<T>;

/** How it is kept up to date. */
export interface LiveQueryOptions<T> {
  load: Load<T> | undefined;
  /** Hears of changes; answers with what ends that. */
  watch: (changed: () => void) => () => void;
  /** What was read is going to change without a word: it is read again so many milliseconds later. */
  pollMs?: (data: T) => number | undefined;
}

const LOADING = { status: "loading", data: undefined, error: undefined } as const;
const IDLE = { status: "idle", data: undefined, error: undefined } as const;

/** Something that is read anew whenever it may have changed, while anybody looks at it, and one reading at a time. */
export class LiveQuery<T> {
  readonly #options: LiveQueryOptions<T>;
  readonly #listeners = new Set<() => void>();
  #load: Load<T> | undefined;
  #snapshot: Live<T>;
  #reading: AbortController | undefined;
  #isStale = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #unwatch: (() => void) | undefined;

  constructor(options: LiveQueryOptions<T>) {
    this.#options = options;
    this.#load = options.load;
    this.#snapshot = options.load === undefined ? IDLE : LOADING;
  }

  /** What was read last, the same object until it changes. */
  readonly snapshot = (): Live<T> => this.#snapshot;

  /** As long as anybody has subscribed, it is kept up to date. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) {
      this.#unwatch = this.#options.watch(this.refresh);
      this.refresh();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  };

  /** Reads it again, once what is being read has been read. */
  readonly refresh = (): void => {
    if (this.#listeners.size === 0 || this.#load === undefined) return;
    this.#isStale = true;
    if (this.#reading === undefined) void this.#read(this.#load);
  };

  /** Reads something else from now on, `delayMs` later; what is shown stays until then. Where nothing is, at once. */
  replace(load: Load<T> | undefined, delayMs: number): void {
    const isFirst = this.#snapshot.data === undefined;
    this.#load = load;
    this.#reading?.abort();
    this.#reading = undefined;
    clearTimeout(this.#timer);
    if (load === undefined) this.#set(IDLE);
    else if (this.#snapshot.status === "idle") this.#set(LOADING);
    this.#timer = setTimeout(this.refresh, isFirst ? 0 : delayMs);
  }

  async #read(load: Load<T>): Promise<void> {
    const reading = new AbortController();
    this.#reading = reading;
    this.#isStale = false;
    clearTimeout(this.#timer);
    const { data: before } = this.#snapshot;
    const next = await load(reading.signal, before).then(
      (data): Live<T> => (data === before ? this.#snapshot : { status: "ready", data, error: undefined }),
      (error: unknown): Live<T> => failed(error, before),
    );
    if (this.#reading !== reading) return;
    this.#reading = undefined;
    this.#set(next);
    if (this.#isStale) this.refresh();
    else this.#pollLater();
  }

  #pollLater(): void {
    const { status, data } = this.#snapshot;
    const pollMs = status === "ready" && data !== undefined ? this.#options.pollMs?.(data) : undefined;
    if (pollMs !== undefined) this.#timer = setTimeout(this.refresh, pollMs);
  }

  #stop(): void {
    this.#unwatch?.();
    clearTimeout(this.#timer);
    this.#reading?.abort();
    this.#reading = undefined;
  }

  #set(snapshot: Live<T>): void {
    if (snapshot === this.#snapshot) return;
    this.#snapshot = snapshot;
    for (const listener of this.#listeners) listener();
  }
}

/** What is gone is shown no longer; what cannot be read now stays. */
function failed<T>(error: unknown, before: T | undefined): Live<T> {
  const isGone = isMemoryError(error, "not_found") || isMemoryError(error, "closed");
  return { status: "failed", data: isGone ? undefined : before, error: toMemoryError(error, "engine_unavailable", "It could not be read; see the error's cause.") };
}
