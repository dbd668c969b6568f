import { MemoryError } from "./errors.js";
import type { IndexedDbStorage, MemoryStorage, Storage } from "./types.js";

/**
 * IndexedDB of this origin: one database per user, named `<name>:<user id>`.
 *
 * @param options.name First part of the database's name, 1 to 200 characters. Default `"throughline"`.
 */
export function indexedDbStorage(options: { name?: string } = {}): IndexedDbStorage {
  const name = options.name ?? "throughline";
  if (typeof name !== "string" || name === "" || name.length > 200) {
    throw new MemoryError("invalid_config", "Option storage: the name given to indexedDbStorage must be text of 1 to 200 characters.");
  }
  return { kind: "indexeddb", name };
}

/**
 * The memory of this page or process: nothing is written anywhere, and it is gone when the page or process ends. Giving
 * the same object to another `createMemory` opens the same data again.
 */
export function memoryStorage(): MemoryStorage {
  return { kind: "memory" };
}

/** IndexedDB where this platform has one, else memory. */
export function defaultStorage(): Storage {
  return typeof globalThis.indexedDB === "undefined" ? memoryStorage() : indexedDbStorage();
}
