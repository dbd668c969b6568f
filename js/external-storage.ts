import { MemoryError } from "./errors.js";
import { ExternalStore } from "./external-store.js";
import type { ExternalStorage, ExternalStorageOptions } from "./types.js";

/** What this package asks of a storage that {@link externalStorage} made. */
export interface HeldStorage extends ExternalStorage {
  /** @internal A memory's hold on a user's records. */
  readonly hold: (userId: string) => ExternalStore;
  /** @internal */
  readonly given: ExternalStorageOptions;
}

/**
 * A storage of the app's own, for `createMemory` where that runs with the engine (not through `throughline/client`): ordered
 * records in named stores, read by key or range, and written in one checked transaction. All that the engine promises of what
 * is stored rests on the transaction being one: `OpenedStorage` says what each call must do.
 */
export function externalStorage(options: ExternalStorageOptions): ExternalStorage {
  const { name, durable } = options;
  if (typeof name !== "string" || name === "" || name.length > 200) {
    throw new MemoryError("invalid_config", "Option storage: the name given to externalStorage must be text of 1 to 200 characters.");
  }
  if (typeof durable !== "boolean" || typeof options.open !== "function") {
    throw new MemoryError("invalid_config", "Option storage: externalStorage takes durable, true or false, and the function open.");
  }
  const held: HeldStorage = { kind: "external", name, given: options, hold: (userId) => new ExternalStore(options, userId) };
  return held;
}
