/** SHA-256 (FIPS 180-4) of bytes as they come, with the hash of those so far. WebCrypto's takes all of them at once. */

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes, and of the square roots of 8. */
const { ROUNDS, INITIAL } = constants();

/** A hash over everything that was added. */
export class Sha256 {
  #state = Int32Array.from(INITIAL);
  readonly #block = new Uint8Array(64);
  readonly #words = new Int32Array(64);
  #filled = 0;
  #bytes = 0;

  /** Bytes added so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds bytes. */
  add(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    let at = 0;
    while (at < bytes.length) {
      const taken = Math.min(64 - this.#filled, bytes.length - at);
      this.#block.set(bytes.subarray(at, at + taken), this.#filled);
      this.#filled += taken;
      at += taken;
      if (this.#filled === 64) {
        this.#compress();
        this.#filled = 0;
      }
    }
  }

  /** The hash of what was added so far, hexadecimal. More can be added afterwards. */
  hex(): string {
    const { state, block, filled, bytes } = { state: this.#state, block: this.#block.slice(), filled: this.#filled, bytes: this.#bytes };
    this.#state = state.slice();
    const padding = new Uint8Array(((filled < 56 ? 56 : 120) - filled) + 8);
    padding[0] = 0x80;
    const length = new DataView(padding.buffer);
    length.setUint32(padding.length - 8, Math.floor(bytes / 0x2000_0000));
    length.setUint32(padding.length - 4, (bytes * 8) >>> 0);
    this.add(padding);
    const hex = Array.from(this.#state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
    this.#state = state;
    this.#block.set(block);
    this.#filled = filled;
    this.#bytes = bytes;
    return hex;
  }

  #compress(): void {
    const words = this.#words;
    const view = new DataView(this.#block.buffer);
    for (let at = 0; at < 16; at += 1) words[at] = view.getInt32(at * 4);
    for (let at = 16; at < 64; at += 1) {
      const early = words[at - 15] as number;
      const late = words[at - 2] as number;
      const small = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3);
      const large = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10);
      words[at] = (words[at - 16] as number) + small + (words[at - 7] as number) + large;
    }
    let [a, b, c, d, e, f, g, h] = this.#state as unknown as [number, number, number, number, number, number, number, number];
    for (let at = 0; at < 64; at += 1) {
      const choice = (e & f) ^ (~e & g);
      const first = (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice + (ROUNDS[at] as number) + (words[at] as number)) | 0;
      const majority = (a & b) ^ (a & c) ^ (b & c);
      const second = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, at) => (this.#state[at] = (this.#state[at] as number) + word));
  }
}

function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

function constants(): { ROUNDS: Int32Array; INITIAL: Int32Array } {
  const primes: number[] = [];
  for (let number = 2; primes.length < 64; number += 1) if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  const fraction = (root: number): number => ((root - Math.floor(root)) * 2 ** 32) | 0;
  return { ROUNDS: Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime))), INITIAL: Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime))) };
}
