/**
 * The one error type of the package, recognised across copies of it.
 */

import type { StorageDamage, StoredFigures } from "./types/storage.js";

/** Every code, and whether the same call can succeed later without being changed. */
const RETRYABLE = {
  invalid_argument: false,
  invalid_config: false,
  not_found: false,
  conflict: false,
  closed: false,
  engine_unavailable: true,
  engine_panicked: false,
  wasm_load_failed: true,
  wasm_blocked_by_csp: false,
  wasm_unsupported: false,
  storage_unavailable: false,
  storage_blocked: true,
  storage_quota_exceeded: false,
  storage_conflict: true,
  storage_corrupt: false,
  storage_key_wrong: false,
  schema_too_new: false,
  embedding_failed: true,
  embedding_dimension_mismatch: false,
  model_failed: true,
  model_output_invalid: true,
  budget_infeasible: false,
  exchange_failed: true,
  aborted: false,
  timeout: true,
} as const;

/**
 * What kind of failure it is.
 *
 * | code | meaning | what to do | a retry can help |
 * |---|---|---|---|
 * | `invalid_argument` | an argument of this call is not usable; nothing was changed | mend the call: the message names the argument and what it takes | no |
 * | `invalid_config` | an option given to `createMemory` is not usable | mend the option that the message names | no |
 * | `not_found` | the conversation, message or fact does not exist | it may have been erased, here or in another tab: read the list again | no |
 * | `conflict` | the same id is already there with other content; nothing was changed | give the message another id, or none; to change one that is stored, call `edit` | no |
 * | `closed` | the memory was closed | open another with `createMemory` | no |
 * | `engine_unavailable` | the engine is busy or being replaced | call again | yes |
 * | `engine_panicked` | the engine failed inside and was replaced; this call may or may not have been carried out | read what is stored (`history`, `facts.list`) before doing it again, and report it | no |
 * | `wasm_load_failed` | the engine, or a vocabulary, could not be loaded | try again once the network is back; where it stays, see that the server gives out `engine.wasm` and the files beside it | yes |
 * | `wasm_blocked_by_csp` | the page's Content-Security-Policy forbids WebAssembly | add `'wasm-unsafe-eval'` to `script-src` | no |
 * | `wasm_unsupported` | this platform has no WebAssembly, or lacks a feature of it that the engine needs | tell the user to update the browser: Chrome 91, Firefox 89 (113 for exact token counts) or Safari 16.4 | no |
 * | `storage_unavailable` | the storage of this browser or profile cannot be used | try again later; until then, if you like, `memoryStorage()`, and tell the user that nothing is kept | no |
 * | `storage_blocked` | another tab holds the storage | ask the user to close or reload other tabs of the app, then try again | yes |
 * | `storage_quota_exceeded` | the storage is full | ask the user to erase something, or to free the disk; reading, removing, erasing and exporting go on | no |
 * | `storage_conflict` | another tab wrote first, and went on doing so | call again | yes |
 * | `storage_corrupt` | stored data cannot be read back as it was written | tell the user what `details` say was lost, then go on with what is left: `onDataLoss: "open"` | no |
 * | `storage_key_wrong` | the stored data has another key, or has one and none was given, or has none | ask for the key or passphrase again; nothing was changed | no |
 * | `schema_too_new` | the stored data was written by a newer version of the engine | reload the page, so that the newer version of the app runs; reading goes on | no |
 * | `embedding_failed` | the embedding callback failed, or its answer is not usable | look at `cause`; it is tried again by itself, and searches go on by words | yes |
 * | `embedding_dimension_mismatch` | the embedding callback answered with vectors of another length than declared | declare the length that the model has, under an `id` of its own | no |
 * | `model_failed` | the language model callback failed | look at `cause`; background work is tried again by itself | yes |
 * | `model_output_invalid` | the language model's answer is not usable; nothing was changed | nothing needs to be done; where it goes on, use a better model for that purpose | yes |
 * | `budget_infeasible` | the question and what must go with it do not fit the window | use a wider `window`, a smaller `reserve`, a shorter system text or a shorter question | no |
 * | `exchange_failed` | the other side of `syncMemory` was not reached, or its answer is not usable | call again; what was exchanged stays | yes |
 * | `aborted` | the caller's signal was aborted | nothing needs to be done | no |
 * | `timeout` | a callback did not answer in time | nothing needs to be done: it is tried again; for slow models raise `policy.limits.callbackTimeoutMs` | yes |
 */
export type MemoryErrorCode = keyof typeof RETRYABLE;

/**
 * What `storage_corrupt` tells: the damage that was found; that the database cannot be opened at all, and what was in it; or
 * how many messages that were acknowledged with `durable: false` are gone.
 */
export type StorageCorruptDetails =
  | StorageDamage
  | { kind: "unreadable"; expected: StoredFigures }
  | { kind?: undefined; lost: number };

/** The `details` of an error, by its code: any plain data, but where it is known what. */
export type MemoryErrorDetails<Code extends MemoryErrorCode> = [Code] extends ["storage_corrupt"]
  ? Readonly<StorageCorruptDetails> | undefined
  : Readonly<Record<string, unknown>> | undefined;

/** An error of one of these codes, told apart by `code`: what {@link isMemoryError} makes of a caught value. */
export type MemoryErrorOf<Code extends MemoryErrorCode> = Code extends MemoryErrorCode
  ? MemoryError & { readonly code: Code; readonly details: MemoryErrorDetails<Code> }
  : never;

const MARKER = Symbol.for("throughline.MemoryError");

/** Extras of a {@link MemoryError}. */
export interface MemoryErrorOptions {
  /** Overrides what the code says about retrying. */
  retryable?: boolean;
  /** Plain data about the failure. Never holds what a user wrote. */
  details?: Readonly<Record<string, unknown>> | undefined;
  /** The error underneath, where there is one. */
  cause?: unknown;
}

/** A failure, told in words that say what to do. The message never holds what a user wrote. */
export class MemoryError extends Error {
  /** The stable code to branch on. */
  readonly code: MemoryErrorCode;
  /** Whether the same call can succeed later without being changed. */
  readonly retryable: boolean;
  /**
   * Plain data about the failure, where there is any. Never holds what a user wrote. `lost` is there where messages that were
   * acknowledged are gone: how many.
   */
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: MemoryErrorCode, message: string, options: MemoryErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "MemoryError";
    this.code = code;
    this.retryable = options.retryable ?? RETRYABLE[code];
    this.details = options.details;
    Object.defineProperty(this, MARKER, { value: true });
  }
}

/**
 * Whether a caught value is a {@link MemoryError}, of this code where one is given. Unlike `instanceof` it also knows
 * errors of another copy of the package.
 */
export function isMemoryError<Code extends MemoryErrorCode = MemoryErrorCode>(error: unknown, code?: Code): error is MemoryErrorOf<Code> {
  if (typeof error !== "object" || error === null || !(MARKER in error)) return false;
  return code === undefined || (error as unknown as MemoryError).code === code;
}

function isCode(code: unknown): code is MemoryErrorCode {
  return typeof code === "string" && Object.hasOwn(RETRYABLE, code);
}

/** An error thrown by the engine or by anything else, as a {@link MemoryError}. */
export function toMemoryError(error: unknown, fallback: MemoryErrorCode, message: string): MemoryError {
  if (isMemoryError(error)) return error;
  if (typeof error === "object" && error !== null && "code" in error && "message" in error) {
    const { code, message: text, retryable, details } = error as Record<string, unknown>;
    if (isCode(code) && typeof text === "string") {
      const options: MemoryErrorOptions = { cause: error };
      if (typeof retryable === "boolean") options.retryable = retryable;
      if (typeof details === "object" && details !== null) options.details = details as Record<string, unknown>;
      return new MemoryError(code, text, options);
    }
  }
  return new MemoryError(fallback, message, { cause: error });
}

/** What a call that was given up rejects with. */
export function aborted(signal: AbortSignal): MemoryError {
  return new MemoryError("aborted", "The call was aborted by its signal.", { cause: signal.reason });
}

/** What a call of a closed memory rejects with. */
export function closed(): MemoryError {
  return new MemoryError("closed", "The memory was closed; create it again to go on.");
}

/** The answer, or a rejection as soon as the signal is aborted. */
export function untilAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(aborted(signal));
    signal.addEventListener("abort", abort, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** For the `catch` of an `import()` of the package's own code: rejects, and says what was to be loaded. */
export function notLoaded(what: string): (cause: unknown) => never {
  return (cause) => {
    const advice = "Serve the package's dist folder whole, and try again; for a service worker, which loads nothing later, bundle the app into one file.";
    throw toMemoryError(cause, "engine_unavailable", `${what} could not be loaded. ${advice}`);
  };
}
