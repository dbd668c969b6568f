/**
 * Encryption at rest, as far as it is the platform's: keys and sealing by WebCrypto. Loaded only when a storage has a key.
 *
 * Each database has a random data key, which is stored wrapped by the app's key, so another key takes one record. From the
 * data key come the key of the cipher (AES-256-GCM, not extractable) and the key of names and marks, which the engine uses
 * (src/store/encrypted/mod.rs). Everything is named by HKDF-SHA-256.
 */

import { fromBase64, toBase64 } from "./byte-text.js";
import { MemoryError, isMemoryError } from "./errors.js";
import { PassphraseKey, RawKey, type HeldKey } from "./storage-key.js";

/** Version of the header and of what it stands for. */
const VERSION = 1;
const NONCE_BYTES = 12;
const SALT_BYTES = 16;
/** More rounds than this are a damaged or foreign header: it would hang. */
const MOST_ITERATIONS = 100_000_000;

type Bytes = Uint8Array<ArrayBuffer>;

/** How the key that wraps is made of what the app has. */
type Derivation =
  | { name: "PBKDF2-SHA-256"; salt: string; iterations: number }
  | { name: "HKDF-SHA-256" }
  | { name: "AES-256-GCM" };

/** What a database tells in clear: nothing about what is in it. */
interface Header {
  readonly version: number;
  readonly key: Derivation;
  /** Nonce, data key and tag, by the wrapping key. */
  readonly wrapped: string;
  /** Start of the SHA-256 of the rest: a changed header is not taken for a wrong key. */
  readonly sum: string;
}

/** What a key gives for a database. `seal` and `open` take labels and bytes by turns and answer one entry for each pair. */
export interface Unlocked {
  readonly header: string;
  readonly names: Uint8Array;
  readonly seal: (items: readonly Bytes[]) => Promise<Bytes[]>;
  /** `null` for what was changed, or sealed with another key or label. */
  readonly open: (items: readonly Bytes[]) => Promise<(Bytes | null)[]>;
}

/** Opens one database with the app's key. */
export class StoreLock {
  #key: HeldKey | undefined;
  #last: { header: string; unlocked: Unlocked } | undefined;

  constructor(key: HeldKey) {
    this.#key = key;
  }

  /** The keys of a database with this header, or of a new one. */
  async unlock(header: string | undefined): Promise<Unlocked> {
    if (this.#key === undefined) throw new MemoryError("closed", "The memory was closed.");
    if (header !== undefined && this.#last?.header === header) return this.#last.unlocked;
    const dataKey = header === undefined ? random(32) : await unwrap(header, this.#key);
    const unlocked = await keysOf(dataKey, header ?? (await wrap(dataKey, this.#key)));
    dataKey.fill(0);
    if (this.#key !== undefined) this.#last = { header: unlocked.header, unlocked };
    return unlocked;
  }

  /** Forgets every key. */
  forget(): void {
    this.#key = undefined;
    this.#last = undefined;
  }
}

/** A new header for the database whose header is given: the same data key, wrapped by another key. */
export async function rewrapped(header: string, from: HeldKey, to: HeldKey): Promise<string> {
  const dataKey = await unwrap(header, from);
  const wrapped = await wrap(dataKey, to);
  dataKey.fill(0);
  return wrapped;
}

async function keysOf(dataKey: Bytes, header: string): Promise<Unlocked> {
  const { subtle } = webCrypto();
  const master = await subtle.importKey("raw", dataKey, "HKDF", false, ["deriveKey", "deriveBits"]);
  const cipher = await subtle.deriveKey(named("throughline sealing"), master, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
  const names = await subtle.deriveBits(named("throughline names"), master, 256);
  return {
    header,
    names: new Uint8Array(names),
    seal: (items) => Promise.all(pairs(items).map(([label, bytes]) => seal(cipher, label, bytes))),
    open: (items) => Promise.all(pairs(items).map(([label, bytes]) => open(cipher, label, bytes))),
  };
}

function pairs(items: readonly Bytes[]): [Bytes, Bytes][] {
  return Array.from({ length: items.length >> 1 }, (_, index) => [items[index * 2] as Bytes, items[index * 2 + 1] as Bytes]);
}

// Called for thousands of records at once: an async function around each would cost a third more (measured, 8,192 records).

function seal(key: CryptoKey, label: Bytes, bytes: Bytes): Promise<Bytes> {
  const nonce = random(NONCE_BYTES);
  return webCrypto().subtle.encrypt({ name: "AES-GCM", iv: nonce, additionalData: label }, key, bytes).then((sealed) => {
    const all = new Uint8Array(NONCE_BYTES + sealed.byteLength);
    all.set(nonce);
    all.set(new Uint8Array(sealed), NONCE_BYTES);
    return all;
  });
}

function open(key: CryptoKey, label: Bytes, sealed: Bytes): Promise<Bytes | null> {
  const iv = sealed.subarray(0, NONCE_BYTES);
  return webCrypto().subtle.decrypt({ name: "AES-GCM", iv, additionalData: label }, key, sealed.subarray(NONCE_BYTES)).then(asBytes, notOpened);
}

function asBytes(buffer: ArrayBuffer): Bytes {
  return new Uint8Array(buffer);
}

function notOpened(error: unknown): null {
  if (error instanceof DOMException && error.name === "OperationError") return null;
  throw error;
}

const WRAPPING_LABEL: Bytes = new TextEncoder().encode("throughline data key");

async function wrap(dataKey: Bytes, key: HeldKey): Promise<string> {
  const derivation = derivationFor(key);
  const wrapped = toBase64(await seal(await wrappingKey(key, derivation), WRAPPING_LABEL, dataKey));
  const header: Header = { version: VERSION, key: derivation, wrapped, sum: await sumOf(VERSION, derivation, wrapped) };
  return JSON.stringify(header);
}

async function unwrap(headerText: string, key: HeldKey): Promise<Bytes> {
  const { key: derivation, wrapped } = await readHeader(headerText);
  if (derivation.name !== derivationFor(key).name) throw wrongKey("was stored with a key of another kind");
  const dataKey = await open(await wrappingKey(key, derivation), WRAPPING_LABEL, fromBase64(wrapped));
  if (dataKey?.length !== 32) throw wrongKey("was stored with another key");
  return dataKey;
}

function derivationFor(key: HeldKey): Derivation {
  if (key instanceof PassphraseKey) return { name: "PBKDF2-SHA-256", salt: toBase64(random(SALT_BYTES)), iterations: key.iterations };
  return key instanceof RawKey || key.algorithm.name === "HKDF" ? { name: "HKDF-SHA-256" } : { name: "AES-256-GCM" };
}

async function wrappingKey(key: HeldKey, derivation: Derivation): Promise<CryptoKey> {
  const { subtle } = webCrypto();
  const asCipher = { name: "AES-GCM", length: 256 };
  if (key instanceof PassphraseKey) {
    if (derivation.name !== "PBKDF2-SHA-256") throw wrongKey("was stored with a key of another kind");
    const { salt, iterations } = derivation;
    const secret = await subtle.importKey("raw", key.bytes() as BufferSource, "PBKDF2", false, ["deriveKey"]);
    const rounds = { name: "PBKDF2", hash: "SHA-256", salt: fromBase64(salt), iterations };
    return subtle.deriveKey(rounds, secret, asCipher, false, ["encrypt", "decrypt"]);
  }
  if (!(key instanceof RawKey) && key.algorithm.name === "AES-GCM") return key;
  const master = key instanceof RawKey ? await subtle.importKey("raw", key.bytes() as BufferSource, "HKDF", false, ["deriveKey"]) : key;
  const purpose = named("throughline wrapping");
  if (master.usages.includes("deriveKey")) return subtle.deriveKey(purpose, master, asCipher, false, ["encrypt", "decrypt"]);
  return subtle.importKey("raw", await subtle.deriveBits(purpose, master, 256), "AES-GCM", false, ["encrypt", "decrypt"]);
}

async function readHeader(headerText: string): Promise<Header> {
  let header: Partial<Header>;
  try {
    header = JSON.parse(headerText) as Partial<Header>;
    if (typeof header.version === "number" && header.version > VERSION) throw tooNew();
    const { version, key, wrapped, sum } = header;
    if (version === VERSION && isDerivation(key) && typeof wrapped === "string" && sum === (await sumOf(version, key, wrapped))) {
      return { version, key, wrapped, sum };
    }
  } catch (error) {
    if (isMemoryError(error)) throw error;
  }
  throw new MemoryError(
    "storage_corrupt",
    "The record that tells how this storage's key is made is damaged, and without it nothing can be opened; erase the user and import a backup.",
  );
}

function isDerivation(value: unknown): value is Derivation {
  if (typeof value !== "object" || value === null || !("name" in value)) return false;
  if (value.name === "HKDF-SHA-256" || value.name === "AES-256-GCM") return true;
  const { salt, iterations } = value as { salt?: unknown; iterations?: unknown };
  const isWhole = Number.isInteger(iterations) && (iterations as number) >= 1 && (iterations as number) <= MOST_ITERATIONS;
  return value.name === "PBKDF2-SHA-256" && typeof salt === "string" && isWhole;
}

async function sumOf(version: number, key: Derivation, wrapped: string): Promise<string> {
  const all = new TextEncoder().encode(JSON.stringify([version, key, wrapped]));
  return toBase64(new Uint8Array(await webCrypto().subtle.digest("SHA-256", all)).subarray(0, 12));
}

function named(purpose: string): HkdfParams {
  return { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info: new TextEncoder().encode(purpose) };
}

function random(length: number): Bytes {
  return webCrypto().getRandomValues(new Uint8Array(length));
}

function webCrypto(): Crypto {
  const { crypto } = globalThis as { crypto?: Crypto };
  if (crypto?.subtle !== undefined) return crypto;
  throw new MemoryError("storage_unavailable", "Encryption needs WebCrypto, which browsers have on https pages and on localhost only.");
}

function wrongKey(how: string): MemoryError {
  return new MemoryError("storage_key_wrong", `This user's data ${how}; nothing was changed. Give the key that it was stored with.`);
}

function tooNew(): MemoryError {
  return new MemoryError("schema_too_new", "The stored data was encrypted by a newer version; update the package.");
}
