/** A hash that tells contents apart: 64 bits, not cryptographic, over UTF-16 units, continued piece by piece. */
export class ContentHash {
  #high = 0xdeadbeef;
  #low = 0x41c6ce57;

  /** Takes a piece in. Pieces are told apart: `ab` and `c` hash otherwise than `a` and `bc`. */
  add(text: string): this {
    let high = this.#high;
    let low = this.#low;
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      high = Math.imul(high ^ unit, 2654435761);
      low = Math.imul(low ^ unit, 1597334677);
    }
    // The end of a piece, as a unit that no text has.
    this.#high = Math.imul(high ^ (high >>> 16) ^ 0x10000, 2246822507);
    this.#low = Math.imul(low ^ (low >>> 13) ^ 0x10000, 3266489909);
    return this;
  }

  /** 16 hexadecimal digits of what was added so far. */
  digest(): string {
    let high = Math.imul(this.#high ^ (this.#high >>> 16), 2246822507) ^ Math.imul(this.#low ^ (this.#low >>> 13), 3266489909);
    let low = Math.imul(this.#low ^ (this.#low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
    high = (high ^ (high >>> 15)) >>> 0;
    low = (low ^ (low >>> 15)) >>> 0;
    return high.toString(16).padStart(8, "0") + low.toString(16).padStart(8, "0");
  }
}

/** The hash of some texts. */
export function contentHash(...texts: string[]): string {
  const hash = new ContentHash();
  for (const text of texts) hash.add(text);
  return hash.digest();
}
