import { countTokens, type Tokenizer } from "../../index.js";

/** Tokens that the frame around the records takes at most. */
const FRAME_TOKENS = 120;
/** A text is shown in part only where so many tokens of it fit. */
const LEAST_SHOWN_TOKENS = 40;
/** Stands where a part of a text is left out. */
const GAP = " [...] ";

/** Counts the tokens of records as they are taken, so that an answer keeps within its limit. */
export class CappedRecords {
  readonly #tokenizer: Tokenizer;
  #room: number;

  constructor(maxTokens: number, tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
    this.#room = maxTokens - FRAME_TOKENS;
  }

  /**
   * A record as it fits: whole, or with `text` shortened in its middle, or not at all. What is taken is paid for.
   */
  async take<Record extends { text: string }>(record: Record): Promise<Record | undefined> {
    const whole = await this.#count(record);
    if (whole <= this.#room) return this.#pay(record, whole);
    const frame = await this.#count({ ...record, text: GAP });
    const room = this.#room - frame;
    if (room < LEAST_SHOWN_TOKENS) return undefined;
    let share = room / whole;
    // Tokens are spread unevenly: too long a part is cut again.
    for (let attempt = 0; attempt < 6; attempt += 1) {
      const part = { ...record, text: shortened(record.text, share) };
      const tokens = await this.#count(part);
      if (tokens <= this.#room) return this.#pay(part, tokens);
      share *= 0.7;
    }
    return undefined;
  }

  /** As {@link take}, whole or not at all. */
  async takeWhole<Record extends object>(record: Record): Promise<Record | undefined> {
    const tokens = await this.#count(record);
    return tokens > this.#room ? undefined : this.#pay(record, tokens);
  }

  #pay<Record>(record: Record, tokens: number): Record {
    this.#room -= tokens;
    return record;
  }

  async #count(record: object): Promise<number> {
    // Two more for the comma, and for a token that ends elsewhere when records are joined.
    return (await countTokens(JSON.stringify(record), this.#tokenizer)).tokens + 2;
  }
}

/** The beginning and the end of a text, two to one, cut between code points. */
function shortened(text: string, share: number): string {
  const points = [...text];
  const kept = Math.max(3, Math.floor(points.length * share));
  const end = Math.floor(kept / 3);
  return points.slice(0, kept - end).join("") + GAP + points.slice(points.length - end).join("");
}
