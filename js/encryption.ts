/** What an app does with an encrypted storage beside using it: gives it another key. */

import { requireGiven, requireId } from "./arguments.js";
import { MemoryError } from "./errors.js";
import { holdKey } from "./storage-key.js";
import { rewrapped } from "./store-lock.js";
import type { IndexedDbStorage, StorageKey } from "./types.js";

/** Where the engine keeps how the key is made (`src/store/encrypted/mod.rs`). */
const STORE = "meta";
const PLACE = ["encryption"];

/** Options of {@link changeStorageKey}. */
export interface ChangeStorageKey {
  /** Whose data. Default `"default"`. */
  userId?: string;
  /** The storage with the key that it has now. */
  storage: IndexedDbStorage;
  /** The key that it is to have. */
  key: StorageKey;
}

/**
 * Gives a user's encrypted data another key. One small record is written: the data itself stays under its own random key,
 * which the app's key wraps, so memories that are open go on. From then on the former key opens nothing; but who has a copy
 * of the profile from before, and the former key, can open that copy and what is written later.
 *
 * @throws `storage_key_wrong` when the storage's key is not the present one, `not_found` when the user has no encrypted
 * data, `storage_conflict` when another tab changed the key meanwhile. Nothing was changed then.
 */
export async function changeStorageKey(options: ChangeStorageKey): Promise<void> {
  const { userId = "default", storage, key } = requireGiven(options, "options", ["userId", "storage", "key"]);
  if (storage?.kind !== "indexeddb" || storage.key === undefined) {
    throw new MemoryError("invalid_argument", "options.storage must come from indexedDbStorage({ key }).");
  }
  const next = holdKey(key);
  const database = await openExisting(await databaseName(storage.name, requireId(userId, "options.userId")));
  try {
    const header = await headerIn(database.transaction(STORE));
    if (typeof header !== "string") throw noData();
    const body = await rewrapped(header, storage.key, next);
    const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
    if ((await headerIn(transaction)) !== header) throw new MemoryError("storage_conflict", "Another tab changed the key at the same time; try again with the key that it has now.");
    transaction.objectStore(STORE).put({ body }, PLACE);
    await completion(transaction);
  } finally {
    database.close();
  }
}

/** As `src/wasm/stored.rs` names it. */
async function databaseName(app: string, userId: string): Promise<string> {
  const parts = [app, userId].map((part) => new TextEncoder().encode(part));
  const message = new Uint8Array(parts.reduce((sum, part) => sum + 4 + part.length, 0));
  let at = 0;
  for (const part of parts) {
    new DataView(message.buffer).setUint32(at, part.length, true);
    message.set(part, at + 4);
    at += 4 + part.length;
  }
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", message));
  const hidden = btoa(String.fromCharCode(...digest.subarray(0, 16))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return `${app.replaceAll("%", "%25").replaceAll(":", "%3A")}:sealed:${hidden}`;
}

function openExisting(name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(name);
    opening.onupgradeneeded = () => opening.transaction?.abort();
    opening.onsuccess = () => {
      const database = opening.result;
      database.onversionchange = () => database.close();
      resolve(database);
    };
    opening.onerror = () => reject(opening.error?.name === "AbortError" ? noData() : unavailable(opening.error));
    opening.onblocked = () => reject(new MemoryError("storage_blocked", "Another tab holds this user's storage; close it and try again."));
  });
}

function headerIn(transaction: IDBTransaction): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const asked = transaction.objectStore(STORE).get(PLACE) as IDBRequest<{ body?: unknown } | undefined>;
    asked.onsuccess = () => resolve(asked.result?.body);
    asked.onerror = () => reject(unavailable(asked.error));
  });
}

function completion(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(unavailable(transaction.error));
  });
}

function unavailable(cause: unknown): MemoryError {
  return new MemoryError("storage_unavailable", "The browser could not read or write this user's storage; the key was not changed.", { cause });
}

function noData(): MemoryError {
  return new MemoryError("not_found", "This user has no encrypted data here.");
}
