/** Failures of a provider's answer as the package's own errors: never with what a user wrote, nor with the key. */

import { MemoryError, type MemoryErrorCode } from "../../errors.js";

/** What a call that failed is told as. */
export type ProviderFailure = Extract<MemoryErrorCode, "model_failed" | "embedding_failed">;

/** Longest name of a provider's own that is passed on, e.g. `context_length_exceeded`. */
const NAME = /^[\w.-]{1,64}$/;
/** Statuses after which the same request can succeed: overload, limits by time, gateways. 529 is Anthropic's overload. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529]);

/** What is known of an answer that is no success. */
export interface RefusalFacts {
  /** HTTP status; left out where the failure came in the middle of a stream. */
  status?: number;
  /** The body, as far as it is JSON. Only names are taken from it: its sentences quote what was sent. */
  body?: unknown;
  /** How long the provider asks to wait. */
  retryAfterMs?: number | undefined;
  /** The provider's own word about trying again. */
  retryable?: boolean | undefined;
}

/** A refusal, with `details`: `status`, `reason` (the provider's name for it), `retryAfterMs`. */
export function refusal(code: ProviderFailure, origin: string, facts: RefusalFacts): MemoryError {
  const { status, body, retryAfterMs } = facts;
  const reason = nameOf(body);
  const retryable = facts.retryable ?? (status === undefined ? reason !== "invalid_request_error" : RETRYABLE_STATUSES.has(status));
  const what = [status === undefined ? "an error within its answer" : `status ${status}`, ...(reason === undefined ? [] : [`(${reason})`])].join(" ");
  const details = {
    ...(status === undefined ? {} : { status }),
    ...(reason === undefined ? {} : { reason }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  return new MemoryError(code, `${origin} answered with ${what}. ${adviceOf(status, reason, retryable)}`, { retryable, details });
}

/** The answer ended before it was whole, or is not what the protocol says. A retry can help. */
export function brokenAnswer(code: ProviderFailure, origin: string, what: string): MemoryError {
  return new MemoryError(code, `The answer of ${origin} ${what}. Try again; if it stays so, this address does not speak the protocol.`, { retryable: true });
}

function adviceOf(status: number | undefined, reason: string | undefined, retryable: boolean): string {
  if (status === 401 || status === 403) return "Check the key, and what it may use.";
  if (status === 404) return "Check the address and the model's name.";
  if (status === 413 || reason === "context_length_exceeded") return "The request is too long: build the context for a smaller window.";
  return retryable ? "Try again later." : "The request is not what this model takes; see details.reason.";
}

/** The provider's name of a failure: OpenAI's `error.code` or `type`, Anthropic's `error.type`, Google's `error.status`. */
function nameOf(body: unknown): string | undefined {
  const list: unknown = Array.isArray(body) ? body[0] : body;
  if (typeof list !== "object" || list === null) return undefined;
  const { error } = list as { error?: unknown };
  if (typeof error !== "object" || error === null) return undefined;
  const { code, status, type } = error as Record<string, unknown>;
  return [code, status, type].find((name): name is string => typeof name === "string" && NAME.test(name));
}
