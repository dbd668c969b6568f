/** The server's side where it cannot read anything: a log of sealed batches, which grows until a device writes it anew. */

import { fromBase64, toBase64 } from "../../byte-text.js";
import { MemoryError } from "../../errors.js";
import { postHandler } from "./handler.js";
import { MESSAGE_BYTES, PROTOCOL } from "./protocol.js";

/** Entries of a log, in order, from one on. */
export interface LogPage {
  /** As many as fit, at least one where there is one. */
  entries: Uint8Array[];
  /** The number behind the last entry: as many as the log has had. */
  length: number;
  /** The number of the first entry that is left. Without it devices never shorten the log. */
  start?: number;
  /** What `cut` was given last. */
  chain?: string;
}

/** One user's log. Entries are numbered from 0 without a gap, and never change. */
export interface SealedLog {
  /** Entries from a number on, or from the first that is left, of about so many bytes. */
  read(from: number, maxBytes: number): Promise<LogPage>;
  /** Adds an entry under the number `at`, where the log is exactly that long; else false, and nothing is added. */
  append(at: number, entry: Uint8Array): Promise<boolean>;
  /**
   * Removes every entry before this number for good, and keeps `chain`, a hash of them all; where the log begins there or behind
   * it already, or has no entry from there on, nothing is changed. Without it devices never shorten the log.
   */
  cut?(before: number, chain: string): Promise<void>;
}

/** A log in memory, for tests and for trying it. */
export function memoryLog(): SealedLog {
  const all: Uint8Array[] = [];
  let [start, kept] = [0, ""];
  return {
    read(from, maxBytes) {
      const entries: Uint8Array[] = [];
      let bytes = 0;
      for (const entry of all.slice(Math.max(from - start, 0))) {
        if (entries.length > 0 && bytes + entry.length > maxBytes) break;
        entries.push(entry);
        bytes += entry.length;
      }
      return Promise.resolve({ entries, start, length: start + all.length, ...(start > 0 && { chain: kept }) });
    },
    append(at, entry) {
      if (at !== start + all.length) return Promise.resolve(false);
      all.push(entry.slice());
      return Promise.resolve(true);
    },
    cut(before, chain) {
      if (before > start && before < start + all.length) {
        all.splice(0, before - start);
        [start, kept] = [before, chain];
      }
      return Promise.resolve();
    },
  };
}

/** Options of {@link sealedLogHandler}. */
export interface SealedLogHandlerOptions {
  /** The log of the user whom a request is of; a `Response` (401) where it is nobody's. */
  logFor: (request: Request) => Promise<SealedLog | Response> | SealedLog | Response;
  /** Bytes of the longest request that is read. Default 16 MB. */
  maxBytes?: number;
}

/** What a device asks of a log, and what it is answered; entries in base64. */
export type LogQuestion = { throughline: number } &
  ({ op: "read"; from: number } | { op: "append"; at: number; entry: string } | { op: "cut"; before: number; chain: string });
export interface LogAnswers {
  /** With `start` where the log can be shortened. */
  read: { entries: string[]; length: number; start?: number; chain?: string };
  append: { appended: boolean };
  cut: { cut: boolean };
}

/** A function of `Request` to `Response`: answers what `syncMemory` with a `key` asks. */
export function sealedLogHandler({ logFor, maxBytes = 16 * 1024 * 1024 }: SealedLogHandlerOptions): (request: Request) => Promise<Response> {
  return postHandler(logFor, maxBytes, (log, body) => answered(log, questionOf(body)));
}

async function answered(log: SealedLog, question: LogQuestion): Promise<LogAnswers[keyof LogAnswers]> {
  if (question.op === "append") return { appended: await log.append(question.at, entryBytes(question.entry)) };
  if (question.op === "cut") {
    await log.cut?.(question.before, question.chain);
    return { cut: log.cut !== undefined };
  }
  const { entries, length, start, chain } = await log.read(question.from, MESSAGE_BYTES);
  const page = { entries: entries.map(toBase64), length };
  return log.cut === undefined || start === undefined ? page : { ...page, start, ...(chain !== undefined && { chain }) };
}

function questionOf(body: string): LogQuestion {
  let question: LogQuestion | null = null;
  try {
    question = JSON.parse(body) as LogQuestion | null;
  } catch {
    // Told below.
  }
  const isNumber = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
  const isRead = question?.op === "read" && isNumber(question.from);
  const isAppend = question?.op === "append" && isNumber(question.at) && typeof question.entry === "string";
  const isCut = question?.op === "cut" && isNumber(question.before) && typeof question.chain === "string" && /^[0-9a-f]{64}$/.test(question.chain);
  if (question?.throughline !== PROTOCOL || !(isRead || isAppend || isCut)) throw new MemoryError("invalid_argument", "The request is none of a sealed log.");
  return question;
}

/** The bytes of an entry. */
export function entryBytes(text: string): Uint8Array<ArrayBuffer> {
  try {
    return fromBase64(text);
  } catch (cause) {
    throw new MemoryError("invalid_argument", "An entry of a sealed log is no base64.", { cause });
  }
}
