import { MemoryError } from "./errors.js";
import type { MemoryEventName, MemoryEvents } from "./types.js";

const EVENT_NAMES: ReadonlySet<string> = new Set<MemoryEventName>(["append", "stream", "context", "compaction", "conversation", "fact", "job", "storage", "error"]);

type Listener<Name extends MemoryEventName> = (payload: MemoryEvents[Name]) => void;

/** Delivers events. A listener runs after the engine's own work of that moment, and its errors stay its own. */
export class EventEmitter {
  readonly #listeners = new Map<MemoryEventName, Set<Listener<never>>>();

  /** Adds a listener; the returned function removes it. */
  on<Name extends MemoryEventName>(event: Name, listener: Listener<Name>): () => void {
    if (!EVENT_NAMES.has(event)) {
      throw new MemoryError("invalid_argument", `on: there is no such event; the events are ${[...EVENT_NAMES].join(", ")}.`);
    }
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Tells the listeners. An event nobody listens to costs nothing. */
  emit<Name extends MemoryEventName>(event: Name, payload: MemoryEvents[Name]): void {
    for (const listener of this.#listeners.get(event) ?? []) {
      queueMicrotask(() => {
        try {
          const answer = (listener as (payload: MemoryEvents[Name]) => unknown)(payload);
          if (answer instanceof Promise) answer.catch((error: unknown) => report(event, error));
        } catch (error) {
          report(event, error);
        }
      });
    }
  }
}

function report(event: string, error: unknown): void {
  const platform = globalThis as { reportError?: (error: unknown) => void };
  if (typeof platform.reportError === "function") platform.reportError(error);
  else console.error(`throughline: a listener of "${event}" failed`, error);
}
