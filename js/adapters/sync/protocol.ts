/** What the two sides of an exchange say to each other: one JSON text each way (docs/sync.md). */

import { MemoryError, isMemoryError, type MemoryErrorCode } from "../../errors.js";
import type { ChangePiece, ConversationHead, ReadChanges, TakenChanges } from "../../types/changes.js";

/** Rises when one side could not understand the other any more. */
export const PROTOCOL = 1;

/** Bytes of pieces beyond which a message ends. */
export const MESSAGE_BYTES = 1024 * 1024;

/** Who asks, and how often everything was erased as far as it knows. */
export interface Asker {
  throughline: number;
  store: string;
  generation: number;
}

/** What a client asks. */
export type Question =
  /** What is there? With digests of what the client has seen, by bucket. */
  | { op: "state"; digests: string[] }
  /** Takes these pieces. */
  | { op: "give"; pieces: ChangePiece[] }
  /** Reads pieces; of no conversation: what was erased. */
  | { op: "get"; wanted: { id: string | null; since: string | null }[] };

/** What there is on the other side, where it is not what the client has seen. */
export interface StateAnswer {
  store: string;
  generation: number;
  erased: number;
  facts: string;
  /** Buckets that differ, and every head in them. */
  buckets: number[];
  heads: ConversationHead[];
}

/** What a server answers, by question. */
export interface Answers {
  state: StateAnswer;
  give: { taken: TakenChanges[] };
  /** As many as fit a message, in order; `null`: it was erased. */
  get: { pieces: (ReadChanges | null)[] };
}

/** A failure as it goes over the wire: never with what a user wrote. */
export interface Failure {
  error: { code: MemoryErrorCode; message: string; retryable: boolean };
}

/** Everything was erased on the server since: the client begins anew. */
export interface Behind {
  behind: true;
}

/** A version of which title, path and notes are to be heard once more. */
export function unheard(version: string | undefined): string {
  return (version ?? "").replace(/\.\d+\.[0-9a-f]+$/, ".0.0");
}

/** A version of which nothing is to be told again but that, and how, it is there. */
export function untold(version: string): string {
  return version.replace(/^(\d+)\..*$/, "$1.0.0.0.0.0");
}

const BUCKETS = 64;

/** The bucket of a head. */
export function bucketOf(mark: string): number {
  return Number.parseInt(mark.slice(0, 2), 16) % BUCKETS;
}

/** A digest of each bucket of marks and versions. */
export function digestsOf(versions: Iterable<readonly [mark: string, version: string]>): string[] {
  const sums = new Array<number>(BUCKETS).fill(0);
  for (const [mark, version] of versions) {
    const bucket = bucketOf(mark);
    // A sum, so that the order does not matter.
    sums[bucket] = ((sums[bucket] as number) + fnv1a(`${mark} ${version}`)) % 2 ** 52;
  }
  return sums.map((sum) => sum.toString(36));
}

function fnv1a(text: string): number {
  let [low, high] = [0x811c9dc5, 0x1234567];
  for (let at = 0; at < text.length; at += 1) {
    low = Math.imul(low ^ text.charCodeAt(at), 0x01000193);
    high = Math.imul(high ^ text.charCodeAt(at), 0x01000197);
  }
  return (high >>> 12) * 2 ** 32 + (low >>> 0);
}

/** The error that the other side told. */
export function errorOf(failure: Failure): MemoryError {
  const { code, message, retryable } = failure.error;
  return new MemoryError(code, `The other side of the exchange: ${message}`, { retryable });
}

/** An error as it is told to the other side. */
export function failureOf(error: unknown): Failure {
  if (isMemoryError(error)) return { error: { code: error.code, message: error.message, retryable: error.retryable } };
  return { error: { code: "engine_unavailable", message: "It failed for a reason that it does not tell.", retryable: true } };
}
