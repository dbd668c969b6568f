/**
 * An encrypted backup: one line of JSON that says how, then frames of AES-256-GCM. The key is made of the passphrase by
 * PBKDF2. A frame's number and whether it is the last are in its nonce, and the first line is authenticated with each, so
 * that nothing can be changed, left out, moved or cut off unnoticed.
 */

import { MemoryError } from "../errors.js";
import { PASSPHRASE_ITERATIONS, passphraseBytes } from "../passphrase.js";
import { ENCRYPTED_FORMAT, VERSION } from "./backup-format.js";

/** A file cannot make its reader work longer than this. */
const MOST_ITERATIONS = 10_000_000;
const FRAME_BYTES = 64 * 1024;
const TAG_BYTES = 16;
const SALT_BYTES = 16;
const LONGEST_HEADER = 1024;
const NEWLINE = 0x0a;

/** Encrypts what comes, for whoever knows the passphrase. */
export async function encrypting(passphrase: string): Promise<TransformStream<Uint8Array, Uint8Array>> {
  const salt = crypto.getRandomValues(new Uint8Array(SALT_BYTES));
  const { key, check } = await derived(passphrase, salt, PASSPHRASE_ITERATIONS);
  const header = new TextEncoder().encode(
    `${JSON.stringify({
      format: ENCRYPTED_FORMAT,
      version: VERSION,
      cipher: "AES-256-GCM",
      frameBytes: FRAME_BYTES,
      kdf: { name: "PBKDF2", hash: "SHA-256", iterations: PASSPHRASE_ITERATIONS, salt: toHex(salt) },
      keyCheck: check,
    })}\n`,
  );
  let number = 0;
  const frame = async (bytes: Uint8Array<ArrayBuffer>, isLast: boolean): Promise<Uint8Array> => {
    const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv: nonce(number, isLast), additionalData: header }, key, bytes);
    number += 1;
    return new Uint8Array(sealed);
  };
  return framed(FRAME_BYTES, frame, (controller) => controller.enqueue(header));
}

/** What a file's first line says, and where its frames begin. */
interface Header {
  bytes: Uint8Array<ArrayBuffer>;
  salt: Uint8Array<ArrayBuffer>;
  iterations: number;
  frameBytes: number;
  keyCheck: string;
}

/**
 * The bytes inside an encrypted file.
 *
 * @throws `invalid_argument`, with `details.reason` `"passphrase_needed"` or `"wrong_passphrase"`, or where the first line
 * is damaged; `schema_too_new`. The stream fails where a frame is not what was written.
 */
export async function decrypted(file: Blob, passphrase: string | undefined): Promise<ReadableStream<Uint8Array>> {
  const header = await headerOf(file);
  if (passphrase === undefined) throw refused("it is encrypted; give its passphrase", "passphrase_needed");
  const { key, check } = await derived(passphrase, header.salt, header.iterations);
  if (check !== header.keyCheck) throw refused("the passphrase is not the one that it was encrypted with", "wrong_passphrase");
  let number = 0;
  const frame = async (bytes: Uint8Array<ArrayBuffer>, isLast: boolean): Promise<Uint8Array> => {
    const parameters = { name: "AES-GCM", iv: nonce(number, isLast), additionalData: header.bytes };
    number += 1;
    return new Uint8Array(await crypto.subtle.decrypt(parameters, key, bytes));
  };
  return file.slice(header.bytes.length).stream().pipeThrough(framed(header.frameBytes + TAG_BYTES, frame));
}

async function headerOf(file: Blob): Promise<Header> {
  const start = new Uint8Array(await file.slice(0, LONGEST_HEADER).arrayBuffer());
  const end = start.indexOf(NEWLINE) + 1;
  const bytes = start.slice(0, end);
  let given: { version?: unknown; frameBytes?: unknown; keyCheck?: unknown; kdf?: { iterations?: unknown; salt?: unknown } };
  try {
    given = JSON.parse(new TextDecoder().decode(bytes)) as typeof given;
  } catch {
    throw refused("its first line is damaged", "damaged");
  }
  const { version, frameBytes, keyCheck, kdf } = given;
  if (typeof version === "number" && version > VERSION) {
    throw new MemoryError("schema_too_new", "import: the backup was made by a newer version of the package; update it.");
  }
  const isWhole = (value: unknown, most: number): value is number => Number.isInteger(value) && (value as number) > 0 && (value as number) <= most;
  const salt = typeof kdf?.salt === "string" && /^[0-9a-f]{32}$/.test(kdf.salt) ? fromHex(kdf.salt) : undefined;
  if (!isWhole(frameBytes, 16 * 1024 * 1024) || !isWhole(kdf?.iterations, MOST_ITERATIONS) || salt === undefined || typeof keyCheck !== "string") {
    throw refused("its first line is damaged", "damaged");
  }
  return { bytes, salt, iterations: kdf.iterations, frameBytes, keyCheck };
}

/** The key, and what tells a wrong passphrase from a damaged file. */
async function derived(passphrase: string, salt: Uint8Array<ArrayBuffer>, iterations: number): Promise<{ key: CryptoKey; check: string }> {
  if (typeof globalThis.crypto?.subtle === "undefined") {
    throw new MemoryError("invalid_argument", "Encrypted backups need WebCrypto, which pages have only in a secure context (https or localhost).");
  }
  const material = await crypto.subtle.importKey("raw", passphraseBytes(passphrase), "PBKDF2", false, ["deriveBits"]);
  const bits = new Uint8Array(await crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-256", salt, iterations }, material, 512));
  const key = await crypto.subtle.importKey("raw", bits.slice(0, 32), "AES-GCM", false, ["encrypt", "decrypt"]);
  return { key, check: toHex(bits.slice(32, 48)) };
}

/** The number of a frame, and whether it is the last one. */
function nonce(number: number, isLast: boolean): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(12);
  new DataView(bytes.buffer).setUint32(7, number);
  bytes[11] = isLast ? 1 : 0;
  return bytes;
}

/** Cuts what comes into pieces of a length; the last one, which may be empty, is known as such. */
function framed(
  length: number,
  frame: (bytes: Uint8Array<ArrayBuffer>, isLast: boolean) => Promise<Uint8Array>,
  start: (controller: TransformStreamDefaultController<Uint8Array>) => void = () => undefined,
): TransformStream<Uint8Array, Uint8Array> {
  let held = new Uint8Array(length);
  let filled = 0;
  return new TransformStream({
    start,
    async transform(chunk, controller) {
      let at = 0;
      while (at < chunk.length) {
        // A full piece waits until it is known that more comes.
        if (filled === length) {
          controller.enqueue(await frame(held, false));
          held = new Uint8Array(length);
          filled = 0;
        }
        const taken = Math.min(length - filled, chunk.length - at);
        held.set(chunk.subarray(at, at + taken), filled);
        filled += taken;
        at += taken;
      }
    },
    async flush(controller) {
      controller.enqueue(await frame(held.slice(0, filled), true));
    },
  });
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fromHex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function refused(problem: string, reason: string): MemoryError {
  return new MemoryError("invalid_argument", `import: the backup cannot be read: ${problem}. Nothing was imported.`, { details: { reason } });
}
