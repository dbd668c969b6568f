/** What a failure of PostgreSQL means to us, and what is done about it. */

import { MemoryError, isMemoryError, type MemoryErrorCode } from "../../errors.js";

/** What may help: the same on another connection, the same at once, or nothing. */
export type Remedy = "reconnect" | "again" | "none";

/** A failure, read. */
export interface Failure {
  remedy: Remedy;
  /** What the caller is told where no remedy helped. */
  error: MemoryError;
}

interface Meaning {
  code: MemoryErrorCode;
  remedy?: Remedy;
  retryable?: boolean;
  advice: string;
}

const LOST: Meaning = { code: "storage_unavailable", remedy: "reconnect", retryable: true, advice: "PostgreSQL cannot be reached at the moment; whether a write was carried out is looked up when the same call is made again" };
const RACE: Meaning = { code: "storage_conflict", remedy: "again", advice: "other writers went on winning; try again" };
const FULL: Meaning = { code: "storage_quota_exceeded", advice: "PostgreSQL has no room left; nothing was written: free space on its disk" };
const CORRUPT: Meaning = { code: "storage_corrupt", advice: "PostgreSQL says that its own files are damaged; see its log" };
const ABSENT: Meaning = { code: "storage_unavailable", advice: "the tables or functions are not there as they should be: run migratePostgres, and see that the option schema names the right one" };
const REFUSED: Meaning = { code: "storage_unavailable", advice: "PostgreSQL refuses this role; docs/postgres.md lists what it must be granted" };

/** By SQLSTATE, whole or its first two characters. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  TL001: { code: "storage_unavailable", advice: "the records of this user were erased while they were open; open the memory again to start anew" },
  "08": LOST,
  "25006": LOST,
  "40001": RACE,
  "40P01": RACE,
  "53": { ...LOST, advice: "PostgreSQL has too little of something at the moment" },
  "53100": FULL,
  "54": { code: "invalid_argument", advice: "an id is too long for an index of PostgreSQL" },
  "55P03": RACE,
  "57": LOST,
  "57014": { code: "timeout", advice: "PostgreSQL cancelled the statement, by its own time limit or an administrator" },
  "58030": FULL,
  XX: CORRUPT,
  "28": REFUSED,
  "3D000": { code: "storage_unavailable", advice: "there is no such database" },
  "3F000": ABSENT,
  "42": ABSENT,
  "42501": REFUSED,
  "0A000": { code: "storage_unavailable", advice: "PostgreSQL lacks something; the store needs PostgreSQL 13 or later" },
  "58P01": { code: "storage_unavailable", advice: "PostgreSQL lacks a file of an extension: see that pgvector is installed whole" },
};

/** The classes whose messages name objects and roles only, never what is stored. */
const HARMLESS = /^(?:08|0A|28|3D|3F|42|53|55|57|58)/;

/** Reads what a statement or a connection failed with. */
export function failureOf(thrown: unknown): Failure {
  if (isMemoryError(thrown)) return { remedy: "none", error: thrown };
  const { code, message } = (typeof thrown === "object" && thrown !== null ? thrown : {}) as { code?: unknown; message?: unknown };
  const state = typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code) ? code : undefined;
  const known = state === undefined ? LOST : (MEANINGS[state] ?? MEANINGS[state.slice(0, 2)]);
  const { code: ours, remedy = "none", retryable, advice } = known ?? { code: "storage_unavailable", advice: "PostgreSQL refused the statement" };
  const said = state === undefined ? (typeof code === "string" ? ` (${code})` : "") : ` (SQLSTATE ${state})`;
  // The server's own error has details that may quote what is stored: of it, only what is harmless is handed on.
  const cause = state !== undefined && HARMLESS.test(state) && typeof message === "string" ? new Error(message) : undefined;
  const options = { ...(retryable !== undefined && { retryable }), ...(cause !== undefined && { cause }) };
  const isEnded = state === undefined && typeof message === "string" && message.includes("after calling end");
  if (isEnded) return { remedy: "none", error: new MemoryError("closed", "The pool of PostgreSQL was ended while a memory was open.") };
  return { remedy, error: new MemoryError(ours, `Storage: ${advice}${said}.`, options) };
}
