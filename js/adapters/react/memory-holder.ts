import { toMemoryError, type MemoryError } from "../../errors.js";
import type { Memory } from "../../index.js";

/** Whether the memory is open. */
export type MemoryState =
  | { readonly status: "opening"; readonly memory: undefined; readonly error: undefined }
  | { readonly status: "ready"; readonly memory: Memory; readonly error: undefined }
  | { readonly status: "failed"; readonly memory: undefined; readonly error: MemoryError; /** Opens it once more. */ readonly retry: () => void };

/** A memory that is being opened. */
export const OPENING: MemoryState = { status: "opening", memory: undefined, error: undefined };

/**
 * Opens a memory when it is first shown and closes it when it no longer is. Nothing happens while a tree is only rendered,
 * on a server or in a try that React throws away.
 */
export class MemoryHolder {
  readonly #open: () => Promise<Memory>;
  readonly #listeners = new Set<() => void>();
  #state: MemoryState = OPENING;
  #holders = 0;
  /** What is opening or open; `undefined`: nothing. */
  #opened: Promise<Memory> | undefined;

  constructor(open: () => Promise<Memory>) {
    this.#open = open;
  }

  /** The state, the same object until it changes. */
  readonly state = (): MemoryState => this.#state;

  /** Calls back when the state changes, and keeps the memory open until the function that it answers with is called. */
  readonly hold = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    this.#holders += 1;
    if (this.#opened === undefined) this.#start();
    return () => {
      this.#listeners.delete(listener);
      this.#holders -= 1;
      // StrictMode takes effects back and makes them again at once: that must not open everything twice.
      setTimeout(() => this.#holders === 0 && this.#stop(), 0);
    };
  };

  #start(): void {
    const opened = (async () => this.#open())();
    this.#opened = opened;
    const set = (state: MemoryState): void => {
      if (this.#opened === opened) this.#set(state);
    };
    opened.then(
      (memory) => set({ status: "ready", memory, error: undefined }),
      (error: unknown) => set({ status: "failed", memory: undefined, error: toMemoryError(error, "engine_unavailable", "The memory could not be opened; see the error's cause."), retry: () => this.#retry(opened) }),
    );
  }

  #retry(failed: Promise<Memory>): void {
    if (this.#opened !== failed || this.#holders === 0) return;
    this.#set(OPENING);
    this.#start();
  }

  #stop(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    this.#state = OPENING;
    // Closing tells its own failures; one that never opened has nothing to close.
    opened?.then((memory) => memory.close()).catch(() => undefined);
  }

  #set(state: MemoryState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}
