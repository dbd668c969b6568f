// A provider's prompt cache, played by its rules. In Node and in the demo's page.

/**
 * A text of a request and its tokens.
 * @typedef {{ text: string, tokens: number }} Block
 */

/**
 * What is sent: `marks` say after so many blocks each, rising, that a cache may stop there. `isPlain`: nothing is cached.
 * @typedef {{ blocks: Block[], marks: number[], isPlain?: boolean }} CachedRequest
 */

/**
 * Tokens by how they are charged, and their price in plain input tokens.
 * @typedef {{ read: number, written: number, plain: number, price: number }} Charge
 */

/**
 * A way of charging, see price-rules.mjs.
 * @typedef {{ name: string, how: string, from: number, lookBack?: number, written: number, read: number, isTime?: boolean }} PriceRule
 */

/** What one conversation's requests cost under one of the `PRICE_RULES`. */
export class PromptCache {
  /** @type {PriceRule} */
  #rules;
  /** What was kept after marks: numbers of everything in front. */
  #kept = new Set();
  /** @type {Block[]} Blocks of the request before. */
  #before = [];
  /** A number for each start that was met: that of the start without its last block, and the block's text. */
  #starts = new Map();
  #count = 0;

  /** @param {PriceRule} rules */
  constructor(rules) {
    this.#rules = rules;
  }

  /** A pause longer than the cache's lifetime. */
  growCold() {
    this.#kept.clear();
    this.#before = [];
  }

  /**
   * Sends a request; what may be kept of it is kept.
   *
   * @param {CachedRequest} request
   * @returns {Charge}
   */
  send(request) {
    const { charge, kept } = this.#read(request);
    for (const start of kept) this.#kept.add(start);
    this.#before = request.blocks;
    return charge;
  }

  /**
   * What a request would be charged now; nothing of it is kept.
   *
   * @param {CachedRequest} request
   * @returns {Charge}
   */
  quote(request) {
    return this.#read(request).charge;
  }

  /** @param {CachedRequest} request */
  #read({ blocks, marks, isPlain }) {
    const sums = [0];
    for (const { tokens } of blocks) sums.push((sums.at(-1) ?? 0) + tokens);
    const total = sums.at(-1) ?? 0;
    if (isPlain === true) return { charge: { read: 0, written: 0, plain: total, price: total }, kept: [] };
    const isMarked = this.#rules.how === "marks";
    const { count, until, kept } = isMarked ? this.#byMarks(blocks, marks, sums) : { count: this.#byStart(blocks, sums), until: 0, kept: [] };
    const read = sums[count] ?? 0;
    const written = Math.max(0, (until > 0 ? sums[until] ?? 0 : 0) - read);
    const plain = total - read - written;
    return { charge: { read, written, plain, price: read * this.#rules.read + written * this.#rules.written + plain }, kept };
  }

  /**
   * Blocks that are read, blocks until which is written, and what is kept.
   *
   * @param {Block[]} blocks
   * @param {number[]} marks
   * @param {number[]} sums
   */
  #byMarks(blocks, marks, sums) {
    const usable = marks.filter((mark) => (sums[mark] ?? 0) >= this.#rules.from && mark > 0);
    const starts = this.#startsOf(blocks);
    let count = 0;
    for (const mark of usable) {
      for (let at = mark; at > Math.max(0, mark - (this.#rules.lookBack ?? 0)) && at > count; at -= 1) {
        if (this.#kept.has(starts[at])) count = at;
      }
    }
    return { count, until: usable.at(-1) ?? 0, kept: usable.map((mark) => starts[mark]) };
  }

  /**
   * The number of the start after each count of blocks.
   *
   * @param {Block[]} blocks
   */
  #startsOf(blocks) {
    let start = 0;
    return [0, ...blocks.map(({ text }) => {
      let next = this.#starts.get(start);
      if (next === undefined) this.#starts.set(start, (next = new Map()));
      if (!next.has(text)) next.set(text, (this.#count += 1));
      return (start = next.get(text));
    })];
  }

  /**
   * @param {Block[]} blocks
   * @param {number[]} sums
   */
  #byStart(blocks, sums) {
    if (this.#rules.how === "none") return 0;
    let same = 0;
    while (same < this.#before.length && same < blocks.length && this.#before[same]?.text === blocks[same]?.text) same += 1;
    if (this.#rules.how === "whole" && same < this.#before.length) return 0;
    return (sums[same] ?? 0) >= this.#rules.from ? same : 0;
  }
}
