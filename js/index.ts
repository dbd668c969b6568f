/** Throughline: a memory engine for AI chat that lives in the page. Importing this has no effect. */
export { createMemory } from "./create-memory.js";
export type { Memory } from "./memory.js";
export type { Conversations } from "./conversations.js";
export type { Facts } from "./facts.js";
export type { MessageStream } from "./message-stream.js";
export type { StorageState } from "./storage-state.js";
export { externalStorage } from "./external-storage.js";
export { indexedDbStorage, memoryStorage } from "./storage.js";
export { passphraseKey } from "./storage-key.js";
export type { PassphraseKey } from "./storage-key.js";
export { countTokens } from "./tokens.js";
export type { CountTokensOptions, TokenCount } from "./tokens.js";
export { validateContext } from "./validation.js";
export type { ContextToValidate, ValidateContextOptions } from "./validation.js";
export { isMemoryError, MemoryError } from "./errors.js";
export type { MemoryErrorCode, MemoryErrorDetails, MemoryErrorOf, MemoryErrorOptions, StorageCorruptDetails } from "./errors.js";
export type * from "./types.js";
