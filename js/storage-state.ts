import { requireOptions } from "./arguments.js";
import type { Session } from "./session.js";
import { isEphemeral, isPartitioned } from "./storage-surroundings.js";
import type { CallOptions, Stats, StorageDamage, StorageInfo } from "./types.js";

/** Where the data is kept, and whether it is whole. */
export class StorageState {
  readonly #session: Session;

  /** @internal */
  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Asks the browser never to evict this site's data. Browsers decide by themselves or ask the user, so call it when the user
   * has done something that is worth keeping.
   *
   * @returns Whether it promised; false also where the platform has no such promise.
   */
  async persist(): Promise<boolean> {
    const storage = (globalThis as { navigator?: { storage?: Partial<StorageManager> } }).navigator?.storage;
    return (await storage?.persist?.().catch(() => false)) ?? false;
  }

  /** Figures about where the data is kept, and damage that was found. */
  async info(options: CallOptions = {}): Promise<StorageInfo> {
    const stats = (await this.#call("stats", options)) as Stats;
    const { durable, persisted, storageBytes, quotaBytes, damage } = stats;
    const [ephemeral, partitioned] = durable ? await Promise.all([isEphemeral(), isPartitioned()]) : [true, false];
    return { durable, persisted, ephemeral, partitioned, bytes: storageBytes, quotaBytes, damage };
  }

  /**
   * Reads every message, and answers the damage that is known then; `null`: everything is as it was written. Takes about a
   * second for 10,000 messages.
   */
  async verify(options: CallOptions = {}): Promise<StorageDamage | null> {
    return (await this.#call("verify", options)) as StorageDamage | null;
  }

  /** The user knows of the damage: from now on only further damage is told, and `createMemory` opens without being asked to. */
  async acknowledgeDamage(options: CallOptions = {}): Promise<void> {
    await this.#call("acknowledgeDamage", options);
  }

  #call(method: "stats" | "verify" | "acknowledgeDamage", options: CallOptions): Promise<unknown> {
    return this.#session.call(method, requireOptions(options, "options", []), { idempotent: true, signal: options.signal });
  }
}
