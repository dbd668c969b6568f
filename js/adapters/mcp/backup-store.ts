/// <reference types="node" />
import { constants } from "node:fs";
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryError } from "../../errors.js";
import { createMemory, memoryStorage, type Memory, type MemoryOptions } from "../../index.js";

/** How long changes are gathered before the file is written, in milliseconds. */
const SAVE_AFTER_MS = 500;

/** How long a lock may name nobody, in milliseconds. */
const LOCK_PAUSE_MS = 200;

/** Options of `openBackupStore`. */
export interface BackupStoreOptions extends Omit<MemoryOptions, "storage"> {
  /** The backup file; made with the first change where it is not there. */
  file: string;
  /** Encrypts the file, and opens one that is encrypted. */
  passphrase?: string;
  /** False: nothing is written, and the file may be in use elsewhere. Default true. */
  writable?: boolean;
}

/**
 * A memory that is kept in a backup file, for Node, where there is no IndexedDB: the whole of it is read into this process when
 * it opens, and written after changes, into a file beside it that then takes its place. So the file is always whole, as it was
 * before a change or after it, and what was changed in the last half second before a crash may be missing. Meant for the
 * memory of one person; a store of gigabytes does not fit.
 */
export class BackupStore {
  /** The memory. */
  readonly memory: Memory;
  readonly #options: BackupStoreOptions;
  readonly #lock: string;
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();
  #isDirty = false;
  #known: string | undefined;
  /** Told of a save that failed; it is tried again with the next change, and by `close`. */
  onError: (error: unknown) => void = () => undefined;

  /** @internal Made by {@link openBackupStore}. */
  constructor(memory: Memory, options: BackupStoreOptions, lock: string) {
    this.memory = memory;
    this.#options = options;
    this.#lock = lock;
    for (const event of ["append", "stream", "compaction", "conversation", "fact", "storage"] as const) memory.on(event, () => this.#changed());
  }

  /** @internal Takes in what the file holds, beside what is there. */
  async load(): Promise<void> {
    const { file, passphrase } = this.#options;
    const state = await stateOf(file);
    if (state === this.#known || state === undefined) return;
    // It is the user's own file, at a place that they chose.
    await this.memory.import(await readFile(file), { trusted: true, worker: false, ...(passphrase !== undefined && { passphrase }) });
    this.#known = state;
  }

  /** Writes the file now, where anything has changed. */
  save(): Promise<void> {
    this.#rest();
    this.#saving = this.#saving.catch(() => undefined).then(() => this.#save());
    return this.#saving;
  }

  /** Writes what has changed, closes the memory, and lets others use the file. */
  async close(): Promise<void> {
    try {
      await this.memory.settled();
      await this.save();
    } finally {
      await this.memory.close();
      if (this.#options.writable !== false) await rm(this.#lock, { force: true });
    }
  }

  /** @internal What was loaded is no change. */
  begin(): void {
    this.#rest();
    this.#isDirty = false;
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #changed(): void {
    if (this.#options.writable === false) return;
    this.#isDirty = true;
    this.#timer ??= setTimeout(() => void this.save().catch((error: unknown) => this.onError(error)), SAVE_AFTER_MS);
  }

  async #save(): Promise<void> {
    if (!this.#isDirty || this.#options.writable === false) return;
    this.#isDirty = false;
    const { file, passphrase } = this.#options;
    try {
      // Somebody put another file there meanwhile: nothing of it may be lost.
      await this.load();
      const backup = await this.memory.export(passphrase === undefined ? {} : { encrypt: { passphrase } });
      await writeWhole(file, new Uint8Array(await backup.arrayBuffer()));
      this.#known = await stateOf(file);
    } catch (error) {
      this.#isDirty = true;
      throw error;
    }
  }
}

/**
 * Opens a memory that is kept in a backup file. One process at a time may write it.
 *
 * @throws `storage_blocked` where another process has it open for writing, what `import` rejects with for a file that cannot be
 * read (it is left as it is), and what `createMemory` does.
 */
export async function openBackupStore(options: BackupStoreOptions): Promise<BackupStore> {
  const { file, passphrase: _, writable = true, ...rest } = options;
  const lock = `${file}.lock`;
  if (writable) await takeLock(lock);
  let memory: Memory | undefined;
  try {
    memory = await createMemory({ ...rest, storage: memoryStorage() });
    const store = new BackupStore(memory, options, lock);
    await store.load();
    store.begin();
    return store;
  } catch (error) {
    await memory?.close();
    if (writable) await rm(lock, { force: true });
    throw error;
  }
}

/** A file that says which process writes. One whose process is gone is taken over. */
async function takeLock(lock: string): Promise<void> {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      const handle = await open(lock, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
      await handle.writeFile(String(process.pid));
      await handle.close();
      return;
    } catch (error) {
      if (!isCode(error, "EEXIST")) throw new MemoryError("storage_unavailable", "The backup file's folder cannot be written to; see the error's cause.", { cause: error });
      const owner = Number(await readFile(lock, "utf8").catch(() => ""));
      if (isRunning(owner)) break;
      // One that names nobody may be about to.
      if (owner === 0 && attempt === 0) await sleep(LOCK_PAUSE_MS);
      else await rm(lock, { force: true });
    }
  }
  throw new MemoryError("storage_blocked", "Another process has this backup file open for writing: end it, or open the file read-only.");
}

function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isCode(error, "EPERM");
  }
}

/** All bytes, on disk, or the file as it was. Readable by its owner only. */
async function writeWhole(file: string, bytes: Uint8Array): Promise<void> {
  const beside = `${file}.new`;
  const handle = await open(beside, "w", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(beside, file);
  // The folder, too, must say so after a power cut. Not every platform lets folders be opened.
  const folder = await open(dirname(file), "r").catch(() => undefined);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}

/** What tells whether a file is another one; `undefined`: there is none. */
async function stateOf(file: string): Promise<string | undefined> {
  try {
    const { ino, size, mtimeMs } = await stat(file);
    return `${ino} ${size} ${mtimeMs}`;
  } catch (error) {
    if (isCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === code;
}
