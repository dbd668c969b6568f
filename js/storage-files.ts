/**
 * Notices that the files of the database were removed while it is open, by a cleaner or a virus scanner. Chromium goes on as
 * if nothing had happened: what is written is acknowledged and can be read, and all is gone when the last tab closes. Opened
 * anew it would be empty at once, so it is not, and nobody who still can read everything loses that. What shows it is the size
 * that the browser tells, of its LevelDB files, after the next write; its SQLite and other browsers do not show it.
 */

/** Between two looks while the memory is used, in milliseconds. */
const PAUSE_MS = 5_000;
/** Before a look is believed. */
const AGAIN_MS = 1_000;

/** The files of this site's databases. */
export class StorageFiles {
  #lookedAt = Number.NEGATIVE_INFINITY;
  #wereThere = false;
  /** They were removed. */
  areGone = false;

  /** Looks, not too often. True once: when they are found to be gone. */
  async look(): Promise<boolean> {
    const now = performance.now();
    if (this.areGone || now - this.#lookedAt < PAUSE_MS) return false;
    this.#lookedAt = now;
    if (await isEmpty()) {
      if (!this.#wereThere) return false;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      this.areGone = await isEmpty();
      return this.areGone;
    }
    this.#wereThere = true;
    return false;
  }
}

/** Whether the browser says that databases take no room at all. */
async function isEmpty(): Promise<boolean> {
  const { storage } = (globalThis as { navigator?: { storage?: Partial<StorageManager> } }).navigator ?? {};
  const told = (await storage?.estimate?.().catch(() => undefined)) as { usageDetails?: { indexedDB?: number } } | undefined;
  return told?.usageDetails !== undefined && (told.usageDetails.indexedDB ?? 0) === 0;
}
