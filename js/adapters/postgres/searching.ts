/** Searches one user's messages in PostgreSQL: each call is one statement. */

import type { MessageEntry, MessageRange, RecordReadOptions, SearchFinding, SearchLookup, StorageSearch } from "../../types.js";
import { bytesText } from "./hex.js";
import { keyOf, keyText } from "./key-bytes.js";

/** Runs a function of the schema for the user; its first two arguments are given. */
export type UserStatement = (text: string, values: unknown[], signal?: AbortSignal) => Promise<unknown[]>;

/** A user's search. */
export class PostgresSearch implements StorageSearch {
  readonly vectors: boolean;
  readonly #run: UserStatement;

  constructor(run: UserStatement, vectors: boolean) {
    this.vectors = vectors;
    this.#run = run;
  }

  async lines(ranges: readonly MessageRange[], { signal }: RecordReadOptions): Promise<Uint8Array[]> {
    const asked = ranges.map(({ conversationId, from, to }, place) => ({ place, conversation: keyText([conversationId]), first: from, last: to }));
    const rows = await this.#run("SELECT * FROM $schema.search_lines($1, $2, $3)", [JSON.stringify(asked)], signal);
    const lines: Uint8Array[] = ranges.map(() => new Uint8Array());
    for (const { place, lines: found } of rows as { place: number; lines: Uint8Array }[]) lines[place] = plain(found);
    return lines;
  }

  async find({ terms, marks, model, vector }: SearchLookup, { signal }: RecordReadOptions): Promise<SearchFinding[]> {
    const asked = vector === undefined ? [null, null] : [model, `[${vector.join(",")}]`];
    const values = [`{${terms.join(",")}}`, marks, ...asked];
    const rows = await this.#run("SELECT * FROM $schema.search_found($1, $2, $3::text::bigint[], $4, $5, $6)", values, signal);
    return (rows as { place: number; conversation: Uint8Array; found: Uint8Array }[]).map(({ place, conversation, found }) => ({
      ...(place >= 0 ? { kind: "term", place } : { kind: place === -1 ? "marks" : "near" }),
      conversationId: keyOf(conversation)[0] as string,
      bytes: plain(found),
    }));
  }
}

/** The entry of a message as a commit takes it; `key` as PostgreSQL reads it. */
export function entryColumns(key: string, { line, marks, terms, frequencies }: MessageEntry): object {
  return { key, line: bytesText(line), marks: bytesText(marks), terms: terms.map(String), frequencies };
}

/** Bytes that are nothing more: a driver's may be of a class of its own. */
function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
