/** Bytes as text and back, as `btoa` and `atob` write it. */

/** More at once are too many arguments for a function. */
const AT_ONCE = 8_192;

/** Bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let from = 0; from < bytes.length; from += AT_ONCE) pieces.push(String.fromCharCode(...bytes.subarray(from, from + AT_ONCE)));
  return btoa(pieces.join(""));
}

/** The bytes of base64; throws where it is none. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
