/**
 * The one running instance of the engine in this page or process, and what happens when it traps.
 *
 * A trap (a Rust panic, or memory that ran out) leaves the instance unusable, whoever's call it was. Then everything that
 * waits for it is rejected, the next call makes a fresh instance of the same module, and each memory reopens its engine
 * from storage. {@link generation} tells instances apart.
 */

import init, * as glue from "./engine-glue.js";
import { MemoryError, toMemoryError } from "./errors.js";
import { onMicrotaskTrap } from "./microtask-guard.js";
import { compileEngine } from "./wasm-loader.js";
import type { WasmSource } from "./types.js";

/** What the compiled engine exports. */
export type Glue = typeof glue;

let loading: Promise<unknown> | undefined;
let generation = 0;
let trapped = false;
const waiting = new Set<(reason: unknown) => void>();

/** Loads the engine once; a failure is forgotten, so that the next call tries again. */
export async function loadEngine(source?: WasmSource): Promise<Glue> {
  loading ??= compileEngine(source)
    .then((module) => {
      onMicrotaskTrap(markTrapped);
      return init({ module_or_path: module });
    })
    .catch((error: unknown) => {
      loading = undefined;
      throw toMemoryError(error, "wasm_load_failed", "The engine could not be started.");
    });
  await loading;
  return glue;
}

/** Bytes of the running instance's memory. */
export async function wasmMemoryBytes(): Promise<number> {
  await loading;
  // Once there is an instance, `init` only answers with its exports; after a replacement with those of the new one.
  const { memory } = await init({} as Parameters<typeof init>[0]);
  return memory.buffer.byteLength;
}

/** Whether the instance of this number is the running one and has not trapped. */
export function isAlive(number: number): boolean {
  return !trapped && number === generation;
}

/** Number of the running instance. Objects made by another are dead. A trapped instance is replaced first. */
export function currentGeneration(): number {
  if (trapped) {
    try {
      glue.__wbg_reset_state();
    } catch (error) {
      throw new MemoryError("engine_panicked", "The engine failed and could not be replaced. Reload the page.", {
        cause: error,
      });
    }
    trapped = false;
    generation += 1;
  }
  return generation;
}

/** Runs one call of the engine. If the instance traps while it runs, it is rejected with `engine_panicked`. */
export function guarded<T>(call: () => Promise<T> | T): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    waiting.add(reject);
    const fail = (error: unknown): void => {
      waiting.delete(reject);
      if (isTrap(error)) markTrapped(error);
      reject(isTrap(error) ? panicked(error) : error);
    };
    try {
      Promise.resolve(call()).then((value) => {
        waiting.delete(reject);
        resolve(value);
      }, fail);
    } catch (error) {
      fail(error);
    }
  });
}

function isTrap(error: unknown): boolean {
  if (error instanceof WebAssembly.RuntimeError) return true;
  if (error instanceof RangeError) return /call stack/i.test(error.message);
  // wasm-bindgen's own words for an object that was in use when the instance trapped.
  return error instanceof Error && error.message.startsWith("recursive use of an object");
}

function markTrapped(cause: unknown): void {
  trapped = true;
  const reason = panicked(cause);
  for (const reject of [...waiting]) reject(reason);
  waiting.clear();
}

function panicked(cause: unknown): MemoryError {
  return new MemoryError(
    "engine_panicked",
    "The engine failed inside and is being replaced. What was acknowledged is in storage; this call may or may not have " +
      "been carried out. Please report it.",
    { cause },
  );
}
