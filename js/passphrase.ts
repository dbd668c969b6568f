/** What keys made of a passphrase have in common: of a storage, and of a backup. */

/**
 * Rounds of PBKDF2-HMAC-SHA-256 for something new: what OWASP's Password Storage Cheat Sheet asks for (since 2023). About
 * 0.4 s on a laptop, once per opening. What is there already tells its own.
 */
export const PASSPHRASE_ITERATIONS = 600_000;

/** As bytes; the same passphrase can be typed as different code points (NFKC). */
export function passphraseBytes(passphrase: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(passphrase.normalize("NFKC"));
}
