/** Moving the chats into an encrypted database and out of it, and changing the passphrase. */

import { createMemory, isMemoryError, passphraseKey, type Memory } from "throughline";
import { changeStorageKey } from "throughline/encryption";
import { deleteSealed, plainPlace, sealedPlace, settleAt, type Key } from "./vault.ts";

/** How far a move is: what is being done, and how much of it. */
export type MoveProgress = (words: string, done: number, total: number) => void;

/**
 * Moves the chats into an encrypted database, or out of it with `null`. They are copied first, counted there, and only then
 * erased here: what goes wrong on the way changes nothing.
 */
export async function moveTo(passphrase: string | null, from: Memory, onProgress: MoveProgress): Promise<void> {
  const key = passphrase === null ? null : passphraseKey(passphrase);
  const backup = await from.export({ onProgress: ({ messages, totalMessages }) => onProgress("Reading", messages, totalMessages) });
  const to = await openEmpty(key);
  try {
    await to.import(backup, { trusted: true, onProgress: ({ bytes, totalBytes }) => onProgress("Writing", bytes, totalBytes) });
    const [before, after] = await Promise.all([from.stats(), to.stats()]);
    const isWhole = after.messages === before.messages && after.conversations === before.conversations && after.facts === before.facts;
    if (!isWhole) throw new Error("Not everything arrived at the new place, so nothing was changed. Export a backup and try again.");
  } catch (error) {
    await to.erase({ user: true });
    throw error;
  } finally {
    await to.close();
  }
  settleAt(key);
  onProgress("Erasing the former copy", 1, 1);
  await from.erase({ user: true });
}

/** Gives the encrypted chats another passphrase. Rejects with `storage_key_wrong` where the present one is another. */
export async function changePassphrase(present: string, next: string): Promise<void> {
  const key = passphraseKey(next);
  const { storage, userId } = sealedPlace(passphraseKey(present));
  if (storage.kind !== "indexeddb") return;
  await changeStorageKey({ userId, storage, key });
  settleAt(key);
}

/** The place that the chats go to. What an earlier move left half done there is removed. */
async function openEmpty(key: Key | null): Promise<Memory> {
  const place = key === null ? plainPlace() : sealedPlace(key);
  const open = async (): Promise<Memory> => {
    const memory = await createMemory(place);
    await memory.erase({ user: true });
    return memory;
  };
  try {
    return await open();
  } catch (error) {
    if (key === null || !isMemoryError(error, "storage_key_wrong")) throw error;
    await deleteSealed();
    return open();
  }
}
