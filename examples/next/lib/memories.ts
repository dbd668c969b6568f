import { createMemory, type Memory } from "throughline";
import type { PostgresStorage } from "throughline/postgres";
import { createStaticEmbedder, type StaticEmbedder } from "throughline/static-embedder";
import { backgroundModel } from "./model";
import { openStorage } from "./storage";

/** A user's memory stays open for so long after its last use. */
const IDLE_MS = 5 * 60_000;

interface Kept {
  memory: Promise<Memory>;
  uses: number;
  closing?: ReturnType<typeof setTimeout>;
}

/** The memories that are open in this process: one for each user who is here, over one storage. */
class Memories {
  readonly #kept = new Map<string, Kept>();
  #shared: Promise<[PostgresStorage, StaticEmbedder]> | undefined;

  /** A user's memory, to be used until `release` is called. */
  async use(userId: string): Promise<{ memory: Memory; release: () => void }> {
    const kept = this.#kept.get(userId) ?? { memory: this.#open(userId), uses: 0 };
    this.#kept.set(userId, kept);
    kept.uses += 1;
    clearTimeout(kept.closing);
    try {
      return { memory: await kept.memory, release: () => this.#release(userId, kept) };
    } catch (error) {
      if (this.#kept.get(userId) === kept) this.#kept.delete(userId);
      throw error;
    }
  }

  #release(userId: string, kept: Kept): void {
    kept.uses -= 1;
    if (kept.uses > 0) return;
    kept.closing = setTimeout(() => {
      this.#kept.delete(userId);
      kept.memory.then((memory) => memory.close()).catch(console.error);
    }, IDLE_MS);
    kept.closing.unref();
  }

  async #open(userId: string): Promise<Memory> {
    this.#shared ??= Promise.all([openStorage(), createStaticEmbedder()]);
    const [storage, embedder] = await this.#shared.catch((error: unknown) => {
      this.#shared = undefined;
      throw error;
    });
    return createMemory({ userId, storage, embedder, languageModel: backgroundModel });
  }
}

/** `next dev` evaluates this file anew after a change: what is open, the pool above all, outlives that. */
const lasting = globalThis as typeof globalThis & { chatMemories?: Memories };
export const memories = (lasting.chatMemories ??= new Memories());
