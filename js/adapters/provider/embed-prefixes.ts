/** What stands in front of the texts that a model embeds. */

import type { EmbedPurpose } from "../../types/options.js";

/** Prefixes of a model that tells questions from what is found by them. */
export type EmbedPrefixes = Readonly<Record<EmbedPurpose, string>>;

/** What an embedder puts in front of texts. */
export interface PrefixOptions {
  /** Put in front of each text, for models that were trained with it. Default none. */
  prefix?: string;
  /**
   * In place of `prefix`, for models that tell questions from what is found by them: `{ query: "query: ", document: "passage: " }`
   * for the e5 family.
   */
  prefixes?: EmbedPrefixes;
}

/** The prefix of a text by what it is embedded for, and the part of the vectors' name that says so. */
export function prefixesOf({ prefix = "", prefixes }: PrefixOptions): { name: string; of: (purpose: EmbedPurpose) => string } {
  const { query, document } = prefixes ?? { query: prefix, document: prefix };
  const names = [query, document].map((text) => text.trim());
  return { name: query === document ? names[0] as string : names.join("/"), of: (purpose) => (purpose === "query" ? query : document) };
}
