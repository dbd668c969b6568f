/** The server's side where it cannot read anything: a log of sealed batches, which only grows. */

import { fromBase64, toBase64 } from "../../byte-text.js";
import { MemoryError } from "../../errors.js";
import { postHandler } from "./handler.js";
import { MESSAGE_BYTES, PROTOCOL } from "./protocol.js";

/** Entries of a log, in order, from one on. */
export interface LogPage {
  /** As many as fit, at least one where there is one. */
  entries: Uint8Array[];
  /** How many entries the log has. */
  length: number;
}

/** One user's log. Entries are numbered from 0 without a gap, and never change. */
export interface SealedLog {
  /** Entries from a number on, of about so many bytes. */
  read(from: number, maxBytes: number): Promise<LogPage>;
  /** Adds an entry under the number `at`, where the log is exactly that long; else false, and nothing is added. */
  append(at: number, entry: Uint8Array): Promise<boolean>;
}

/** A log in memory, for tests and for trying it. */
export function memoryLog(): SealedLog {
  const all: Uint8Array[] = [];
  return {
    read(from, maxBytes) {
      const entries: Uint8Array[] = [];
      let bytes = 0;
      for (const entry of all.slice(from)) {
        if (entries.length > 0 && bytes + entry.length > maxBytes) break;
        entries.push(entry);
        bytes += entry.length;
      }
      return Promise.resolve({ entries, length: all.length });
    },
    append(at, entry) {
      if (at !== all.length) return Promise.resolve(false);
      all.push(entry.slice());
      return Promise.resolve(true);
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
export type LogQuestion = { throughline: number } & ({ op: "read"; from: number } | { op: "append"; at: number; entry: string });
export interface LogAnswers {
  read: { entries: string[]; length: number };
  append: { appended: boolean };
}

/** A function of `Request` to `Response`: answers what `syncMemory` with a `key` asks. */
export function sealedLogHandler({ logFor, maxBytes = 16 * 1024 * 1024 }: SealedLogHandlerOptions): (request: Request) => Promise<Response> {
  return postHandler(logFor, maxBytes, (log, body) => answered(log, questionOf(body)));
}

async function answered(log: SealedLog, question: LogQuestion): Promise<LogAnswers[keyof LogAnswers]> {
  if (question.op === "append") return { appended: await log.append(question.at, entryBytes(question.entry)) };
  const { entries, length } = await log.read(question.from, MESSAGE_BYTES);
  return { entries: entries.map(toBase64), length };
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
  if (question?.throughline !== PROTOCOL || !(isRead || isAppend)) throw new MemoryError("invalid_argument", "The request is none of a sealed log.");
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
