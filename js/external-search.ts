/** The search of a storage that the app gives, as the engine calls it: flat lists become objects and back (src/wasm/external_search.rs). */

import type { EngineStorage } from "./engine-glue.js";
import type { MessageEntry, MessageRange, SearchLookup, StorageSearch } from "./types.js";

/** Bytes of a term, and of a term with how often it is held. */
const TERM = 8;
const POSTING = 10;

/** The port over a search; `call` gives a failure its type. */
export function searchPort(search: StorageSearch, call: <Answer>(work: () => Promise<Answer>) => Promise<Answer>): NonNullable<EngineStorage["search"]> {
  return {
    vectors: search.vectors,
    lines: (ranges, signal) => call(async () => [...(await search.lines(rangesOf(ranges), { signal }))]),
    find: (lookup, signal) => call(async () => {
      const found = await search.find(lookupOf(lookup), { signal });
      return found.flatMap(({ kind, place = 0, conversationId, bytes }) => [kind === "near" ? -2 : kind === "marks" ? -1 : place, conversationId, bytes]);
    }),
  };
}

/** A message's entry as the engine gives it: line, marks, and terms with how often they are held. */
export function entryOf([line, marks, terms]: readonly Uint8Array[]): MessageEntry {
  const postings = terms as Uint8Array;
  const view = new DataView(postings.buffer, postings.byteOffset, postings.byteLength);
  const places = Array.from({ length: postings.length / POSTING }, (_, index) => index * POSTING);
  return {
    line: line as Uint8Array,
    marks: marks as Uint8Array,
    terms: places.map((place) => view.getBigInt64(place, true)),
    frequencies: places.map((place) => view.getUint16(place + TERM, true)),
  };
}

function rangesOf(list: readonly unknown[]): MessageRange[] {
  return Array.from({ length: list.length / 3 }, (_, index) => {
    const [conversationId, from, to] = list.slice(index * 3, index * 3 + 3) as [string, number, number];
    return { conversationId, from, to };
  });
}

function lookupOf([terms, marks, model, vector]: readonly unknown[]): SearchLookup {
  const bytes = terms as Uint8Array;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const asked = Array.from({ length: bytes.length / TERM }, (_, index) => view.getBigInt64(index * TERM, true));
  const by = model === undefined ? {} : { model: model as string, vector: vector as Float32Array };
  return { terms: asked, marks: marks as boolean, ...by };
}
