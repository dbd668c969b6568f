/** One user's records in PostgreSQL. Every call is one statement, which is one transaction. */

import { MemoryError, closed } from "../../errors.js";
import type { KeyedRecord, OpenedStorage, RecordAddress, RecordCommit, RecordQuery, RecordRange, RecordReadOptions, StoredRecord } from "../../types.js";
import type { Database } from "./database.js";
import { keyOf, keyText, rangeTexts } from "./key-bytes.js";
import { VECTORS, bodyText, columnsOf, recordOf, type ReadColumns } from "./record-text.js";
import { PostgresSearch, entryColumns } from "./searching.js";
import { TABLES } from "./tables.js";

/** The tables of a database. */
export interface Layout {
  /** Their schema, quoted. */
  schema: string;
  /** Vectors are kept as pgvector has them. */
  hasVectors: boolean;
  /** Messages are searched there. */
  searches: boolean;
}

/** A user's records, opened. */
export class PostgresRecords implements OpenedStorage {
  readonly #database: Database;
  readonly #schema: string;
  readonly #hasVectors: boolean;
  readonly #user: string;
  readonly #incarnation: string;
  readonly #writer = crypto.randomUUID();
  #lastCommit = 0;
  #writing: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  readonly search?: PostgresSearch;

  private constructor(database: Database, { schema, hasVectors, searches }: Layout, user: string, incarnation: string) {
    this.#database = database;
    this.#schema = schema;
    this.#hasVectors = hasVectors;
    this.#user = user;
    this.#incarnation = incarnation;
    if (searches) this.search = new PostgresSearch((...call) => this.#run(...call), hasVectors);
  }

  /** Opens them; a user who has none gets a place for them. */
  static async open(database: Database, layout: Layout, user: string): Promise<PostgresRecords> {
    const [row] = await database.run(`SELECT ${layout.schema}.open_user($1) AS incarnation`, [user]);
    return new PostgresRecords(database, layout, user, (row as { incarnation: string }).incarnation);
  }

  async get(addresses: readonly RecordAddress[], { signal }: RecordReadOptions): Promise<(StoredRecord | null)[]> {
    const asked = byTable(addresses, ({ key }, place) => ({ place, key: keyText(key) }));
    const rows = await this.#run("SELECT * FROM $schema.get_records($1, $2, $3)", [JSON.stringify(asked)], signal);
    const records: (StoredRecord | null)[] = addresses.map(() => null);
    for (const row of rows as (ReadColumns & { place: number })[]) records[row.place] = recordOf(row);
    return records;
  }

  async scan(query: RecordQuery, { signal }: RecordReadOptions): Promise<KeyedRecord[]> {
    const { low, high } = rangeTexts(query);
    const values = [tableOf(query.store), low, high, query.limit ?? null, query.reverse];
    const rows = await this.#run("SELECT * FROM $schema.scan_records($1, $2, $3, $4::text::bytea, $5::text::bytea, $6, $7)", values, signal);
    return (rows as (ReadColumns & { key: Uint8Array })[]).map((row) => ({ key: keyOf(row.key), record: recordOf(row) }));
  }

  async count(range: RecordRange, { signal }: RecordReadOptions): Promise<number> {
    const { low, high } = rangeTexts(range);
    const text = "SELECT $schema.count_records($1, $2, $3, $4::text::bytea, $5::text::bytea) AS count";
    const [row] = await this.#run(text, [tableOf(range.store), low, high], signal);
    return Number((row as { count: string | number | bigint }).count);
  }

  async commit(commit: RecordCommit): Promise<boolean> {
    const puts = lastOfEach(commit.puts.map((put) => ({ ...put, key: keyText(put.key) })));
    const given = JSON.stringify({
      checks: byTable(commit.checks, ({ key, body }) => ({ key: keyText(key), body: body === null ? null : bodyText(body) })),
      ranges: byTable(commit.deleteRanges, rangeTexts),
      deletes: byTable(commit.deletes, ({ key }) => keyText(key)),
      puts: byTable(puts, ({ store, key, record }) => ({ key, ...columnsOf(record, this.#hasVectors && store === VECTORS) })),
    });
    const entries = puts.flatMap(({ key, entry }) => (entry === undefined ? [] : [entryColumns(key, entry)]));
    // One after the other: a repeated commit is known by its number being no later than the last.
    const written = this.#writing.then(async () => {
      this.#lastCommit += 1;
      const values = [this.#writer, this.#lastCommit, commit.strict, given];
      const [row] = await (entries.length === 0
        ? this.#run("SELECT $schema.commit_records($1, $2, $3, $4, $5, $6) AS done", values)
        : this.#run("SELECT $schema.commit_searched($1, $2, $3, $4, $5, $6, $7) AS done", [...values, JSON.stringify(entries)]));
      return (row as { done: boolean }).done;
    });
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async destroy(): Promise<void> {
    // False where a lost try has done it, or somebody else.
    await this.#run("SELECT $schema.erase_user($1, $2)", []);
  }

  close(): void {
    this.#isClosed = true;
  }

  async #run(text: string, values: unknown[], signal?: AbortSignal): Promise<unknown[]> {
    if (this.#isClosed) throw closed();
    return this.#database.run(text.replace("$schema", this.#schema), [this.#user, this.#incarnation, ...values], signal);
  }
}

function tableOf(store: string): string {
  const table = TABLES[store];
  if (table === undefined) throw new MemoryError("storage_unavailable", "Storage: PostgreSQL has no table for a store of this engine; update the package as a whole.");
  return table;
}

/** Lists by table, as the functions in the database take them. */
function byTable<Item extends { readonly store: string }, Made>(items: readonly Item[], make: (item: Item, place: number) => Made): Record<string, Made[]> {
  const tables: Record<string, Made[]> = {};
  items.forEach((item, place) => (tables[tableOf(item.store)] ??= []).push(make(item, place)));
  return tables;
}

/** Of several puts on a key the last one: one statement cannot write a row twice. */
function lastOfEach<Put extends { readonly store: string; readonly key: string }>(puts: readonly Put[]): Put[] {
  return [...new Map(puts.map((put) => [`${put.store} ${put.key}`, put])).values()];
}
