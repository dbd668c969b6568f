/** The entry `throughline/client`: the same `Memory`, with the engine in a worker. Importing this has no effect. */

import { EventEmitter } from "../events.js";
import { Memory } from "../memory.js";
import { checkOptions } from "../options.js";
import type { MemoryOptions } from "../types.js";
import type { WorkerSource } from "./connection.js";
import { RemoteSession } from "./remote-session.js";

export type { MemoryWorker, WorkerSource } from "./connection.js";

/**
 * Opens the memory of one user with the engine in a worker, so that nothing of its work holds the page up. What it answers is
 * a `Memory` as `createMemory` gives it, and every option is the same; callbacks run in the page.
 *
 * ```ts
 * // memory-worker.js: import "throughline/worker";
 * const memory = await createMemoryClient(
 *   () => new Worker(new URL("./memory-worker.js", import.meta.url), { type: "module" }),
 *   { userId: "alex" },
 * );
 * ```
 *
 * @param worker A function that makes the worker: one is made now, and another where it ends before the memory is closed;
 * closing ends it. Or a worker, which can serve several memories and stays the app's: where it ends, the memory does too.
 * @param options Those of `createMemory`. All but the callbacks must be plain data; what a clock says is read with each call
 * and once a second. A storage in memory lives in the worker, and ends with it.
 * @throws What `createMemory` throws, and `engine_unavailable` where the worker cannot be started or is of another version of
 * the package.
 */
export async function createMemoryClient(worker: WorkerSource, options: MemoryOptions = {}): Promise<Memory> {
  const events = new EventEmitter();
  const session = new RemoteSession(worker, checkOptions(options), (event, payload) => events.emit(event, payload));
  await session.open();
  return new Memory(session, events);
}
