/** A time limit that starts anew with each sign of life, joined with the caller's own signal. */
export class Deadline {
  /** Aborted when the time is over, when the caller aborts, and at the end. */
  readonly signal: AbortSignal;
  /** The time was over. */
  hasPassed = false;
  readonly #controller = new AbortController();
  readonly #timeoutMs: number;
  readonly #source: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(timeoutMs: number, source: AbortSignal | undefined) {
    this.signal = this.#controller.signal;
    this.#timeoutMs = timeoutMs;
    this.#source = source;
    if (source?.aborted) this.#abort();
    else source?.addEventListener("abort", this.#abort);
    this.touch();
  }

  /** A sign of life. */
  touch(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.hasPassed = true;
      this.#controller.abort();
    }, this.#timeoutMs);
  }

  /** The answer, or a rejection as soon as the signal is aborted: not everything that is waited for listens to it. */
  race<T>(answer: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const onAbort = (): void => reject(new Error("aborted"));
      const settle = (act: () => void): void => {
        this.signal.removeEventListener("abort", onAbort);
        act();
      };
      answer.then((value) => settle(() => resolve(value)), (error: unknown) => settle(() => reject(error)));
      if (this.signal.aborted) onAbort();
      else this.signal.addEventListener("abort", onAbort);
    });
  }

  /** Stops the clock, and whatever still listens to the signal. */
  end(): void {
    clearTimeout(this.#timer);
    this.#source?.removeEventListener("abort", this.#abort);
    this.#controller.abort();
  }

  readonly #abort = (): void => this.#controller.abort();
}
