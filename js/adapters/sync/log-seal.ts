/**
 * Batches of changes, sealed so that a server can do nothing with them but give them out as they are. Each is bound to its
 * number and to a hash of all before it: one that was changed, moved, left out or put in a second time does not open.
 */

import { MemoryError } from "../../errors.js";

type Bytes = Uint8Array<ArrayBuffer>;

/** What a batch says. */
export interface Batch {
  /** The store that wrote it. */
  store: string;
  /** How often everything was erased, as far as that store knew. */
  generation: number;
  /** The digest of its facts. */
  facts: string;
  pieces: object[];
  /** From this number on the log has everything: what is before it may go. */
  completes?: number;
}

/** The hash of no entry. */
export const START: string = "0".repeat(64);

const NONCE_BYTES = 12;
const LABEL = "throughline log 1";

/** The key of a log, out of what the app has: 32 random bytes, or a key of AES-GCM. */
export async function logKey(given: Uint8Array | CryptoKey): Promise<CryptoKey> {
  if (given instanceof Uint8Array) {
    if (given.length !== 32) throw new MemoryError("invalid_argument", "syncMemory: options.key must have 32 bytes.");
    const master = await crypto.subtle.importKey("raw", given as Bytes, "HKDF", false, ["deriveKey"]);
    const derivation = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: new TextEncoder().encode(LABEL) };
    return crypto.subtle.deriveKey(derivation, master, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
  }
  if (given.algorithm?.name !== "AES-GCM") throw new MemoryError("invalid_argument", "syncMemory: options.key must be 32 bytes or a CryptoKey of AES-GCM.");
  return given;
}

/** Seals a batch as entry `at`, behind entries of this hash. */
export async function sealBatch(key: CryptoKey, batch: Batch, at: number, before: string): Promise<Bytes> {
  const packed = new Blob([JSON.stringify(batch)]).stream().pipeThrough(new CompressionStream("gzip"));
  const plain = await new Response(packed).arrayBuffer();
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv: nonce, additionalData: label(at, before) }, key, plain);
  const entry = new Uint8Array(NONCE_BYTES + sealed.byteLength);
  entry.set(nonce);
  entry.set(new Uint8Array(sealed), NONCE_BYTES);
  return entry;
}

/** The batch of an entry; `null`: it is none that was sealed with this key at this place. */
export async function openBatch(key: CryptoKey, entry: Bytes, at: number, before: string): Promise<Batch | null> {
  const iv = entry.subarray(0, NONCE_BYTES);
  let plain: ArrayBuffer;
  try {
    plain = await crypto.subtle.decrypt({ name: "AES-GCM", iv, additionalData: label(at, before) }, key, entry.subarray(NONCE_BYTES));
  } catch {
    return null;
  }
  const unpacked = new Blob([plain]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(unpacked).text()) as Batch;
}

/** The hash of entries with one more. */
export async function chained(before: string, entry: Uint8Array): Promise<string> {
  const all = new Uint8Array(32 + entry.length);
  all.set(Uint8Array.from({ length: 32 }, (_, index) => Number.parseInt(before.slice(index * 2, index * 2 + 2), 16)));
  all.set(entry, 32);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", all));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function label(at: number, before: string): Bytes {
  return new TextEncoder().encode(`${LABEL} ${at} ${before}`);
}
