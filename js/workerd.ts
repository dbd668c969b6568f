/**
 * The package in Cloudflare's Workers (export condition `workerd`). They forbid compiling WebAssembly while they run, so
 * the engine is imported, which their bundler compiles ahead, and given to all that runs it. Everything else is the same.
 */

import engine from "./engine.wasm";
import { countTokens as count, createMemory as create, validateContext as validate } from "./index.js";

export * from "./index.js";

export const createMemory: typeof create = (options) => create({ ...options, wasm: options?.wasm ?? engine });

export const countTokens: typeof count = (text, encodingOrModel, options) =>
  count(text, encodingOrModel, { ...options, wasm: options?.wasm ?? engine });

export const validateContext: typeof validate = (context, profile, options) =>
  validate(context, profile, { ...options, wasm: options?.wasm ?? engine });
