/** Brings the vocabularies of the tokenizers: files of the package, loaded when first needed. */

import { MemoryError } from "./errors.js";
import { beginsWith, readFile, readPackageFile, unpack, type PackageFile } from "./package-file.js";
import type { Encoding, VocabularySource } from "./types.js";

const inFlight = new Map<string, Promise<Uint8Array>>();
/** `src/tokens/vocabulary.rs` begins them so. */
const isRight = (bytes: Uint8Array): boolean => beginsWith(bytes, "TLBP");

/** The bytes of a vocabulary. Calls for the same file while it loads share one download. */
export function vocabularyBytes(encoding: Encoding, source?: VocabularySource): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return unpack(source);
  const url = source === undefined ? undefined : new URL(source, globalThis.location?.href);
  const key = url?.href ?? encoding;
  const pending = inFlight.get(key) ?? read(encoding, url).finally(() => inFlight.delete(key));
  inFlight.set(key, pending);
  return pending;
}

/** Each address and chunk is written out, because bundlers find files only by a literal name. */
function packagedVocabulary(encoding: Encoding): PackageFile {
  switch (encoding) {
    case "o200k_base":
      return {
        address: () => new URL("./vocabularies/o200k_base.bin.gz", import.meta.url),
        chunk: () => import("./inline/o200k_base.js"),
        isRight,
      };
    case "cl100k_base":
      return {
        address: () => new URL("./vocabularies/cl100k_base.bin.gz", import.meta.url),
        chunk: () => import("./inline/cl100k_base.js"),
        isRight,
      };
  }
}

async function read(encoding: Encoding, url: URL | undefined): Promise<Uint8Array> {
  try {
    return await (url === undefined ? readPackageFile(packagedVocabulary(encoding)) : readFile(url).then(unpack));
  } catch (error) {
    throw new MemoryError(
      "wasm_load_failed",
      "The tokenizer's vocabulary could not be loaded, so token counts are estimates until it can. Serve the package's " +
        "dist folder whole, or give the file in option vocabularies.",
      { cause: error },
    );
  }
}
