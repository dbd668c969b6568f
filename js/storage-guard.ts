/**
 * Notices that stored data was lost: compares the database with what is known of it outside when it is opened, keeps that
 * knowledge up to date, and says where the data is kept in a way that the user should know of.
 */

import { guarded, isAlive } from "./engine-instance.js";
import type { Engine } from "./engine-glue.js";
import { MemoryError } from "./errors.js";
import type { CheckedOptions } from "./options.js";
import { onPageChange } from "./page-life.js";
import { StorageFiles } from "./storage-files.js";
import { StorageMarks, type Mark } from "./storage-marks.js";
import { isEphemeral, isPartitioned } from "./storage-surroundings.js";
import type { DataLossDecision, MemoryEventName, MemoryEvents, StorageDamage } from "./types.js";

/** A mark is at most so many milliseconds behind what was written. */
const LAG_MS = 1_000;

type Emit = <Name extends MemoryEventName>(event: Name, payload: MemoryEvents[Name]) => void;

/** Watches one memory's database. */
export class StorageGuard {
  readonly #marks: StorageMarks;
  readonly #onDataLoss: CheckedOptions["onDataLoss"];
  readonly #emit: Emit;
  readonly #listening = new AbortController();
  readonly #files = new StorageFiles();
  #current: (() => Mark | undefined) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `undefined` where everything is in memory only. */
  static for(options: CheckedOptions, emit: Emit): StorageGuard | undefined {
    const { storage } = options;
    if (storage.kind !== "indexeddb") return undefined;
    // Encrypted data is in a database of its own: what is known of the plain one says nothing of it.
    return new StorageGuard(storage.key === undefined ? storage.name : `${storage.name}:sealed`, options, emit);
  }

  private constructor(name: string, options: CheckedOptions, emit: Emit) {
    this.#marks = new StorageMarks(name, options.userId, options.storageHint);
    this.#onDataLoss = options.onDataLoss;
    this.#emit = emit;
    onPageChange(({ kind }) => kind === "pagehide" && this.#save(), this.#listening.signal);
  }

  /** To be called with every engine that was opened, before anything is asked of it. Rejects where data was lost, unless the app goes on. */
  async check(engine: Engine, generation: number): Promise<void> {
    const storeId = randomId();
    // Read after the opening: then they are not older than an erasure that the database has seen.
    const marks = await this.#marks.load();
    const damage = (await guarded(() => engine.checkStorage(JSON.stringify({ marks, storeId })))) as StorageDamage | null;
    if (damage !== null) {
      if ((await this.#decision(damage)) !== "open") throw lost(damage);
      await guarded(() => engine.acceptDamage(JSON.stringify({ id: storeId })));
      this.#tell({ state: "damaged", damage });
    }
    this.#current = () => {
      const text = isAlive(generation) ? engine.mark() : undefined;
      return text === undefined ? undefined : (JSON.parse(text) as Mark);
    };
    this.#save(true);
    void this.#tellSurroundings();
  }

  /** What could not be opened at all, with what is known of it. */
  async explained(error: MemoryError): Promise<MemoryError> {
    const { code, message, retryable, cause } = error;
    if (code !== "storage_unavailable" && code !== "storage_corrupt") return error;
    const [mark] = await this.#marks.load();
    if (mark === undefined || error.details !== undefined) return error;
    const { messages, conversations } = mark;
    return new MemoryError(code, message, { retryable, cause, details: { kind: "unreadable", expected: { messages, conversations } } });
  }

  /** Something may have been written. */
  touch(): void {
    if (this.#timer !== undefined || this.#current === undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#save();
      void this.#lookAtFiles();
    }, LAG_MS);
    // Node must not be kept alive by it.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Runs the erasure of everything: what is known outside goes first, so that nobody takes it for a loss. */
  async erasing<Result>(erase: () => Promise<Result>): Promise<Result> {
    await this.#marks.clear();
    try {
      return await erase();
    } finally {
      this.#save(true);
    }
  }

  /** Keeps the last mark and ends. To be called before the engine is closed. */
  close(): void {
    this.#save();
    clearTimeout(this.#timer);
    this.#listening.abort();
    this.#current = undefined;
  }

  /** Nothing that is written now outlives the browser. */
  get filesAreGone(): boolean {
    return this.#files.areGone;
  }

  async #lookAtFiles(): Promise<void> {
    if ((await this.#files.look()) && this.#current !== undefined) this.#tell({ state: "files_removed" });
  }

  #save(replace = false): void {
    const mark = this.#current?.();
    if (mark !== undefined) this.#marks.save(mark, replace);
  }

  async #decision(damage: StorageDamage): Promise<DataLossDecision> {
    return typeof this.#onDataLoss === "function" ? this.#onDataLoss(damage) : this.#onDataLoss;
  }

  async #tellSurroundings(): Promise<void> {
    if (await isEphemeral()) this.#tell({ state: "ephemeral" });
    if (await isPartitioned()) this.#tell({ state: "partitioned" });
  }

  /** Once whoever opened the memory could begin to listen. */
  #tell(payload: MemoryEvents["storage"]): void {
    setTimeout(() => this.#emit("storage", payload), 0);
  }
}

function lost(damage: StorageDamage): MemoryError {
  const { kind, lost: messages } = damage;
  const many = messages === null || messages === 0 ? "" : `, at least ${messages} messages with it`;
  const what = {
    removed: `the stored data is gone${many}`,
    replaced: `other data is stored in place of what was there${many}`,
    truncated: `what was stored last is missing${many}`,
    damaged: "stored records are missing or cannot be read",
  }[kind];
  return new MemoryError(
    "storage_corrupt",
    `Storage: ${what}. Tell the user, and open it with onDataLoss: "open" to go on with what is left; nothing was changed so far.`,
    { details: { ...damage } },
  );
}

function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
