// What IndexedDB really holds, read beside the engine. Used by pages.

const settled = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** Every record of every store of every database of this site: `{ store, key, value }`. */
export async function everyRecord() {
  const records = [];
  for (const { name } of await indexedDB.databases()) {
    const database = await settled(indexedDB.open(name));
    for (const store of database.objectStoreNames) {
      const source = database.transaction(store).objectStore(store);
      const [keys, values] = await Promise.all([settled(source.getAllKeys()), settled(source.getAll())]);
      keys.forEach((key, at) => records.push({ store, key, value: values[at] }));
    }
    database.close();
  }
  return records;
}

/** Removes one record of a store, as no call of the engine would. */
export async function removeRecord(databaseName, store, key) {
  const database = await settled(indexedDB.open(databaseName));
  const transaction = database.transaction(store, "readwrite");
  transaction.objectStore(store).delete(key);
  await new Promise((resolve) => { transaction.oncomplete = resolve; });
  database.close();
}

/** Removes a database, as the browser does when the site's data is cleared. */
export const removeDatabase = (name) => settled(indexedDB.deleteDatabase(name));
