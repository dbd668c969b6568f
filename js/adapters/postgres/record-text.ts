/** Records as PostgreSQL keeps them: text without U+0000, bytes, and vectors as pgvector has them. */

import type { StoredRecord } from "../../types.js";
import { bytesText } from "./hex.js";

/** The store whose bytes are vectors. */
export const VECTORS = "embeddings";

/** pgvector's longest. */
const MOST_DIMENSIONS = 16_000;
/** Smaller numbers lose digits where they are read as text. */
const SMALLEST_NORMAL = 2 ** -126;

/** A record's columns. */
export interface RecordColumns {
  body: string;
  blob: string | null;
  embedding: string | null;
}

/** A record's columns as they are read: `embedding` in pgvector's binary form. */
export interface ReadColumns {
  body: string;
  blob: Uint8Array | null;
  embedding: Uint8Array | null;
}

/** A record as columns; `isVector`: its bytes are a vector, which pgvector keeps where it can give the same back. */
export function columnsOf({ body, blob }: StoredRecord, isVector: boolean): RecordColumns {
  const embedding = isVector && blob !== undefined ? vectorText(blob) : null;
  return { body: bodyText(body), blob: blob === undefined || embedding !== null ? null : bytesText(blob), embedding };
}

/** The record of columns. */
export function recordOf({ body, blob, embedding }: ReadColumns): StoredRecord {
  const bytes = embedding === null ? blob : vectorBytes(embedding);
  return bytes === null ? { body: bodyOf(body) } : { body: bodyOf(body), blob: bytes };
}

/** PostgreSQL's text holds no U+0000: where a body has it, U+0001 comes first and then stands before a 0 or a 1 for each of both. */
export function bodyText(body: string): string {
  if (!body.includes("\0") && !body.includes("\x01")) return body;
  return `\x01${body.replaceAll("\x01", "\x011").replaceAll("\0", "\x010")}`;
}

function bodyOf(text: string): string {
  if (!text.startsWith("\x01")) return text;
  const [first, ...others] = text.slice(1).split("\x01");
  return [first, ...others.map((part) => (part.startsWith("0") ? "\0" : "\x01") + part.slice(1))].join("");
}

/** Little-endian floats as a vector's text; `null` where pgvector could not give the same back. */
function vectorText(blob: Uint8Array): string | null {
  const count = blob.length / 4;
  if (!Number.isInteger(count) || count === 0 || count > MOST_DIMENSIONS) return null;
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  const numbers: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const number = view.getFloat32(index * 4, true);
    if (!Number.isFinite(number) || (number !== 0 && Math.abs(number) < SMALLEST_NORMAL)) return null;
    numbers.push(Object.is(number, -0) ? "-0" : String(number));
  }
  return `[${numbers.join(",")}]`;
}

/** Two bytes of length, two of nothing, then floats, the highest byte first. */
function vectorBytes(sent: Uint8Array): Uint8Array {
  const bytes = sent.slice(4);
  for (let at = 0; at < bytes.length; at += 4) bytes.subarray(at, at + 4).reverse();
  return bytes;
}
