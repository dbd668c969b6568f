/**
 * Finds the elements of a JSON file, conversation by conversation, in its bytes as they arrive, without holding more than
 * one of them. Only the structure is read here: strings, brackets, separators, limits. What an element says is left to
 * `JSON.parse`, so that one that is broken inside costs only itself.
 */

import { MAX_DEPTH, MAX_ELEMENT_BYTES, MAX_RECORDS, unusable } from "./limits.js";

/** Where in a file its elements are. */
export type Layout =
  /** The items of the array that the file is. */
  | { kind: "items" }
  /** The items of the arrays under these keys of the object that the file is. */
  | { kind: "under"; keys: readonly string[] }
  /** Each value that the file holds, one after the other; mostly there is one. */
  | { kind: "whole" }
  /** Each line. A broken one ends with its line. */
  | { kind: "lines" };

/** One element. */
export interface JsonElement {
  /** Its JSON text; empty where texts are not kept. */
  text: string;
  /** Position among the elements of the file, from 0. */
  index: number;
  /** Byte at which it begins. */
  position: number;
}

/** Settings of a {@link JsonStream}. */
export interface JsonStreamOptions {
  /** Deepest nesting. Default {@link MAX_DEPTH}. */
  maxDepth?: number | undefined;
  /** False: the elements are counted and checked, their text is not kept. */
  keepsText: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const NEWLINE = 0x0a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** Longest key that is compared with the layout's. */
const LONGEST_KEY = 64;
/** A decimal exponent from here on is infinite as a double: 1e308 is none yet, though no usable time or count. */
const INFINITE_EXPONENT = 309;
const NOWHERE = -1;

/** The elements of one file. */
export class JsonStream {
  /** Elements, and the entries of the lists that lie directly in them. */
  records = 0;
  readonly #file: string;
  readonly #layout: Layout;
  readonly #keepsText: boolean;
  readonly #open: Uint8Array;
  readonly #entries: Int32Array;
  readonly #decoder = new TextDecoder();
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** The line is not JSON: its brackets say nothing. */
  #isBroken = false;
  /** Depth at which the elements lie; {@link NOWHERE} outside of them. */
  #elementDepth: number;
  /** Where the current element begins in the file, and where its text continues in the current chunk. */
  #elementPosition = NOWHERE;
  #textStart = 0;
  #text = "";
  #key = "";
  #keyStart = NOWHERE;
  #isOver = false;
  #digits = 0;
  #exponent = NOWHERE;
  #position = 0;
  #index = 0;
  #finished: JsonElement[] = [];

  constructor(file: string, layout: Layout, { maxDepth = MAX_DEPTH, keepsText }: JsonStreamOptions) {
    this.#file = file;
    this.#layout = layout;
    this.#keepsText = keepsText;
    this.#open = new Uint8Array(maxDepth);
    this.#entries = new Int32Array(maxDepth);
    this.#elementDepth = layout.kind === "whole" || layout.kind === "lines" ? 0 : NOWHERE;
  }

  /** Takes the next bytes; answers with the elements that end in them. */
  push(chunk: Uint8Array): JsonElement[] {
    this.#textStart = 0;
    let at = 0;
    while (at < chunk.length) at = this.#inString ? this.#readString(chunk, at) : this.#readStructure(chunk, at);
    if (this.#elementPosition !== NOWHERE) {
      if (this.#position + chunk.length - this.#elementPosition > MAX_ELEMENT_BYTES) {
        throw this.#refuse(`one conversation is larger than ${MAX_ELEMENT_BYTES} bytes`, chunk.length);
      }
      this.#keepText(chunk.subarray(this.#textStart), true);
    }
    if (this.#keyStart !== NOWHERE) {
      this.#takeKey(chunk.subarray(this.#keyStart));
      this.#keyStart = 0;
    }
    this.#position += chunk.length;
    return this.#take();
  }

  /** The file has ended; answers with a last line's element. */
  end(): JsonElement[] {
    const isCut = this.#depth > 0 || this.#inString;
    if (isCut && this.#layout.kind !== "lines") throw this.#refuse("it ends in the middle; get the file again", 0);
    this.#finish(new Uint8Array(), 0);
    return this.#take();
  }

  #take(): JsonElement[] {
    const finished = this.#finished;
    this.#finished = [];
    return finished;
  }

  /** Reads on in a string; answers where to go on. */
  #readString(chunk: Uint8Array, from: number): number {
    let at = from;
    if (this.#isEscaped) {
      this.#isEscaped = false;
      at += 1;
    }
    const endsWithLine = this.#layout.kind === "lines";
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === QUOTE) {
        this.#inString = false;
        if (this.#keyStart !== NOWHERE) this.#takeKey(chunk.subarray(this.#keyStart, at));
        this.#keyStart = NOWHERE;
        return at + 1;
      }
      if (byte === BACKSLASH) {
        if (at + 1 === chunk.length) this.#isEscaped = true;
        at += 1;
      } else if (byte === NEWLINE && endsWithLine) {
        this.#inString = false;
        return at;
      }
    }
    return chunk.length;
  }

  /** Reads what is outside of strings, up to the next string; answers where to go on. */
  #readStructure(chunk: Uint8Array, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (byte <= 0x20) {
        if (byte === NEWLINE && this.#layout.kind === "lines") this.#endLine(chunk, at);
        continue;
      }
      if (byte === COMMA) {
        this.#separate(chunk, at);
        continue;
      }
      if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
        this.#close(chunk, at, byte);
        continue;
      }
      if (this.#elementPosition === NOWHERE) this.#begin(at);
      if (byte === QUOTE) {
        this.#inString = true;
        this.#digits = 0;
        if (this.#layout.kind === "under" && this.#depth === 1) {
          this.#key = "";
          this.#keyStart = at + 1;
        }
        return at + 1;
      }
      if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.#descend(at, byte);
      else this.#checkNumber(at, byte);
    }
    return chunk.length;
  }

  #begin(at: number): void {
    if (this.#isOver) throw this.#refuse("there is text after its end", at);
    if (this.#depth !== this.#elementDepth) return;
    this.#elementPosition = this.#position + at;
    this.#textStart = at;
  }

  #descend(at: number, byte: number): void {
    if (this.#isBroken) return;
    if (this.#depth === this.#open.length) throw this.#refuse(`it is nested deeper than ${this.#open.length}`, at);
    this.#open[this.#depth] = byte;
    this.#entries[this.#depth] = 0;
    this.#depth += 1;
    this.#digits = 0;
    if (byte !== OPEN_ARRAY || this.#elementDepth !== NOWHERE) return;
    const layout = this.#layout;
    const isList =
      layout.kind === "items" ? this.#depth === 1 : layout.kind === "under" && this.#depth === 2 && layout.keys.includes(this.#key);
    if (isList) this.#elementDepth = this.#depth;
  }

  #separate(chunk: Uint8Array, at: number): void {
    this.#digits = 0;
    this.#exponent = NOWHERE;
    if (this.#depth === 0) return;
    const entries = (this.#entries[this.#depth - 1] ?? 0) + 1;
    this.#entries[this.#depth - 1] = entries;
    if (entries >= MAX_RECORDS) throw this.#refuse(`a list or object in it has more than ${MAX_RECORDS} entries`, at);
    // Lists of an element lie two levels below: the element itself is one.
    if (this.#elementDepth !== NOWHERE && this.#depth === this.#elementDepth + 2) this.#count(at);
    if (this.#depth === this.#elementDepth) this.#finish(chunk, at);
  }

  #close(chunk: Uint8Array, at: number, byte: number): void {
    this.#digits = 0;
    this.#exponent = NOWHERE;
    if (this.#isBroken) return;
    const opened = this.#depth === 0 ? 0 : this.#open[this.#depth - 1];
    if (opened !== (byte === CLOSE_ARRAY ? OPEN_ARRAY : OPEN_OBJECT)) {
      if (this.#layout.kind !== "lines") throw this.#refuse("a bracket is closed that was not opened", at);
      this.#isBroken = true;
      return;
    }
    if (this.#depth === this.#elementDepth) {
      this.#finish(chunk, at);
      this.#elementDepth = NOWHERE;
    }
    this.#depth -= 1;
    if (this.#depth > 0) return;
    if (this.#layout.kind === "whole") this.#finish(chunk, at + 1);
    else if (this.#layout.kind !== "lines") this.#isOver = true;
  }

  #endLine(chunk: Uint8Array, at: number): void {
    this.#finish(chunk, at);
    this.#depth = 0;
    this.#isBroken = false;
    this.#digits = 0;
    this.#exponent = NOWHERE;
  }

  /** The current element, if there is one, ends before `at`. */
  #finish(chunk: Uint8Array, at: number): void {
    if (this.#elementPosition === NOWHERE) return;
    this.#keepText(chunk.subarray(this.#textStart, at), false);
    this.#finished.push({ text: this.#text, index: this.#index, position: this.#elementPosition });
    this.#count(at);
    this.#index += 1;
    this.#text = "";
    this.#elementPosition = NOWHERE;
  }

  #count(at: number): void {
    this.records += 1;
    if (this.records > MAX_RECORDS) throw this.#refuse(`it holds more than ${MAX_RECORDS} conversations and messages`, at);
  }

  #keepText(bytes: Uint8Array, continues: boolean): void {
    if (this.#keepsText) this.#text += this.#decoder.decode(bytes, { stream: continues });
  }

  #takeKey(bytes: Uint8Array): void {
    if (this.#key.length + bytes.length <= LONGEST_KEY) this.#key += String.fromCharCode(...bytes);
    else this.#key = "";
  }

  /** Numbers that are infinite as a double would change without a word. */
  #checkNumber(at: number, byte: number): void {
    if (byte >= 0x30 && byte <= 0x39) {
      this.#digits += 1;
      if (this.#exponent !== NOWHERE) this.#exponent = Math.min(this.#exponent * 10 + byte - 0x30, 1e6);
      if (this.#exponent < INFINITE_EXPONENT && this.#digits <= INFINITE_EXPONENT) return;
      throw this.#refuse("a number in it is out of range", at);
    }
    if ((byte === 0x65 || byte === 0x45) && this.#digits > 0) this.#exponent = 0;
    else if (byte === 0x2d) this.#exponent = NOWHERE;
    if (byte !== 0x2e) this.#digits = 0;
  }

  #refuse(problem: string, at: number): Error {
    return unusable(this.#file, problem, this.#position + at);
  }
}
