/** The app's key of an encrypted storage. What is secret in it stays out of logs: it is in private fields only. */

import { ofThisCopy, requireThisCopy } from "./copies.js";
import { MemoryError } from "./errors.js";
import { PASSPHRASE_ITERATIONS, passphraseBytes } from "./passphrase.js";

const LEAST_ITERATIONS = 100_000;
const MOST_ITERATIONS = 100_000_000;

/** A passphrase from which the key of a storage is made. Made by {@link passphraseKey}. */
export class PassphraseKey {
  /** Tells it from other keys. */
  readonly kind = "passphrase";
  /** Rounds of PBKDF2 for a storage that is new; one that is there tells its own. */
  readonly iterations: number;
  readonly #passphrase: string;

  constructor(passphrase: string, iterations: number) {
    this.#passphrase = passphrase;
    this.iterations = iterations;
    ofThisCopy(this);
  }

  /** As bytes; how accents were typed does not matter (NFKC). */
  bytes(): Uint8Array {
    return passphraseBytes(this.#passphrase);
  }
}

/** 32 bytes of the app's, kept apart from the array that it gave. */
export class RawKey {
  readonly kind = "raw";
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor(bytes: Uint8Array) {
    this.#bytes = Uint8Array.from(bytes);
    ofThisCopy(this);
  }

  /** A copy. */
  bytes(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }
}

/** A key as `indexedDbStorage` keeps it. */
export type HeldKey = CryptoKey | RawKey | PassphraseKey;

/**
 * A key made from a passphrase, by PBKDF2-HMAC-SHA-256. The storage keeps a random salt and the number of rounds, so the
 * passphrase is all that is needed later. A passphrase of the user's that is easily guessed protects as little.
 *
 * @param passphrase Not empty. It is compared after Unicode's NFKC.
 * @param options.iterations Rounds for a new storage, from 100,000. Default 600,000, OWASP's figure.
 */
export function passphraseKey(passphrase: string, options: { iterations?: number } = {}): PassphraseKey {
  if (typeof passphrase !== "string" || passphrase === "") {
    throw new MemoryError("invalid_argument", "passphraseKey takes a text that is not empty.");
  }
  const { iterations = PASSPHRASE_ITERATIONS } = options;
  if (!Number.isInteger(iterations) || iterations < LEAST_ITERATIONS || iterations > MOST_ITERATIONS) {
    throw new MemoryError("invalid_argument", `passphraseKey: iterations must be a whole number from ${LEAST_ITERATIONS} to ${MOST_ITERATIONS}.`);
  }
  return new PassphraseKey(passphrase, iterations);
}

/** A key as an app gives it, checked. */
export function holdKey(key: unknown): HeldKey {
  if (key instanceof PassphraseKey || key instanceof RawKey) return key;
  if (typeof key === "object" && key !== null) requireThisCopy(key, "Option storage: the key");
  if (key instanceof Uint8Array) {
    if (key.length === 32) return new RawKey(key);
    throw new MemoryError("invalid_config", "Option storage: a key of bytes must have 32 of them, made at random.");
  }
  if (typeof CryptoKey !== "undefined" && key instanceof CryptoKey) {
    const { name, length } = key.algorithm as { name: string; length?: number };
    const can = (...usages: KeyUsage[]): boolean => usages.every((usage) => key.usages.includes(usage));
    if (name === "HKDF" && (can("deriveKey") || can("deriveBits"))) return key;
    if (name === "AES-GCM" && length === 256 && can("encrypt", "decrypt")) return key;
  }
  throw new MemoryError(
    "invalid_config",
    "Option storage: the key must be 32 bytes, a CryptoKey (HKDF for deriveKey, or AES-GCM of 256 bits for encrypt and decrypt), or come from passphraseKey().",
  );
}
