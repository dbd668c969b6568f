/**
 * Tells the other tabs and workers of a user what was stored, so that they show it within a moment. Nothing depends on it:
 * the truth is in storage, and is read there.
 */

import { contentHash } from "./content-hash.js";
import type { CheckedOptions } from "./options.js";
import { onPageChange } from "./page-life.js";
import type { StorageChannel } from "./types.js";

/** The events that others are told of. What they carry holds ids and figures, never a user's text. */
const KINDS = ["append", "stream", "compaction", "conversation", "fact", "storage"] as const;

/** The name of an event, and what it carries. */
export interface Hint {
  kind: (typeof KINDS)[number];
  conversationId?: string;
  [detail: string]: unknown;
}

/** Who holds a lock is asked, and answers: that it is awake. */
interface LockWord {
  lock: string;
  isAnswer: boolean;
}

/** What knows of locks in this tab. */
interface LockHolder {
  holds: (lock: string) => boolean;
  holder: { answered: (lock: string) => void };
}

/** Names of in-memory databases: no other page has them, but other memories of this one. */
const memoryNames = new WeakMap<object, string>();

/** One memory's line to the others of the same user. */
export class TabChannel {
  readonly #name: string;
  readonly #receive: (hints: Hint[]) => Promise<void>;
  readonly #listening = new AbortController();
  readonly #locks: LockHolder;
  readonly #make: (name: string) => StorageChannel | undefined;
  #channel: StorageChannel | undefined;
  #waiting: Hint[] = [];
  #isReceiving = false;

  /** `receive` gets what was told since it last ended, and is not called while it runs. It never rejects. */
  constructor({ storage, userId }: CheckedOptions, receive: (hints: Hint[]) => Promise<void>, locks: LockHolder) {
    const name = storage.kind === "memory" ? (memoryNames.get(storage) ?? crypto.randomUUID()) : storage.name;
    if (storage.kind === "memory") memoryNames.set(storage, name);
    const given = storage.kind === "external" ? storage.given : undefined;
    this.#make = given?.channel?.bind(given) ?? broadcast;
    this.#name = `throughline:${contentHash(storage.kind, name, userId)}`;
    this.#receive = receive;
    this.#locks = locks;
    this.#open();
    onPageChange(({ kind, isKept }) => {
      // A page that may come back from the browser's cache hears nothing meanwhile. A channel would keep it out of there.
      if (isKept && kind === "pagehide") this.#shut();
      if (!isKept || kind !== "pageshow") return;
      this.#open();
      this.#take({ kind: "storage", state: "resumed" });
    }, this.#listening.signal);
  }

  /** Tells the others, where it is an event for them. */
  tell(kind: string, payload: object): void {
    // Where it cannot be said, the others read storage when they are next used.
    if (isKind(kind)) this.#post({ ...payload, kind });
  }

  /** Asks who holds a lock; false where nobody can hear it. */
  askHolder(lock: string): boolean {
    return this.#post({ lock, isAnswer: false });
  }

  /** Neither tells nor hears any more. */
  close(): void {
    this.#listening.abort();
    this.#shut();
    this.#waiting = [];
  }

  #post(message: object): boolean {
    try {
      this.#channel?.postMessage(message);
    } catch {
      // The channel is closed, or a platform refuses.
      return false;
    }
    return this.#channel !== undefined;
  }

  #hear(data: unknown): void {
    if (isHint(data)) this.#take(data);
    if (!isLockWord(data)) return;
    if (data.isAnswer) this.#locks.holder.answered(data.lock);
    else if (this.#locks.holds(data.lock)) this.#post({ lock: data.lock, isAnswer: true });
  }

  #open(): void {
    const channel = this.#channel === undefined ? this.#make(this.#name) : undefined;
    if (channel === undefined) return;
    channel.onmessage = ({ data }) => this.#hear(data);
    this.#channel = channel;
  }

  #shut(): void {
    this.#channel?.close();
    this.#channel = undefined;
  }

  #take(hint: Hint): void {
    this.#waiting.push(hint);
    if (!this.#isReceiving) void this.#deliver();
  }

  async #deliver(): Promise<void> {
    this.#isReceiving = true;
    while (this.#waiting.length > 0) {
      const hints = this.#waiting;
      this.#waiting = [];
      await this.#receive(hints);
    }
    this.#isReceiving = false;
  }
}

/** What browsers and Node have; not every runtime. */
function broadcast(name: string): StorageChannel | undefined {
  if (typeof BroadcastChannel === "undefined") return undefined;
  const channel = new BroadcastChannel(name);
  // Node must not be kept alive by it.
  (channel as { unref?: () => void }).unref?.();
  return channel as StorageChannel;
}

function isKind(kind: unknown): kind is Hint["kind"] {
  return (KINDS as readonly unknown[]).includes(kind);
}

/** Another version of this package may tell what this one does not know. */
function isHint(data: unknown): data is Hint {
  if (typeof data !== "object" || data === null || !("kind" in data) || !isKind(data.kind)) return false;
  return !("conversationId" in data) || typeof data.conversationId === "string";
}

function isLockWord(data: unknown): data is LockWord {
  return typeof data === "object" && data !== null && "lock" in data && typeof data.lock === "string" && "isAnswer" in data;
}
