/** How much each store of the page's databases takes, counted record by record in what IndexedDB itself gives out. */

import { databaseNames } from "./vault.ts";

/** What a store takes. */
export interface StoreSize {
  store: string;
  records: number;
  bytes: number;
}

/** Records that are read at once. */
const BATCH = 500;

/** Every store that holds something, the largest first. */
export async function storeSizes(signal: AbortSignal): Promise<StoreSize[]> {
  const sizes = new Map<string, StoreSize>();
  for (const name of await databaseNames()) {
    const database = await opened(name);
    try {
      for (const store of database.objectStoreNames) {
        const size = sizes.get(store) ?? { store, records: 0, bytes: 0 };
        await addStore(database, size, signal);
        sizes.set(store, size);
      }
    } finally {
      database.close();
    }
  }
  return [...sizes.values()].filter(({ records }) => records > 0).sort((a, b) => b.bytes - a.bytes);
}

function opened(name: string): Promise<IDBDatabase> {
  const request = indexedDB.open(name);
  // One that is gone meanwhile must not be made anew.
  request.onupgradeneeded = () => request.transaction?.abort();
  return answered(request).then((database) => {
    database.onversionchange = () => database.close();
    return database;
  });
}

async function addStore(database: IDBDatabase, size: StoreSize, signal: AbortSignal): Promise<void> {
  let range: IDBKeyRange | null = null;
  for (;;) {
    signal.throwIfAborted();
    const store: IDBObjectStore = database.transaction(size.store).objectStore(size.store);
    const [keys, values] = await Promise.all([answered(store.getAllKeys(range, BATCH)), answered(store.getAll(range, BATCH) as IDBRequest<unknown[]>)]);
    size.records += values.length;
    for (const [index, value] of values.entries()) size.bytes += bytesOf(keys[index]) + bytesOf(value);
    if (keys.length < BATCH) return;
    range = IDBKeyRange.lowerBound(keys.at(-1), true);
  }
}

/** As browsers write values: a text with one byte for each character where it is Latin-1, else with two. */
export function bytesOf(value: unknown): number {
  if (typeof value === "string") return /^[\0-\xff]*$/.test(value) ? value.length : value.length * 2;
  if (typeof value === "number") return 8;
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return value.byteLength;
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + bytesOf(each), 0);
  if (typeof value === "object" && value !== null) return Object.entries(value).reduce((sum, [name, each]) => sum + name.length + bytesOf(each), 0);
  return 1;
}

function answered<Answer>(request: IDBRequest<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("The browser could not read its storage."));
  });
}
