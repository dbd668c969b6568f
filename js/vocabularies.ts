/** Brings the vocabularies of the tokenizers: files of the package, loaded when first needed. */

import { MemoryError } from "./errors.js";
import { gunzip, isGzip, readLocalFile } from "./package-file.js";
import type { Encoding, VocabularySource } from "./types.js";

const inFlight = new Map<string, Promise<Uint8Array>>();

/** The bytes of a vocabulary. Calls for the same file while it loads share one download. */
export function vocabularyBytes(encoding: Encoding, source?: VocabularySource): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return unpack(source);
  const url = source === undefined ? packagedVocabulary(encoding) : new URL(source, globalThis.location?.href);
  const pending = inFlight.get(url.href) ?? read(url).finally(() => inFlight.delete(url.href));
  inFlight.set(url.href, pending);
  return pending;
}

/** Each address is written out, because bundlers find files only by a literal name. */
function packagedVocabulary(encoding: Encoding): URL {
  switch (encoding) {
    case "o200k_base":
      return new URL("./vocabularies/o200k_base.bin.gz", import.meta.url);
    case "cl100k_base":
      return new URL("./vocabularies/cl100k_base.bin.gz", import.meta.url);
  }
}

async function read(url: URL): Promise<Uint8Array> {
  try {
    const local = await readLocalFile(url);
    if (local !== undefined) return await unpack(local);
    const response = await fetch(url);
    if (!response.ok) throw new Error(`status ${response.status}`);
    return await unpack(new Uint8Array(await response.arrayBuffer()));
  } catch (error) {
    throw new MemoryError(
      "wasm_load_failed",
      "The tokenizer's vocabulary could not be loaded, so token counts are estimates until it can. Serve the package's " +
        "dist/vocabularies folder, or give the file in option vocabularies.",
      { cause: error },
    );
  }
}

/** Servers may have decompressed a `.gz` file on the way: what arrives is unpacked only where it is still packed. */
async function unpack(bytes: Uint8Array): Promise<Uint8Array> {
  return isGzip(bytes) ? gunzip(bytes) : bytes;
}
