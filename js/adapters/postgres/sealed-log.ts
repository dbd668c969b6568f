/** One user's log of sealed batches in PostgreSQL. Every call is one statement, which is one transaction. */

import type { LogPage, SealedLog } from "../sync/sealed-log.js";
import type { Database } from "./database.js";
import { bytesText } from "./hex.js";

interface LogRow {
  log_start: number | string | bigint;
  log_length: number | string | bigint;
  log_chain: string | null;
  log_entry: Uint8Array | null;
}

/** A log. */
export class PostgresSealedLog implements SealedLog {
  readonly #database: () => Promise<Database>;
  readonly #schema: string;
  readonly #user: string;

  /** `database`: once its tables are there. `schema`: theirs, quoted. */
  constructor(database: () => Promise<Database>, schema: string, user: string) {
    this.#database = database;
    this.#schema = schema;
    this.#user = user;
  }

  async read(from: number, maxBytes: number): Promise<LogPage> {
    const rows = (await this.#run("SELECT * FROM $schema.read_log($1, $2, $3)", [from, maxBytes])) as LogRow[];
    const { log_start, log_length, log_chain } = rows[0] as LogRow;
    const entries = rows.flatMap(({ log_entry }) => (log_entry === null ? [] : [log_entry]));
    return { entries, start: Number(log_start), length: Number(log_length), ...(log_chain !== null && { chain: log_chain }) };
  }

  async append(at: number, entry: Uint8Array): Promise<boolean> {
    const [row] = await this.#run("SELECT $schema.append_log($1, $2, $3::text::bytea) AS done", [at, bytesText(entry)]);
    return (row as { done: boolean }).done;
  }

  async cut(before: number, chain: string): Promise<void> {
    await this.#run("SELECT $schema.cut_log($1, $2, $3)", [before, chain]);
  }

  /** Removes the log. */
  async delete(): Promise<void> {
    await this.#run("SELECT $schema.delete_log($1)", []);
  }

  async #run(text: string, values: unknown[]): Promise<unknown[]> {
    return (await this.#database()).run(text.replace("$schema", this.#schema), [this.#user, ...values]);
  }
}
