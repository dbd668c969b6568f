/**
 * One user's memory on several devices and a server, or on several devices through a server that cannot read it: two stores
 * exchange what is new, both ways, through an endpoint of the app's own (docs/sync.md).
 *
 * ```ts
 * import { syncMemory } from "throughline/sync";
 *
 * const exchange = async (body, { signal }) => (await fetch("/memory/sync", { method: "POST", body, signal })).text();
 * await syncMemory(memory, { exchange });
 * ```
 */

import { requireOptions } from "../arguments.js";
import { MemoryError } from "../errors.js";
import { Cursor } from "./sync/cursor.js";
import { BeginAnew, Exchange, type ExchangeFunction, type SyncProgress } from "./sync/exchange.js";
import type { ExchangingMemory } from "./sync/handler.js";
import { logKey } from "./sync/log-seal.js";
import { SealedExchange } from "./sync/sealed-exchange.js";

export { syncHandler, type ExchangingMemory, type SyncHandlerOptions } from "./sync/handler.js";
export { memoryLog, sealedLogHandler, type LogPage, type SealedLog, type SealedLogHandlerOptions } from "./sync/sealed-log.js";
export type { ExchangeFunction, SyncProgress } from "./sync/exchange.js";

/** Options of {@link syncMemory}. */
export interface SyncOptions {
  /** Carries one message to `syncHandler` (with a `key`: `sealedLogHandler`) and its answer back, as often as there are pieces. */
  exchange: ExchangeFunction;
  /** Names the other side, where there are several: what it has seen is kept under this name. Default `"server"`. */
  peer?: string;
  /**
   * The server is not to read anything: devices seal what they exchange with this key, 32 random bytes or a `CryptoKey` of
   * AES-GCM, which all devices of the user have and the server has not.
   */
  key?: Uint8Array | CryptoKey;
  /**
   * With a `key`: writes everything anew and removes what the log had before, and with it the sealed bytes of what was erased.
   * Without it that is done by itself, once the log has grown by much, or everything was erased.
   */
  compact?: boolean;
  /** Hears how far it is, after every message. */
  onProgress?: (progress: SyncProgress) => void;
  /** Gives it up between two messages. What was exchanged stays, and the next call goes on from there. */
  signal?: AbortSignal;
}

/** How often an exchange begins anew because everything was erased on the other side. */
const TRIES = 3;

/**
 * Exchanges what is new in this memory and in the one behind `exchange`, both ways. Afterwards each has what the other had
 * when it began. Cut anywhere it loses and doubles nothing; called again, it goes on.
 *
 * @throws `exchange_failed` (the other side was not reached, or answered nonsense), `aborted`, what the other side's memory
 * rejects with, `storage_*`; with a `key` also `storage_key_wrong`, and `storage_corrupt` for a log that was cut or changed.
 */
export async function syncMemory(memory: ExchangingMemory, options: SyncOptions): Promise<SyncProgress> {
  requireOptions(options, "options");
  const { exchange, peer = "server", onProgress, signal = new AbortController().signal } = options;
  if (typeof exchange !== "function") throw new MemoryError("invalid_argument", "syncMemory: options.exchange must be a function.");
  if (typeof peer !== "string" || peer === "") throw new MemoryError("invalid_argument", "syncMemory: options.peer must be a text that is not empty.");
  const { changes } = memory;
  const tell = (progress: SyncProgress): void => onProgress?.(structuredClone(progress));
  if (options.key !== undefined) {
    const sealed = new SealedExchange(changes, { peer, key: await logKey(options.key), send: exchange, signal, onProgress: tell, compact: options.compact === true });
    await sealed.run();
    return sealed.progress;
  }
  for (let tries = 1; ; tries += 1) {
    const cursor = await Cursor.load(changes, peer);
    const running = new Exchange(changes, cursor, exchange, signal, tell);
    try {
      await running.run();
      await cursor.keep(true);
      return running.progress;
    } catch (error) {
      if (error instanceof BeginAnew && tries < TRIES) continue;
      // What was exchanged need not be exchanged again; where even this fails, it is.
      if (!(error instanceof BeginAnew)) await cursor.keep(true).catch(() => undefined);
      throw error instanceof BeginAnew ? new MemoryError("storage_conflict", "Everything is being erased on the other side; call again.") : error;
    }
  }
}
