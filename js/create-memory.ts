import { EventEmitter } from "./events.js";
import { Memory } from "./memory.js";
import { checkOptions } from "./options.js";
import { EngineSession } from "./session.js";
import type { MemoryOptions } from "./types.js";

/**
 * Opens the memory of one user.
 *
 * ```ts
 * const memory = await createMemory({ userId: "alex" });
 * const chat = await memory.conversations.create();
 * await memory.append(chat.id, [{ role: "user", content: "We use port 8471." }]);
 * const context = await memory.buildContext({ conversationId: chat.id, question: "Which port?" });
 * ```
 *
 * @throws `invalid_config` naming the option, `wasm_load_failed`, `wasm_blocked_by_csp`, `wasm_unsupported`, or what the
 * storage reports (`storage_unavailable`, `storage_blocked`, `schema_too_new`, `storage_corrupt`).
 */
export async function createMemory(options: MemoryOptions = {}): Promise<Memory> {
  const events = new EventEmitter();
  const session = new EngineSession(checkOptions(options), (event, payload) => events.emit(event, payload));
  await session.open();
  return new Memory(session, events);
}
