/** How long the page did not answer at most, told by a timer that comes late. */

const EVERY_MS = 20;

/** Watches from when it is made. */
export class PauseWatch {
  longestMs = 0;
  readonly #timer: ReturnType<typeof setInterval>;
  #last = performance.now();

  constructor() {
    this.#timer = setInterval(() => {
      const now = performance.now();
      // Timers of a page that is hidden come once a second, which says nothing.
      if (document.visibilityState === "visible") this.longestMs = Math.max(this.longestMs, now - this.#last - EVERY_MS);
      this.#last = now;
    }, EVERY_MS);
  }

  /** Ends the watch. */
  end(): void {
    clearInterval(this.#timer);
  }
}
