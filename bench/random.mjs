/** mulberry32: the same numbers everywhere. */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** 0 to below 1. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to below `limit`. */
  below(limit) {
    return Math.floor(this.next() * limit);
  }

  of(items) {
    return items[this.below(items.length)];
  }

  /** Mean 0, variance 1, near enough normal. */
  normal() {
    let sum = -6;
    for (let draw = 0; draw < 12; draw += 1) sum += this.next();
    return sum;
  }

  shuffled(items) {
    const all = [...items];
    for (let at = all.length - 1; at > 0; at -= 1) {
      const other = this.below(at + 1);
      [all[at], all[other]] = [all[other], all[at]];
    }
    return all;
  }
}
