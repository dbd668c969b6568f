/** Each byte as two hexadecimal digits. */
export const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Bytes as PostgreSQL reads them: `\x` and hexadecimal digits. */
export function bytesText(bytes: Uint8Array): string {
  let hex = "\\x";
  for (const byte of bytes) hex += HEX[byte] as string;
  return hex;
}
