// A provider's prompt cache, played by its rules.

import { createHash } from "node:crypto";

/** What one conversation's requests cost under one of the `PRICE_RULES`. */
export class PromptCache {
  #rules;
  /** What was kept after marks: hashes of everything in front. */
  #kept = new Set();
  /** Blocks of the request before. */
  #before = [];

  constructor(rules) {
    this.#rules = rules;
  }

  /** A pause longer than the cache's lifetime. */
  growCold() {
    this.#kept.clear();
    this.#before = [];
  }

  /**
   * @param {{ blocks: { text: string, tokens: number }[], marks: number[] }} request `marks`: after so many blocks each, rising.
   * @returns {{ read: number, written: number, plain: number, price: number }} Tokens by how they are charged, and their
   * price in plain input tokens.
   */
  send({ blocks, marks }) {
    const sums = [0];
    for (const { tokens } of blocks) sums.push(sums.at(-1) + tokens);
    const [read, until] = this.#rules.how === "marks" ? this.#byMarks(blocks, marks, sums) : [this.#byStart(blocks, sums), 0];
    this.#before = blocks;
    const written = Math.max(0, (until > 0 ? sums[until] : 0) - sums[read]);
    const plain = sums.at(-1) - sums[read] - written;
    return { read: sums[read], written, plain, price: sums[read] * this.#rules.read + written * this.#rules.written + plain };
  }

  /** Blocks that are read, and blocks until which is written. */
  #byMarks(blocks, marks, sums) {
    const usable = marks.filter((mark) => sums[mark] >= this.#rules.from && mark > 0);
    const hashes = [""];
    for (const { text } of blocks) hashes.push(createHash("sha1").update(hashes.at(-1)).update(text).digest("hex"));
    let read = 0;
    for (const mark of usable) {
      for (let count = mark; count > Math.max(0, mark - this.#rules.lookBack) && count > read; count -= 1) {
        if (this.#kept.has(hashes[count])) read = count;
      }
    }
    for (const mark of usable) this.#kept.add(hashes[mark]);
    return [read, usable.at(-1) ?? 0];
  }

  #byStart(blocks, sums) {
    if (this.#rules.how === "none") return 0;
    let same = 0;
    while (same < this.#before.length && same < blocks.length && this.#before[same].text === blocks[same].text) same += 1;
    if (this.#rules.how === "whole" && same < this.#before.length) return 0;
    return sums[same] >= this.#rules.from ? same : 0;
  }
}
