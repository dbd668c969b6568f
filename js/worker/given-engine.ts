/** In place of `wasm-loader.ts` in the worker (scripts/build.mjs): the page has compiled the engine, and gives it. */

import type { WasmSource } from "../types.js";

/** The engine that was given. */
export function compileEngine(source?: WasmSource): Promise<WebAssembly.Module> {
  return Promise.resolve(source as WebAssembly.Module);
}
