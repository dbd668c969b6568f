/** How the page says things: numbers, dates, sizes and errors. */

import { isMemoryError } from "throughline";

const number = new Intl.NumberFormat("en");
const day = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const shortDay = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });
const time = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/** `1,234`. */
export const formatNumber = (value: number): string => number.format(value);

/** `1,234 tokens`, `1 token`. */
export const formatCount = (value: number, one: string, many = `${one}s`): string =>
  `${number.format(value)} ${value === 1 ? one : many}`;

/** `Monday, August 31, 2026`. */
export const formatDay = (date: Date): string => day.format(date);

/** `Aug 31, 2026`. */
export const formatShortDay = (date: Date): string => shortDay.format(date);

/** `19:04`. */
export const formatTime = (date: Date): string => time.format(date);

/** `3.9 MB`; a dash where the platform does not tell. */
export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return "not told";
  if (bytes < 1_000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(0)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** A code or machine word as words: `budget_exhausted` becomes `budget exhausted`. */
export function humanise(word: string): string {
  return word.replace(/_/g, " ").replace(/([a-z])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`);
}

/** Why a file of messages was not stored. */
export const REPEATED_ID = "Two different messages of this file have the same id. Give each its own id, then import it again. Nothing was stored.";

const ERRORS: Readonly<Record<string, string>> = {
  invalid_argument: "The engine could not use this input. Nothing was changed.",
  invalid_config: "One of the settings cannot be used.",
  not_found: "This is no longer there. It may have been deleted in another tab.",
  conflict: "Something with the same id and other content is already stored. Nothing was changed.",
  closed: "The memory was closed. Reload the page to open it again.",
  engine_unavailable: "The engine is busy at the moment. Try again.",
  engine_panicked: "The engine failed and was restarted from storage. Nothing stored was lost.",
  wasm_load_failed: "The engine could not be loaded. Check the connection and reload.",
  wasm_blocked_by_csp: "This page's security policy forbids WebAssembly, which the engine needs.",
  wasm_unsupported: "This browser lacks a WebAssembly feature that the engine needs.",
  storage_unavailable: "This browser does not let the page store anything. Private windows often forbid it.",
  storage_blocked: "Another tab holds the storage. Close it, then try again.",
  storage_quota_exceeded: "The disk space that the browser gives to this page is used up. Nothing stored was lost.",
  storage_conflict: "Another tab wrote at the same time. Try again.",
  storage_corrupt: "Something in storage cannot be read back as it was written.",
  schema_too_new: "The stored data is from a newer version of this page. Reload to get that version.",
  embedding_failed: "The embedder failed, so search goes by words alone for now.",
  embedding_dimension_mismatch: "The embedder answered with vectors of another length than it declared.",
  model_failed: "The language model could not be reached, or it refused the request.",
  model_output_invalid: "The language model answered with something that cannot be used. Nothing was changed.",
  budget_infeasible: "The question does not fit this window. Choose a larger window or a smaller reserve.",
  aborted: "Stopped.",
  timeout: "No answer came in time. Try again.",
};

/** An error told to a person. */
export interface ToldError {
  /** What happened and what to do, in plain words. */
  words: string;
  /** The typed code, or `error`. */
  code: string;
  /** The engine's own sentence, where there is one. */
  detail: string;
}

/** A failure that the memory tells by an event, because no call could report it. */
export function tellFailure({ code, message }: { code: string; message: string }): ToldError {
  return { words: `In the background: ${ERRORS[code] ?? "something failed."}`, code, detail: message };
}

/** Any thrown value in plain words. */
export function tellError(error: unknown): ToldError {
  const detail = error instanceof Error ? error.message : String(error);
  if (isMemoryError(error)) return { words: ERRORS[error.code] ?? "The engine reported an error.", code: error.code, detail };
  if (error instanceof DOMException && error.name === "AbortError") return { words: "Stopped.", code: "aborted", detail: "" };
  return { words: detail, code: "error", detail: "" };
}
