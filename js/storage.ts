import { ofThisCopy } from "./copies.js";
import { MemoryError } from "./errors.js";
import { holdKey } from "./storage-key.js";
import type { IndexedDbStorage, MemoryStorage, Storage, StorageKey } from "./types.js";

/**
 * IndexedDB of this origin: one database per user, named `<name>:<user id>`, or with a key `<name>:sealed:<hash>`.
 *
 * @param options.name First part of the database's name, 1 to 200 characters. Default `"throughline"`.
 * @param options.key Encrypts everything at rest. The app keeps it; it is never stored, and without it nothing can be read
 * again. A key that is not the one of a user's data makes `createMemory` reject with `storage_key_wrong`.
 */
export function indexedDbStorage(options: { name?: string; key?: StorageKey } = {}): IndexedDbStorage {
  const name = options.name ?? "throughline";
  if (typeof name !== "string" || name === "" || name.length > 200) {
    throw new MemoryError("invalid_config", "Option storage: the name given to indexedDbStorage must be text of 1 to 200 characters.");
  }
  return options.key === undefined ? { kind: "indexeddb", name } : { kind: "indexeddb", name, key: holdKey(options.key) };
}

/**
 * The memory of this page or process: nothing is written anywhere, and it is gone when the page or process ends. Giving
 * the same object to another `createMemory` opens the same data again.
 */
export function memoryStorage(): MemoryStorage {
  return ofThisCopy({ kind: "memory" });
}

/** IndexedDB where this platform has one, else memory. */
export function defaultStorage(): Storage {
  return typeof globalThis.indexedDB === "undefined" ? memoryStorage() : indexedDbStorage();
}
