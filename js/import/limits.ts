/** What an import file may ask of the page. Beyond a limit nothing is imported. */

import { MemoryError } from "../errors.js";

/** Bytes of text after unpacking, all files of one import together: default of option `maxBytes`. */
export const MAX_EXPANDED_BYTES = 256 * 1024 * 1024;
/** Bytes within which a file must show what it is. */
export const LONGEST_HEAD_BYTES = 16 * 1024 * 1024;
/** Bytes of one conversation (of one message, where a file is one conversation in lines). */
export const MAX_ELEMENT_BYTES = 64 * 1024 * 1024;
/** Unpacked bytes for one packed byte. Text reaches about 20. */
export const MAX_RATIO = 200;
/** Unpacked bytes that are read before the ratio counts: a small file of blanks is no attack. */
export const RATIO_GRACE_BYTES = 1024 * 1024;
/** Nested arrays and objects. */
export const MAX_DEPTH = 64;
/** The same where replies are nested in what they reply to (LibreChat's recursive export): two per message. */
export const MAX_REPLY_DEPTH = 4_096;
/** Entries of one array or object, and conversations with the entries of their lists. */
export const MAX_RECORDS = 1_000_000;
/** Entries of one zip. */
export const MAX_ZIP_ENTRIES = 100_000;

/** A file that cannot be imported at all: `invalid_argument` with the place in `details`. */
export function unusable(file: string, problem: string, position?: number): MemoryError {
  const at = position === undefined ? "" : ` at byte ${position}`;
  return new MemoryError("invalid_argument", `import: ${file} cannot be read${at}: ${problem}. Nothing was imported.`, {
    details: { file, ...(position === undefined ? {} : { position }) },
  });
}
