/**
 * Keys as bytes whose order is the order of the keys, and as PostgreSQL reads bytes (`\x` and hexadecimal digits).
 *
 * A number is 01 and its eight bytes as a double, highest first: of numbers from 0 these sort as the numbers do. A text is 02, its
 * UTF-16 code units in one to three bytes each as UTF-8 would write them one by one (CESU-8, whose order is that of the units), and
 * 00; the units 0 and 1 are 01 01 and 01 02, so that nothing within a text is 00.
 */

import type { RecordKey, RecordRange } from "../../types.js";
import { HEX } from "./hex.js";

const NUMBER = 1;
const TEXT = 2;
const END = 0;
const ESCAPE = 1;

/** A key as PostgreSQL reads it. */
export function keyText(key: RecordKey): string {
  return `\\x${hexOf(key)}`;
}

/** The interval of a range: the first bytes in it, and the first after it. */
export function rangeTexts({ lower, lowerOpen, upper }: RecordRange): { low: string; high: string } {
  // No key is an empty list of bytes but the empty one; ff begins none.
  const low = lower === undefined ? "\\x" : `${keyText(lower)}${lowerOpen ? "00" : ""}`;
  return { low, high: upper === undefined ? "\\xff" : keyText(upper) };
}

/** The key that bytes are of. */
export function keyOf(bytes: Uint8Array): RecordKey {
  const key: (string | number)[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (at < bytes.length) {
    if (bytes[at] === NUMBER) {
      key.push(view.getFloat64(at + 1));
      at += 9;
      continue;
    }
    const end = bytes.indexOf(END, at + 1);
    key.push(textOf(bytes.subarray(at + 1, end)));
    at = end + 1;
  }
  return key;
}

function hexOf(key: RecordKey): string {
  let hex = "";
  const add = (byte: number): void => {
    hex += HEX[byte & 0xff] as string;
  };
  const double = new DataView(new ArrayBuffer(8));
  for (const part of key) {
    if (typeof part === "number") {
      double.setFloat64(0, part);
      add(NUMBER);
      for (let index = 0; index < 8; index += 1) add(double.getUint8(index));
      continue;
    }
    add(TEXT);
    for (let index = 0; index < part.length; index += 1) addUnit(part.charCodeAt(index), add);
    add(END);
  }
  return hex;
}

function addUnit(unit: number, add: (byte: number) => void): void {
  if (unit <= ESCAPE) {
    add(ESCAPE);
    add(unit + 1);
  } else if (unit < 0x80) {
    add(unit);
  } else if (unit < 0x800) {
    add(0xc0 | (unit >> 6));
    add(0x80 | (unit & 0x3f));
  } else {
    add(0xe0 | (unit >> 12));
    add(0x80 | ((unit >> 6) & 0x3f));
    add(0x80 | (unit & 0x3f));
  }
}

function textOf(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at] as number;
    const [second, third] = [(bytes[at + 1] ?? 0) & 0x3f, (bytes[at + 2] ?? 0) & 0x3f];
    if (first === ESCAPE) text += String.fromCharCode(second - 1);
    else if (first < 0x80) text += String.fromCharCode(first);
    else if (first < 0xe0) text += String.fromCharCode(((first & 0x1f) << 6) | second);
    else text += String.fromCharCode(((first & 0x0f) << 12) | (second << 6) | third);
    at += first === ESCAPE ? 2 : first < 0x80 ? 1 : first < 0xe0 ? 2 : 3;
  }
  return text;
}
