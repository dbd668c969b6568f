/**
 * Where the chats of this page are: in a plain database, or in one that is encrypted with a passphrase. Which of them is
 * noted in localStorage, as one word. Each is a user of its own, so that both can be open while the chats move.
 */

import { createMemory, indexedDbStorage, isMemoryError, passphraseKey, type Memory, type MemoryOptions } from "throughline";
import { holdPage } from "./page-lock.ts";

/** What `createMemory` needs to know to find the chats. */
export type Place = Required<Pick<MemoryOptions, "userId" | "storage">>;

/** The key of the encrypted chats. */
export type Key = ReturnType<typeof passphraseKey>;

const APP = "throughline-demo";
const NOTE = `${APP}.place`;
const PLAIN_USER = "demo";
const SEALED_USER = "demo-sealed";
const SEALED_PREFIX = `${APP}:sealed:`;

/** The key, while the page is open. */
let held: Key | null = null;

/** Whether the chats are encrypted. */
export async function isEncrypted(): Promise<boolean> {
  const note = localStorage.getItem(NOTE);
  if (note !== null) return note === "sealed";
  // The note can be lost alone. Then what is there decides.
  const names = await databaseNames();
  return names.some((name) => name.startsWith(SEALED_PREFIX)) && !names.includes(`${APP}:${PLAIN_USER}`);
}

/** Opens the chats where they are; asks for the passphrase, as often as it takes. */
export async function openVault(create: (place: Place) => Promise<Memory>): Promise<Memory> {
  await holdPage();
  if (!(await isEncrypted())) return create(plainPlace());
  let isWrong = false;
  for (;;) {
    held ??= await askKey(isWrong);
    if (held === null) return create(plainPlace());
    try {
      const memory = await create(sealedPlace(held));
      await eraseLeftOver();
      return memory;
    } catch (error) {
      if (!isMemoryError(error, "storage_key_wrong")) throw error;
      held = null;
      isWrong = true;
    }
  }
}

/** From now on the chats are there: encrypted with this key, or plain. */
export function settleAt(key: Key | null): void {
  held = key;
  localStorage.setItem(NOTE, key === null ? "plain" : "sealed");
}

/** Where plain chats are. */
export function plainPlace(): Place {
  return { userId: PLAIN_USER, storage: indexedDbStorage({ name: APP }) };
}

/** Where encrypted chats are. */
export function sealedPlace(key: Key): Place {
  return { userId: SEALED_USER, storage: indexedDbStorage({ name: APP, key }) };
}

/** A move that ended before its last step has left the plain chats where they were. */
async function eraseLeftOver(): Promise<void> {
  if (!(await databaseNames()).includes(`${APP}:${PLAIN_USER}`)) return;
  const plain = await createMemory(plainPlace());
  const { conversations, facts } = await plain.stats();
  if (conversations + facts > 0) await plain.erase({ user: true });
  await plain.close();
}

/** The key; `null` where the person gave the encrypted chats up. */
async function askKey(isWrong: boolean): Promise<Key | null> {
  const { askPassphrase } = await import("./passphrase-dialog.ts");
  const passphrase = await askPassphrase(isWrong);
  if (passphrase !== null) return passphraseKey(passphrase);
  await deleteSealed();
  settleAt(null);
  return null;
}

/** Removes the encrypted chats, which needs no key. */
export async function deleteSealed(): Promise<void> {
  const names = (await databaseNames()).filter((name) => name.startsWith(SEALED_PREFIX));
  await Promise.all(names.map((name) => new Promise<void>((resolve, reject) => {
    const request = indexedDB.deleteDatabase(name);
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error ?? new Error("The browser could not delete them."));
    request.onblocked = () => reject(new Error("Another tab of this page is open. Close it, then try again."));
  })));
}

/** The databases of this page. */
export async function databaseNames(): Promise<string[]> {
  const all = (await indexedDB.databases?.()) ?? [];
  return all.map(({ name = "" }) => name).filter((name) => name.startsWith(`${APP}:`));
}
