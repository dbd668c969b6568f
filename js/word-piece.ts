/**
 * The uncased WordPiece tokenizer of BERT: cleaned, lower-cased, without accents, split at white space, punctuation and
 * CJK characters, then cut greedily into the longest pieces that the vocabulary knows.
 */

/** Longer words are unknown as a whole, as in BERT. */
const MAX_WORD_CHARACTERS = 100;
const UNKNOWN = "[UNK]";
const CONTINUATION = "##";

// ASCII symbols such as $ and + count as punctuation, whatever Unicode says; control and format characters vanish.
const ASCII_CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g; // eslint-disable-line no-control-regex
const ASCII_ONLY = /^[\x00-\x7f]*$/; // eslint-disable-line no-control-regex
const ASCII_WORD = /[a-z0-9]+|[!-/:-@[-`{-~]/g;
const UNICODE_CONTROL = /[^\P{C}\t\n\r]|\uFFFD/gu;
const ACCENT = /\p{Mn}/gu;
const CJK =
  "\\u4E00-\\u9FFF\\u3400-\\u4DBF\\u{20000}-\\u{2A6DF}\\u{2A700}-\\u{2CEAF}\\uF900-\\uFAFF\\u{2F800}-\\u{2FA1F}";
const SYMBOL = "!-/:-@\\[-`{-~\\p{P}";
const UNICODE_WORD = new RegExp(`[${SYMBOL}${CJK}]|[^\\s${SYMBOL}${CJK}]+`, "gu");

/** A vocabulary ready to tokenize with. Holds no state between texts. */
export class WordPiece {
  readonly #words = new Map<string, number>();
  readonly #continuations = new Map<string, number>();
  readonly #unknown: number;
  #longestPiece = 1;

  /** @param vocabulary one token per line; a token's number is its line, from 0. */
  constructor(vocabulary: string) {
    for (const [number, token] of vocabulary.trimEnd().split("\n").entries()) {
      const isContinuation = token.startsWith(CONTINUATION) && token.length > CONTINUATION.length;
      const piece = isContinuation ? token.slice(CONTINUATION.length) : token;
      (isContinuation ? this.#continuations : this.#words).set(piece, number);
      this.#longestPiece = Math.max(this.#longestPiece, piece.length);
    }
    this.#unknown = this.#words.get(UNKNOWN) ?? -1;
  }

  /** Tokens that the vocabulary has. */
  get size(): number {
    return this.#words.size + this.#continuations.size;
  }

  /** The first `limit` token numbers of a text, without the marks that BERT puts around it. */
  tokenize(text: string, limit: number): number[] {
    const tokens: number[] = [];
    const [clean, word] = ASCII_ONLY.test(text)
      ? [text.replace(ASCII_CONTROL, "").toLowerCase(), ASCII_WORD]
      : [text.replace(UNICODE_CONTROL, "").toLowerCase().normalize("NFD").replace(ACCENT, ""), UNICODE_WORD];
    for (const [found] of clean.matchAll(word)) {
      this.#pushWord(found, tokens);
      if (tokens.length >= limit) break;
    }
    if (tokens.length > limit) tokens.length = limit;
    return tokens;
  }

  #pushWord(word: string, tokens: number[]): void {
    const whole = this.#words.get(word);
    if (whole !== undefined) {
      tokens.push(whole);
      return;
    }
    const first = tokens.length;
    let start = 0;
    while (start < word.length) {
      const pieces = start === 0 ? this.#words : this.#continuations;
      let end = Math.min(word.length, start + this.#longestPiece);
      let token = pieces.get(word.slice(start, end));
      while (token === undefined && end > start + 1) {
        end -= 1;
        token = pieces.get(word.slice(start, end));
      }
      if (token === undefined || isTooLong(word)) {
        tokens.length = first;
        if (this.#unknown >= 0) tokens.push(this.#unknown);
        return;
      }
      tokens.push(token);
      start = end;
    }
  }
}

function isTooLong(word: string): boolean {
  return word.length > MAX_WORD_CHARACTERS && [...word].length > MAX_WORD_CHARACTERS;
}
