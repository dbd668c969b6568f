/** The checksum of zip entries. */

const TABLE = new Int32Array(256).map((_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  return value;
});

/** A checksum, continued chunk by chunk. */
export class Crc32 {
  #value = -1;

  /** Takes bytes in. */
  add(bytes: Uint8Array): void {
    let value = this.#value;
    for (let at = 0; at < bytes.length; at += 1) value = (value >>> 8) ^ (TABLE[(value ^ (bytes[at] ?? 0)) & 0xff] ?? 0);
    this.#value = value;
  }

  /** The checksum of what was added so far, from 0 to 2^32 - 1. */
  digest(): number {
    return ~this.#value >>> 0;
  }
}
