/** Writes the lines of a backup: packs them, hashes them, and counts them. */

import { CHECKED_BYTES, HEADER, noCounts, type Counts, type Kind } from "./backup-format.js";
import { Sha256 } from "./sha-256.js";

/** Characters that are gathered before they are packed. */
const GATHERED_CHARACTERS = 64 * 1024;

/** The writing end of a backup file. */
export class BackupWriter {
  readonly counts: Counts = noCounts();
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #encoder = new TextEncoder();
  readonly #hash = new Sha256();
  #lines: string[] = [];
  #characters = 0;
  #checkedAt = 0;

  constructor(to: WritableStream<Uint8Array>) {
    this.#writer = to.getWriter();
    // A failure reaches whoever writes next.
    this.#writer.closed.catch(() => undefined);
    this.#put(HEADER);
  }

  /** Writes records, each `{"<kind>":{...}}`. */
  async write(lines: readonly string[]): Promise<void> {
    for (const line of lines) {
      this.counts[line.slice(2, line.indexOf('"', 2)) as Kind] += 1;
      this.#put(line);
      if (this.#characters >= GATHERED_CHARACTERS) await this.#pack();
    }
  }

  /** Writes the last line. */
  async end(): Promise<void> {
    // A hash that is due is written before the last line, which then covers it.
    while (this.#lines.length > 0) await this.#pack();
    this.#put(JSON.stringify({ end: { ...this.counts, sha256: this.#hash.hex() } }));
    await this.#pack();
    await this.#writer.close();
  }

  /** Nothing more comes: what was written is no backup. */
  async abort(reason: unknown): Promise<void> {
    await this.#writer.abort(reason).catch(() => undefined);
  }

  #put(line: string): void {
    this.#lines.push(line, "\n");
    this.#characters += line.length + 1;
  }

  async #pack(): Promise<void> {
    if (this.#lines.length === 0) return;
    const bytes = this.#encoder.encode(this.#lines.join(""));
    this.#lines = [];
    this.#characters = 0;
    this.#hash.add(bytes);
    await this.#writer.ready;
    await this.#writer.write(bytes);
    if (this.#hash.bytes - this.#checkedAt < CHECKED_BYTES) return;
    this.#checkedAt = this.#hash.bytes;
    this.#put(JSON.stringify({ check: { bytes: this.#hash.bytes, sha256: this.#hash.hex() } }));
  }
}
