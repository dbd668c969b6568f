/**
 * Notices that the tab which does the background work sleeps: one that the browser froze keeps its locks, and nobody else
 * would work until it wakes. What it then writes too late is refused (`src/engine/lease.rs`), so its lock can be taken away.
 */

/** An answer takes a moment, a tab that computes may take some seconds. */
const ANSWER_MS = 3_000;
/** A lock that was not asked for during so long was free meanwhile, for all that is known; or this tab slept itself. */
const FORGET_MS = 2_000;

interface Question {
  askedAt: number;
  refusedAt: number;
  isAnswered: boolean;
}

/** Who holds the locks that are refused, as far as they answer. */
export class FrozenHolder {
  readonly #ask: (name: string) => boolean;
  readonly #questions = new Map<string, Question>();

  /** `ask` asks the other tabs which of them holds a lock; false: it cannot. */
  constructor(ask: (name: string) => boolean) {
    this.#ask = ask;
  }

  /** To be called whenever a lock was refused: whether its holder has not answered for too long. */
  sleeps(name: string): boolean {
    const now = performance.now();
    const question = this.#questions.get(name);
    if (question !== undefined && now - question.refusedAt < FORGET_MS) {
      question.refusedAt = now;
      if (now - question.askedAt < ANSWER_MS) return false;
      if (!question.isAnswered) return true;
    }
    if (this.#ask(name)) this.#questions.set(name, { askedAt: now, refusedAt: now, isAnswered: false });
    return false;
  }

  /** The holder of a lock is awake. */
  answered(name: string): void {
    const question = this.#questions.get(name);
    if (question !== undefined) question.isAnswered = true;
  }

  /** A lock was got. */
  forget(name: string): void {
    this.#questions.delete(name);
  }
}
